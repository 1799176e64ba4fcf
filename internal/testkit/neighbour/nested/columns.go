package nested

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/internal/testkit/neighbour"
	"github.com/dpsql/dpsql/rewrite/dialect"
	"github.com/dpsql/dpsql/rewrite/funcs"
	"github.com/dpsql/dpsql/rewrite/plan"
)

// Units is how many units there are; each has a row of persons, and ten of events where three are declared.
const Units = 40

const rowsOfUnit = 10

// columns of both tables: types without and with a declared range, values or step.
const columns = `
  b1 bool
  s1 int2
  i1 int4
  i2 int4 range=-5..100
  i3 int4 range=1..2000000000
  i4 int4 values=1|2|3
  l1 int8
  l2 int8 range=0..9223372036854775807
  r1 float4
  r2 float4 range=1..10
  f1 float8
  f2 float8 range=0..300
  f3 float8 range=-10000000..10000000
  f4 float8 range=0..1000 step=3
  n1 NUMERIC
  n2 numeric(5,2)
  n3 numeric(38,10)
  n4 LONG
  n5 numeric(36,0)
  n6 numeric(18,18)
  n7 NUMERIC range=0..10
  n8 numeric(10,2) range=1..500
  x1 text
  x2 text values=a|b|c
  v1 varchar(10)
  c1 char(5)
  d1 date
  d2 date range=2018-03-01..2020-12-31
  ts1 timestamp
  ts2 timestamp range=2018-03-01T00:00:00..2020-12-31T23:59:59
  tz1 timestamptz
  ct1 time
  cz1 timetz
  iv1 interval
  bs1 bytea
  u1 uuid
`

// Catalog has the two tables as a backend can hold them: DuckDB's decimals have 38 digits.
func Catalog(d dialect.Dialect) (*neighbour.Catalog, error) {
	all := strings.NewReplacer("NUMERIC", "numeric", "LONG", "numeric(1000,500)").Replace(columns)
	if d == funcs.DuckDB {
		all = strings.NewReplacer("NUMERIC", "numeric(38,9)", "LONG", "numeric(38,0)").Replace(columns)
	}
	unit := "\n  patient_id int4 notnull"
	return neighbour.ParseCatalog("persons unit=patient_id key=patient_id m=1" + unit + all + "events unit=patient_id path=patient_id->persons.patient_id m=3" + unit + all)
}

