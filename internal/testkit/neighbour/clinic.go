package neighbour

import (
	"fmt"
	"strings"
	"time"

	"github.com/dpsql/dpsql/rewrite/plan"
)

// Clinic is a catalog with one table of every kind: the unit's own, children with and without the unit's column, a grandchild,
// a second child, public tables, and columns of all types.
const Clinic = `
patients unit=patient_id key=patient_id m=1
  patient_id int4 notnull
  gender text values=Female|Male
  race text
  active bool notnull
  smoker bool
  city_id int4
  weight float8 range=0..300
  account numeric(12,2) range=-1000..1000
  ward char(4) values=A|B|null
encounters unit=patient_id path=patient_id->patients.patient_id m=4 key=encounter_id
  encounter_id int4 notnull
  patient_id int4
  kind_id int4 notnull from=kinds.id
  days int4 notnull range=1..14
  medications int2 range=0..100
  score float8 range=-1..1
  cost numeric(10,2) range=0..500
  ratio numeric range=0..10
  diag text
  readmitted text notnull values=NO|<30|>30
  big int8 range=-1000000000000..1000000000000
  level float4 range=0..10 step=0.25
  free int4
prescriptions path=encounter_id->encounters.encounter_id m=6
  encounter_id int4
  drug text
  dose numeric(6,3) notnull range=0..20
  change text notnull values=up|down|steady
labs unit=patient_id path=patient_id,encounter_id->encounters.patient_id,encounter_id m=3
  patient_id int4 notnull
  encounter_id int4 notnull
  value float8 range=0..1000
visits unit=patient_id path=patient_id->patients.patient_id
  patient_id int4 notnull
  minutes int4 range=0..600
stays unit=patient_id path=patient_id->patients.patient_id m=4
  patient_id int4 notnull
  admitted date range=2018-03-01..2020-12-31
  discharged date notnull range=2018-03-01..2021-06-30
  came timestamp range=2018-03-01T00:00..2020-12-31T23:59:59
  went timestamp notnull range=2018-03-01T00:00..2021-06-30T23:59:59
cities public key=id
  id int4 notnull
  name text notnull
  region text
kinds public key=id
  id int4 notnull
  label text
rates public
  kind_id int4
  rate numeric(4,2)
`

// ClinicCatalog parses Clinic.
func ClinicCatalog() *Catalog {
	c, err := ParseCatalog(Clinic)
	if err != nil {
		panic(err)
	}
	return c
}

// DDL creates a catalog's tables. There are no foreign keys, so that rows without an owner can be there.
func (c *Catalog) DDL() []string {
	var out []string
	for _, t := range c.Tables {
		var cols []string
		for _, col := range t.Columns {
			def := fmt.Sprintf("%q %s", col.Name, col.Type)
			if col.NotNull {
				def += " NOT NULL"
			}
			cols = append(cols, def)
		}
		for _, k := range t.Keys {
			var names []string
			for _, i := range k {
				names = append(names, fmt.Sprintf("%q", t.Columns[i].Name))
			}
			cols = append(cols, "UNIQUE ("+strings.Join(names, ", ")+")")
		}
		out = append(out, fmt.Sprintf("CREATE TABLE %s (%s)", tableName(t), strings.Join(cols, ", ")))
	}
	return out
}

func tableName(t *plan.Table) string { return fmt.Sprintf("%q.%q", t.Schema, t.Name) }

// Data is what the clinic's tables hold.
type Data string

// Inside the declarations, a statement's un-noised print returns what its text returns. Outside, everything that the proof does
// not trust is wrong: values out of range, NaN, units with too many rows, rows without an owner, undeclared values.
const (
	Inside  Data = "inside"
	Outside Data = "outside"
)

// Heavy, Plain and Nulls are units of the clinic worth removing.
const (
	Heavy = 1
	Plain = 7
	Nulls = 3
)

const units = 40

