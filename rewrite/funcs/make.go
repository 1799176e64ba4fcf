package funcs

import (
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/dpsql/dpsql/internal/base/num"
	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/rewrite/dialect"
)

// timeRows are the rows of dates, times and intervals that make, round or compare them.
func timeRows() []*Func {
	return slices.Concat(spans(), made(), precisions(), justified(), binned(), clocksTZ())
}

// made has make_date, make_time, make_timestamp, make_timestamptz and make_interval. What PostgreSQL would not make is NULL, and so are parts of an interval
// that leave their integers (PostgreSQL 15 wraps there), timestamps within a day of the range's end, and zoned ones within two.
func made() []*Func {
	out := []*Func{makeDate(), makeTime(), makeTimestamp(), makeInterval()}
	session := &Func{Name: "make_timestamptz", Kind: Function, Args: oids(i4, i4, i4, i4, i4, f8), Result: zoned, MayBeNull: true, Zoned: true}
	session.With = func(c Constants) (*Func, error) { return makeZoned(session, c.Zone) }
	named := &Func{Name: "make_timestamptz", Kind: Function, Args: oids(i4, i4, i4, i4, i4, f8, text), Result: zoned, MayBeNull: true, Const: []int{6}}
	named.With = func(c Constants) (*Func, error) { return makeZoned(named, c.Values[0].(string)) }
	return append(out, session, named)
}

// clockOfParts wraps a form into float_time_overflow's tests of hour, minute and second.
func clockOfParts(h, m, s, round, form string) string {
	micros := round + "(" + s + " * 1000000"
	if round == "round_even" {
		micros += ", 0"
	}
	micros += ")"
	return "CASE WHEN " + h + " BETWEEN 0 AND 24 AND " + m + " BETWEEN 0 AND 59 AND " + s + " BETWEEN -1 AND 61 THEN CASE WHEN " + micros + " BETWEEN 0 AND 60000000 AND (" + h + " * 60 + " + m + ") * CAST(60000000 AS BIGINT) + " + micros +
		" <= 86400000000 THEN " + form + " END END"
}

// duckMicros are the microseconds of a day.
func duckMicros(h, m, s string) string {
	return "((" + h + " * 60 + " + m + ") * CAST(60000000 AS BIGINT) + CAST(round_even(" + s + " * 1000000, 0) AS BIGINT))"
}

func makeTime() *Func {
	return row(Function, "make_time", oids(i4, i4, f8), clock, true, forms{pg: clockOfParts("{x}", "{y}", "{z}", "round", "make_time({x}, {y}, {z})"),
		duck: clockOfParts("{x}", "{y}", "{z}", "round_even", "list_transform(["+duckMicros("{x}", "{y}", "{z}")+"], lambda n: CASE WHEN n = 86400000000 THEN CAST('24:00:00' AS TIME) ELSE CAST(make_timestamp(n) AS TIME) END)[1]")}).
		within(always(0, microsPerDay)).eval(of3(clockFrom))
}

func clockFrom(h, m int64, s float64) (sqltype.Value, error) {
	bad := sqlerr.New(sqlerr.DatetimeRange, "time field value out of range: %d:%02d:%02g", h, m, s)
	if h < 0 || h > 24 || m < 0 || m > 59 || math.IsNaN(s) || math.Abs(s) > 61 {
		return nil, bad
	}
	micros := math.RoundToEven(s * 1e6)
	total := (h*60+m)*60*second + int64(micros)
	if micros < 0 || micros > 60*second || total > microsPerDay {
		return nil, bad
	}
	return sqltype.Clock(total), nil
}

func makeTimestamp() *Func {
	pg, duck := stampParts("make_timestamp({x}, {y}, {z}, {w}, {p}, {q})")
	return row(Function, "make_timestamp", oids(i4, i4, i4, i4, i4, f8), stamp, true, forms{pg: pg, duck: duck}).eval(stampFrom)
}

func stampParts(made string) (pg, duck string) {
	year, _ := dayOfParts()
	pg = dateParts(-4713, 294275)(clockOfParts("{w}", "{p}", "{q}", "round", made))
	duck = dateParts(-4713, 294245)(clockOfParts("{w}", "{p}", "{q}", "round_even", "CAST(make_date("+year+", {y}, {z}) AS TIMESTAMP) + to_microseconds("+duckMicros("{w}", "{p}", "{q}")+")"))
	return pg, duck
}

func stampFrom(v []sqltype.Value, types []sqltype.Type, t sqltype.Type) (sqltype.Value, error) {
	d, err := dayFrom(v[0].(int64), v[1].(int64), v[2].(int64))
	if err != nil {
		return nil, err
	}
	c, err := clockFrom(v[3].(int64), v[4].(int64), v[5].(float64))
	if err != nil {
		return nil, err
	}
	if d.(sqltype.Days) > lastDay {
		return nil, stampRange()
	}
	m := sqltype.Micros(int64(d.(sqltype.Days))*microsPerDay + int64(c.(sqltype.Clock)))
	if sideOf(m) != 0 {
		return nil, stampRange()
	}
	return m, nil
}