// edges are the values of a type at which forms fail, as PostgreSQL reads them.
var edges = map[sqltype.OID][]string{
	sqltype.OIDBool:        {"t", "f"},
	sqltype.OIDInt2:        {"0", "1", "-1", "181", "32767", "-32768"},
	sqltype.OIDInt4:        {"0", "1", "-1", "3", "-7", "46341", "2147483647", "-2147483648"},
	sqltype.OIDInt8:        {"0", "1", "-1", "5", "3037000500", "9007199254740993", "9223372036854775807", "-9223372036854775808"},
	sqltype.OIDFloat4:      {"0", "-0", "0.5", "-1.5", "3.4028235e38", "-3.4028235e38", "1e-45", "Infinity", "-Infinity", "NaN"},
	sqltype.OIDFloat8:      {"0", "-0", "1.5", "2147483647.5", "9223372036854775807", "-9223372036854775808", "1e160", "-1e160", "1e-170", "1.7976931348623157e308", "-1.7976931348623157e308", "4.9e-324", "-4.9e-324", "Infinity", "-Infinity", "NaN"},
	sqltype.OIDNumeric:     {"0", "1.10", "-1", "0.5", "99.995", "2147483647.5", "9223372036854775808", "1e-40", "7e25", "1.8e308", "2e-324", "9e1200", "-9e131071", "1e-16383", "NaN", "Infinity", "-Infinity"},
	sqltype.OIDText:        {"", "a", "A", " aB ", "a,b,,c", "x\ny", "%", `a\`, "日本", "_", "1", "NaN", "2020-02-29", "1e400", "infinity"},
	sqltype.OIDVarchar:     {"", "a ", "Größe", "12"},
	sqltype.OIDBPChar:      {"", "x", "xyzzy", " x", "%", "-1", "NaN"},
	sqltype.OIDDate:        {"2000-01-01", "2019-12-31", "0044-03-15 BC", "4713-01-01 BC", "294276-12-31", "294277-01-01", "5874897-12-31", "infinity", "-infinity"},
	sqltype.OIDTimestamp:   {"2000-01-01 00:00:00", "4713-01-01 00:00:00 BC", "294276-12-31 23:59:59.999999", "294247-01-10 04:00:00", "infinity", "-infinity", "2020-02-29 12:34:56.789012"},
	sqltype.OIDTimestamptz: {"2000-01-01 00:00:00+00", "4713-01-01 00:00:00+00 BC", "294276-12-31 23:59:59.999999+00", "294247-01-10 04:00:00+00", "infinity", "-infinity"},
	sqltype.OIDTime:        {"00:00:00", "24:00:00", "12:34:56.5", "23:59:59.999999"},
	sqltype.OIDTimetz:      {"12:00:00+00", "24:00:00-15:59", "00:00:00+15:59:59"},
	sqltype.OIDInterval:    {"0", "1 mon", "-25 mons", "100:00:00", "-2147483648 days", "2147483647 days", "178000000 years", "2562047788:00:54.775807", "-2562047788:00:54.775807", "1 mon -30 days"},
	sqltype.OIDBytea:       {"", "abc", " ", "%"},
	sqltype.OIDUUID:        {"a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11", "00000000-0000-0000-0000-000000000000", "ffffffff-ffff-ffff-ffff-ffffffffffff"},
}

var modifier = regexp.MustCompile(`^numeric\((\d+),(\d+)\)$`)

// values are a column's values, written for a backend.
func values(t sqltype.Type, d dialect.Dialect) []string {
	list := edges[t.OID]
	if m := modifier.FindStringSubmatch(t.String()); m != nil {
		p, _ := strconv.Atoi(m[1])
		s, _ := strconv.Atoi(m[2])
		most := "0" + strings.Repeat("9", p-s) + "." + strings.Repeat("9", s)
		list = []string{most, "-" + most, "0", "0." + strings.Repeat("0", max(0, s-1)) + "1", "NaN"}
	}
	if d == funcs.Postgres {
		return list
	}
	var out []string
	for _, v := range list {
		switch {
		case t.OID == sqltype.OIDNumeric && v == "NaN", t.OID == sqltype.OIDDate && v == "294277-01-01", (t.OID == sqltype.OIDTimestamp || t.OID == sqltype.OIDTimestamptz) && strings.HasPrefix(v, "294276"),
			t.OID == sqltype.OIDInterval && strings.Contains(v, "2562047788"):
			continue // nothing that DuckDB holds
		}
		if day, ok := strings.CutSuffix(v, " BC"); ok { // written behind the day there
			day, clock, _ := strings.Cut(day, " ")
			v = strings.TrimSpace(day + " (BC) " + clock)
		}
		out = append(out, v)
	}
	return out
}

// PolicyColumns are the columns as a policy publishes them.
func PolicyColumns() string {
	out := "{patient_id: {}"
	for _, line := range strings.Split(strings.TrimSpace(columns), "\n") {
		var says []string
		fields := strings.Fields(line)
		for _, o := range fields[2:] {
			what, value, _ := strings.Cut(o, "=")
			lo, hi, isRange := strings.Cut(value, "..")
			switch {
			case isRange && strings.Contains(value, ":"):
				value = fmt.Sprintf("[%q, %q]", strings.Replace(lo, "T", " ", 1), strings.Replace(hi, "T", " ", 1))
			case isRange:
				value = "[" + lo + ", " + hi + "]"
			case what == "values":
				value = "[" + strings.ReplaceAll(value, "|", ", ") + "]"
			}
			says = append(says, what+": "+value)
		}
		out += fmt.Sprintf(", %s: {%s}", fields[0], strings.Join(says, ", "))
	}
	return out + "}"
}

// Nulls are rows in which nothing is known but whose they are.
func Nulls() []string {
	var out []string
	for unit := 1; unit <= Units; unit++ {
		out = append(out, fmt.Sprintf("INSERT INTO public.persons (patient_id) VALUES (%d)", unit), fmt.Sprintf("INSERT INTO public.events (patient_id) VALUES (%d), (%d)", unit, unit))
	}
	return out
}

// Rows fills both tables.
func Rows(c *neighbour.Catalog, d dialect.Dialect, draw Source) []string {
	row := func(t *plan.Table, unit int) string {
		list := []string{strconv.Itoa(unit)}
		for _, col := range t.Columns[1:] {
			v := "NULL"
			if all := values(col.Type, d); draw(8) > 0 {
				v = fmt.Sprintf("CAST('%s' AS %s)", all[draw(len(all))], col.Type)
			}
			list = append(list, v)
		}
		return fmt.Sprintf(`INSERT INTO public.%s VALUES (%s)`, t.Name, strings.Join(list, ", "))
	}
	var out []string
	for unit := 1; unit <= Units; unit++ {
		out = append(out, row(c.Tables[0], unit))
		for range rowsOfUnit {
			out = append(out, row(c.Tables[1], unit))
		}
	}
	return out
}