// ClinicRows gives the INSERT statements of the clinic's data.
func ClinicRows(d Data) []string {
	g := &generator{outside: d == Outside, rows: map[string][]string{}}
	for i, name := range []string{"Utrecht", "Leiden", "Delft", "Assen"} {
		region := text([]string{"west", "west", "", "north"}[i])
		g.add("cities", fmt.Sprint(i+1), text(name), region)
	}
	for i, label := range []string{"Emergency", "Urgent", "Elective", ""} {
		g.add("kinds", fmt.Sprint(i+1), text(label))
		g.add("rates", fmt.Sprint(i+1), fmt.Sprintf("%d.25", i))
		g.add("rates", fmt.Sprint(i+1), fmt.Sprintf("%d.75", i))
	}
	for id := 1; id <= units; id++ {
		g.patient(id)
	}
	if g.outside { // rows without an owner
		for range 9 {
			g.encounter("NULL", 3)
		}
		g.add("prescriptions", "NULL", text("lost"), "1.5", text("up"))
		g.add("prescriptions", "999999", text("lost"), "1.5", text("up"))
	}
	var out []string
	for _, t := range ClinicCatalog().Tables {
		if rows := g.rows[t.Name]; len(rows) > 0 {
			out = append(out, fmt.Sprintf("INSERT INTO %s VALUES %s", tableName(t), strings.Join(rows, ", ")))
		}
	}
	return out
}

// generator makes rows from a small linear congruential sequence: the same ones everywhere.
type generator struct {
	outside    bool
	state      uint64
	encounters int
	rows       map[string][]string
}

func (g *generator) next(n int) int {
	g.state = g.state*6364136223846793005 + 1442695040888963407
	return int(g.state>>33) % n
}

func (g *generator) add(table string, values ...string) {
	g.rows[table] = append(g.rows[table], "("+strings.Join(values, ", ")+")")
}

// text quotes; "" is NULL.
func text(s string) string {
	if s == "" {
		return "NULL"
	}
	return "'" + s + "'"
}

func (g *generator) pick(list ...string) string { return text(list[g.next(len(list))]) }

// stay draws nothing, so that what others drew stays as it is.
func (g *generator) stay(patient, k int) {
	first := time.Date(2018, 3, 1, 0, 0, 0, 0, time.UTC).AddDate(0, 0, (patient*389+k*97)%1000)
	last := first.AddDate(0, 0, (patient*7+k*3)%60)
	values := []string{fmt.Sprint(patient), text(first.Format(time.DateOnly)), text(last.Format(time.DateOnly)), text(first.Add(time.Duration(patient) * 34567 * time.Millisecond).Format("2006-01-02 15:04:05.999")),
		text(last.Add(13*time.Hour + time.Duration(k)*time.Second/4).Format("2006-01-02 15:04:05.999"))}
	if patient == Nulls {
		values[1], values[3] = "NULL", "NULL"
	}
	if odd := []string{"'infinity'", "'-infinity'", "'1900-01-01'", "'2300-02-28'"}; g.outside && patient%4 == 1 {
		values[1+(patient/4+k)%4] = odd[(patient/16+k)%4]
	}
	g.add("stays", values...)
}

// rare gives the odd value one time in eight outside the declarations.
func (g *generator) rare(odd, usual string) string {
	if g.outside && g.next(8) == 0 {
		return odd
	}
	return usual
}

func (g *generator) patient(id int) {
	me := fmt.Sprint(id)
	weight, account := fmt.Sprintf("%d.%d", 40+g.next(80), g.next(10)), fmt.Sprintf("%d.%02d", g.next(1800)-900, g.next(100))
	if id == Nulls {
		weight, account = "NULL", "NULL"
	}
	g.add("patients", me, g.rare("'Other'", g.pick("Female", "Male")), g.pick("a", "b", "c", "d", "e", "f", ""), fmt.Sprint(g.next(2) == 0),
		[]string{"true", "false", "NULL"}[g.next(3)], []string{"1", "2", "3", "4"}[g.next(4)], g.rare("'NaN'", weight), g.rare("99999.99", account),
		g.rare("'Z'", g.pick("A", "B", "")))
	n := g.next(5)
	if g.outside && id == Heavy {
		n = 30
	}
	for range n {
		g.encounter(me, 3)
	}
	for range min(n, 2) {
		g.add("visits", me, fmt.Sprint(g.next(600)))
	}
	for k := range 2 {
		g.stay(id, k)
	}
}