func makeZoned(f *Func, zone string) (*Func, error) {
	loc, err := location(zone)
	if err != nil {
		return nil, err
	}
	turn, err := zoneRow(&Func{Name: "timezone", Kind: Function, Args: oids(text, stamp), Result: zoned, Const: []int{0}}, zone, 1)
	if err != nil {
		return nil, err
	}
	stamps := makeTimestamp()
	g := *f
	g.With, g.Refused = nil, turn.Refused
	print := func(turn, stamps Forms) Forms {
		return turn.each(func(d dialect.Dialect, turn Form) Form {
			return func(x []string, _ []sqltype.Type, t sqltype.Type) string {
				if g.Refused[d] != "" {
					return ""
				}
				return turn([]string{"", stamps.Print(d, x[:6], nil, sqltype.Timestamp)}, nil, t)
			}
		})
	}
	g.TotalForm, g.RaisingForm = print(turn.TotalForm, stamps.TotalForm), print(turn.RaisingForm, stamps.RaisingForm)
	g.Eval = func(v []sqltype.Value, types []sqltype.Type, t sqltype.Type) (sqltype.Value, error) {
		m, err := stampFrom(v, types, t)
		if err != nil {
			return nil, err
		}
		return unlocal(m.(sqltype.Micros), loc)
	}
	return &g, nil
}

func makeInterval() *Func {
	whole := func(a, by, b, wide string) string {
		return "(CAST(" + a + " AS " + wide + ") * " + by + " + " + b + ")"
	}
	test := func(wide, micros, form string) string {
		return "CASE WHEN " + whole("{x}", "12", "{y}", wide) + " BETWEEN -2147483648 AND 2147483647 AND " + whole("{z}", "7", "{w}", wide) + " BETWEEN -2147483648 AND 2147483647 AND abs({r}) < 1e12 THEN CASE WHEN " +
			micros + " BETWEEN -9223372036000000000 AND 9223372036000000000 THEN " + form + " END END"
	}
	micros := "({p} * numeric '3600000000' + {q} * numeric '60000000' + CAST({r} * 1000000 AS numeric))"
	duck := "(CAST({p} AS HUGEINT) * 3600000000 + CAST({q} AS HUGEINT) * 60000000 + CAST(round_even({r} * 1000000, 0) AS BIGINT))"
	f := row(Function, "make_interval", oids(i4, i4, i4, i4, i4, i4, f8), span, true, forms{
		pg:   test("int8", micros, "make_interval({x}, {y}, {z}, {w}, {p}, {q}, {r})"),
		duck: test("BIGINT", duck, "to_months(CAST("+whole("{x}", "12", "{y}", "BIGINT")+" AS INTEGER)) + to_days(CAST("+whole("{z}", "7", "{w}", "BIGINT")+" AS INTEGER)) + to_microseconds(CAST("+duck+" AS BIGINT))")})
	return f.eval(func(v []sqltype.Value, _ []sqltype.Type, _ sqltype.Type) (sqltype.Value, error) {
		n := func(i int) int64 { return v[i].(int64) }
		months, days, s := n(0)*12+n(1), n(2)*7+n(3), v[6].(float64)
		out := sqltype.Interval{Months: int32(months), Days: int32(days)} //nolint:gosec // tested below
		if int64(out.Months) != months || int64(out.Days) != days || math.IsNaN(s) || math.Abs(s) >= 1e12 {
			return nil, sqlerr.New(sqlerr.DatetimeRange, "interval out of range")
		}
		out.Micros = n(4)*3600*second + n(5)*60*second + int64(math.RoundToEven(s*1e6))
		return out, nil
	})
}

// dayOfParts are the astronomical year of {x} and the last day of its month {y}.
func dayOfParts() (year, last string) {
	year = "(CASE WHEN {x} > 0 THEN {x} ELSE {x} + 1 END)"
	return year, "CASE WHEN {y} <> 2 THEN 30 + ({y} + CASE WHEN {y} >= 8 THEN 1 ELSE 0 END) % 2 WHEN " + year + " % 4 = 0 AND (" + year + " % 100 <> 0 OR " + year + " % 400 = 0) THEN 29 ELSE 28 END"
}

// dateParts wraps a form into the tests that year, month and day are a date between two years.
func dateParts(first, final int) func(form string) string {
	return func(form string) string {
		_, last := dayOfParts()
		return "CASE WHEN {x} <> 0 AND {x} BETWEEN " + strconv.Itoa(first) + " AND " + strconv.Itoa(final) + " AND {y} BETWEEN 1 AND 12 AND {z} >= 1 THEN CASE WHEN {z} <= " + last + " THEN " + form + " END END"
	}
}

// makeDate is NULL for what is no date, and for years before 4713 BC or after 5874896.
func makeDate() *Func {
	year, _ := dayOfParts()
	form := dateParts(-4713, 5874896)
	f := row(Function, "make_date", oids(i4, i4, i4), day, true, forms{pg: form("make_date({x}, {y}, {z})"), duck: form("make_date(" + year + ", {y}, {z})")})
	f.Safe = func(r []*num.Interval, _ []sqltype.Type) bool {
		return r[0].Within(num.Ints(1, 9999)) && r[1].Within(num.Ints(1, 12)) && r[2].Within(num.Ints(1, 28))
	}
	return f.eval(of3(dayFrom))
}

func dayFrom(y, mon, d int64) (sqltype.Value, error) {
	bad := sqlerr.New(sqlerr.DatetimeRange, "date field value out of range: %s-%02d-%02d", strconv.FormatInt(y, 10), mon, d)
	if y == 0 || y < -4714 || y > 5874897 || mon < 1 || mon > 12 || d < 1 || d > 31 {
		return nil, bad
	}
	if y < 0 {
		y++
	}
	t := time.Date(int(y), time.Month(mon), int(d), 0, 0, 0, 0, time.UTC)
	days := (t.Unix() - epochSeconds) / 86400
	if t.Day() != int(d) || days < firstDay || days >= endDay {
		return nil, bad
	}
	return sqltype.Days(days), nil
}