func (g *generator) encounter(patient string, children int) {
	g.encounters++
	id := fmt.Sprint(g.encounters)
	days, cost := fmt.Sprint(1+g.next(14)), fmt.Sprintf("%d.%02d", g.next(499), g.next(100))
	medications, score := fmt.Sprint(g.next(100)), fmt.Sprintf("0.%d", g.next(1000))
	if patient == fmt.Sprint(Nulls) {
		medications, score, cost = "NULL", "NULL", "NULL"
	}
	if g.outside && patient == fmt.Sprint(Heavy) {
		days, cost, score = "14", "500", "1"
	}
	kind := g.rare("77", fmt.Sprint(1+g.next(4)))
	days, medications, score, cost = g.rare("100000", days), g.rare("-32768", medications), g.rare("'Infinity'", score), g.rare("-99999.99", cost)
	ratio := fmt.Sprintf("%d.%d", g.next(9), g.next(100000))
	if g.outside && strings.HasSuffix(patient, "1") { // one value, in three spellings
		ratio = "1.5" + strings.Repeat("0", 8*(g.encounters%3))
	}
	g.add("encounters", id, patient, kind, days, medications, score, cost, ratio, g.pick("250", "401", "428", "V57", ""), g.rare("'LATER'", g.pick("NO", "<30", ">30")),
		g.rare("9223372036854775807", fmt.Sprint(g.next(1000000)*1000)), g.rare("'NaN'", fmt.Sprintf("%d.25", g.next(9))), fmt.Sprint(g.next(5)))
	n := g.next(2)
	if patient == fmt.Sprint(Heavy) && g.outside {
		n = children
	}
	for range n {
		g.add("prescriptions", id, g.pick("insulin", "metformin", "statin"), fmt.Sprintf("%d.%03d", g.next(19), g.next(1000)), g.pick("up", "down", "steady"))
		if patient != "NULL" && g.next(2) == 0 {
			g.add("labs", patient, id, g.rare("'-Infinity'", fmt.Sprintf("%d.5", g.next(999))))
		}
	}
	if patient == fmt.Sprint(Heavy) && g.outside { // rows of other people that point at this one's
		for i := range 3 {
			g.add("labs", fmt.Sprint(1+(Heavy+g.encounters+i)%units), id, "1.5")
		}
	}
}

// DeleteUnit gives the statements that remove all rows of one unit, children first.
func (c *Catalog) DeleteUnit(unit int) []string {
	return c.deletes(func(t *plan.Table) string { return unitCondition(t, fmt.Sprintf("= %d", unit)) })
}

// DeleteOwnerless gives the statements that remove the rows without an owner: they must not change any total.
func (c *Catalog) DeleteOwnerless() []string {
	return c.deletes(func(t *plan.Table) string {
		if t.UnitCol >= 0 {
			return unitCondition(t, "IS NULL")
		}
		return fmt.Sprintf("%q IS NULL OR NOT (%s)", t.Columns[t.Path.Columns[0]].Name, unitCondition(t, "IS NOT NULL"))
	})
}

func (c *Catalog) deletes(cond func(*plan.Table) string) []string {
	var out []string
	for i := len(c.Tables) - 1; i >= 0; i-- {
		if t := c.Tables[i]; !t.Public && t.UnitCol < 0 {
			out = append(out, fmt.Sprintf("DELETE FROM %s WHERE %s", tableName(t), cond(t)))
		}
	}
	for i := len(c.Tables) - 1; i >= 0; i-- {
		if t := c.Tables[i]; !t.Public && t.UnitCol >= 0 {
			out = append(out, fmt.Sprintf("DELETE FROM %s WHERE %s", tableName(t), cond(t)))
		}
	}
	return out
}

func unitCondition(t *plan.Table, is string) string {
	if t.UnitCol >= 0 {
		return fmt.Sprintf("%q %s", t.Columns[t.UnitCol].Name, is)
	}
	return fmt.Sprintf("%q IN (SELECT %q FROM %s WHERE %s)", t.Columns[t.Path.Columns[0]].Name, t.Path.Parent.Columns[t.Path.ParentColumns[0]].Name,
		tableName(t.Path.Parent), unitCondition(t.Path.Parent, is))
}

// Shuffle gives the statements that put a table's rows into another physical order.
func Shuffle(t *plan.Table) []string {
	var cols []string
	for _, c := range t.Columns {
		cols = append(cols, fmt.Sprintf("CAST(%q AS text)", c.Name))
	}
	return []string{
		fmt.Sprintf(`CREATE TEMPORARY TABLE "shuffled" AS SELECT * FROM %s`, tableName(t)),
		"DELETE FROM " + tableName(t),
		fmt.Sprintf(`INSERT INTO %s SELECT * FROM "shuffled" ORDER BY md5(concat(%s))`, tableName(t), strings.Join(cols, ", ")),
		`DROP TABLE "shuffled"`,
	}
}

// shuffle puts the rows of the tables that a printed statement reads into another physical order.
func (c *Catalog) shuffle(sql string) (out []string) {
	for _, t := range c.Tables {
		if strings.Contains(sql, tableName(t)) {
			out = append(out, Shuffle(t)...)
		}
	}
	return out
}
