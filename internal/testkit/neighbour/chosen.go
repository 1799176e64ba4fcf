package neighbour

import (
	"context"
	"fmt"
	"regexp"
	"strings"

	"github.com/dpsql/dpsql/rewrite/dialect"
	"github.com/dpsql/dpsql/rewrite/funcs"
	"github.com/dpsql/dpsql/rewrite/sqlgen"
	"github.com/dpsql/dpsql/sensitivity"
)

// charges is a table of what is hard for automatic bounds.
const charges = `
charges unit=patient_id
  patient_id int4
  item text
  amount int8
  wide numeric(38,2)
  fee numeric(10,2)
  rate float8 step=0.5
  small int2
`

// undeclared lists what a clinic whose owner declared nothing says instead of its ranges: steps, where the type does not tell them.
var undeclared = strings.NewReplacer("score float8 range=-1..1", "score float8 step=0.001", "weight float8 range=0..300", "weight float8 step=0.1",
	"value float8 range=0..1000", "value float8 step=0.5", "ratio numeric range=0..10", "ratio numeric step=0.001")

// ChosenCatalog is the clinic without any declared bound, and charges.
func ChosenCatalog() *Catalog {
	text := regexp.MustCompile(` (m=[2-9]|range=\S+)`).ReplaceAllString(undeclared.Replace(Clinic), "")
	c, err := ParseCatalog(text + strings.TrimPrefix(charges, "\n"))
	if err != nil {
		panic(err)
	}
	return c
}

// Units of charges.
const (
	Signs     = 51 + iota // parts of both signs, groups apart
	OnEdges               // each part exactly on an edge
	AboveEdge             // the same, and one step more
	Empty                 // NULL and 0 parts, and a sum that comes to 0
	Extreme               // the types' largest values
	Manifold              // in 70 groups
)

// ChosenUnits are those of the clinic and of charges that are worth removing.
var ChosenUnits = []int{Heavy, Plain, Nulls, Signs, OnEdges, AboveEdge, Empty, Extreme, Manifold}

// ChosenRows makes charges and its rows; those that only PostgreSQL's types hold come too if d is it.
func ChosenRows(d dialect.Dialect) []string {
	cat := ChosenCatalog()
	ddl := cat.DDL()
	var rows []string
	add := func(unit any, item, amount, wide, fee, rate, small string) {
		rows = append(rows, fmt.Sprintf("(%v, '%s', %s, %s, %s, %s, %s)", unit, item, amount, wide, fee, rate, small))
	}
	add(Signs, "a", "-40", "-40.01", "-3.50", "-7", "-3")
	add(Signs, "a", "2", "0.01", "0.25", "0.5", "1")
	add(Signs, "b", "37", "12.34", "9.99", "3.5", "8")
	add(Signs, "c", "-1", "-0.01", "-0.01", "-0.5", "-1")
	fine := sensitivity.CandidateBounds(16, 1<<20) // of sums in steps of a fraction
	for i, n := range sensitivity.CandidateBounds(1, 400) {
		e := fine[i]
		item := string(rune('a' + i%3))
		if i%2 == 0 {
			item = fmt.Sprintf("e%d", i)
		}
		add(OnEdges, item, fmt.Sprint(n), fmt.Sprintf("%d.%02d", e/100, e%100), fmt.Sprintf("%d.%02d", e/100, e%100), fmt.Sprintf("%d * 0.5", e), fmt.Sprint(n))
		add(AboveEdge, item, fmt.Sprint(n+1), fmt.Sprintf("-%d.%02d", (e+1)/100, (e+1)%100), fmt.Sprintf("%d.%02d", (e+1)/100, (e+1)%100), fmt.Sprintf("%d * 0.5", e+1), fmt.Sprint(-int(n)-1))
	}
	add(AboveEdge, "a", "1", "0", "0", "0", "0")
	add(Empty, "a", "NULL", "NULL", "NULL", "NULL", "NULL")
	add(Empty, "b", "0", "0", "0", "0", "0")
	add(Empty, "c", "5", "1.25", "1.25", "1.5", "7")
	add(Empty, "c", "-5", "-1.25", "-1.25", "-1.5", "-7")
	add(Extreme, "a", "9223372036854775807", "123456789012345678901234567890.12", "99999999.99", "'Infinity'", "32767")
	add(Extreme, "b", "-9223372036854775807 - 1", "-999999999999999999999999999999.99", "-99999999.99", "'-Infinity'", "-32768")
	add(Extreme, "c", "9223372036854775807", "999999999999999999999999999999.99", "99999999.99", "'NaN'", "32767")
	add(Extreme, "c", "9223372036854775807", "999999999999999999999999999999.99", "99999999.99", "1e300", "32767")
	for i := range 70 {
		add(Manifold, fmt.Sprintf("m%d", i%67), fmt.Sprint(i-20), fmt.Sprintf("%d.5", i), "1", "0.5", fmt.Sprint(i))
	}
	for u := 1; u <= 30; u++ {
		for k := range u % 5 {
			add(u, string(rune('a'+k%3)), fmt.Sprint(u*k-20), fmt.Sprintf("%d.%02d", u, k), fmt.Sprintf("-%d.%02d", k, u), fmt.Sprintf("%d.25", u), fmt.Sprint(k))
		}
	}
	for range 12 { // nobody's
		add("NULL", "a", "1000000", "77.77", "5.55", "1", "9")
	}
	out := []string{ddl[len(ddl)-1], `INSERT INTO "public"."charges" VALUES ` + strings.Join(rows, ", ")}
	if d != funcs.Postgres {
		return out
	}
	return append(out,
		fmt.Sprintf(`INSERT INTO "public"."charges" VALUES (%d, 'nan', 1, 'NaN', 'NaN', 'NaN', 1), (%d, 'nan', 1, 1, 1, 1, 1)`, Extreme, Signs),
		`UPDATE "public"."encounters" SET ratio = 'NaN' WHERE encounter_id % 11 = 0`,
		`UPDATE "public"."encounters" SET ratio = 'Infinity' WHERE encounter_id % 13 = 0`,
		`UPDATE "public"."encounters" SET ratio = '-Infinity', cost = 'NaN' WHERE encounter_id % 17 = 0`,
		fmt.Sprintf(`UPDATE "public"."encounters" SET ratio = 123456789012345678901234567890.123456 WHERE patient_id = %d AND encounter_id %% 2 = 0`, Heavy),
	)
}

// ChosenStatements are over charges.
var ChosenStatements = []string{
	"select readmitted, count(*), sum(c), avg(f) from (select patient_id, readmitted, sum(cost) c, min(free) filter (where days > 2) f from encounters group by 1, 2 having count(*) > 1) t where f < 90 group by 1",
	"select count(*), sum(days) from (select patient_id, days from encounters where days > 3 union all select patient_id, minutes from visits where minutes < 9) t where days between 0 and 20",
	"select count(*), count(distinct patient_id) from (select patient_id, free from encounters except select patient_id, minutes from visits) t",
	"select count(*), sum(c.small) from patients p left join charges c on c.patient_id = p.patient_id and c.small between 100000 and 200000",
	"select count(*), sum(amount) from charges",
	"select sum(wide), sum(fee), sum(small) from charges",
	"select item, sum(fee::float8 / 7), sum(small::float8 / -0.5) from charges group by 1",
	"select sum(rate), avg(small), count(amount) from charges",
	"select item, count(*), sum(amount), sum(small) from charges group by 1",
	"select item, sum(fee), sum(wide), count(distinct patient_id) from charges group by 1",
	"select case when item < 'b' then 'first' when item < 'd' then 'second' else 'rest' end, count(*), sum(fee), avg(amount), sum(rate) from charges group by 1",
	"select small > 0, amount > 0, sum(amount * small), sum(abs(fee)) from charges group by 1, 2",
	"select small > 7, sum(fee) filter (where fee > 0), sum(abs(amount - 30)) from charges where small > 0 or small < -5 group by 1",
	"select item, sum(case when amount > 30 then 30 when amount < -30 then -30 else amount end), avg(case when small > 0 then 1 else 0 end) from charges group by 1",
	"select item, count(*), avg(least(greatest(amount, -30), 30)), avg(least(greatest(small, 5), 400)), avg(least(greatest(fee, -90), -10)) from charges group by 1",
	"select avg(least(greatest(amount, -30), 30)), avg(least(greatest(small, 5), 400)) from charges",
}

// CheckChosen holds an analysis with automatic bounds against a database: for each unit removed the claims of CompareHistograms; without
// ownerless rows and in another physical order the same histogram, to the letter. It returns the largest share of a claim that was used.
func CheckChosen(ctx context.Context, db DB, cat *Catalog, a *sensitivity.Analysis, d dialect.Dialect, units []int, bug Bug) (share float64, err error) {
	return CheckChosenWithout(ctx, db, cat, a, d, cat.removals(units), cat.DeleteOwnerless(), bug)
}

// CheckChosenWithout is CheckChosen of units that statements remove.
func CheckChosenWithout(ctx context.Context, db DB, cat *Catalog, a *sensitivity.Analysis, d dialect.Dialect, without []Removal, ownerless []string, bug Bug) (share float64, err error) {
	before, err := bug.Ask(ctx, db, a, d)
	if err != nil {
		return 0, err
	}
	again := func(use func(*Histogram) error) func() error {
		return func() error {
			after, err := bug.Ask(ctx, db, a, d)
			if err != nil {
				return err
			}
			return use(after)
		}
	}
	for _, r := range without {
		err := Change(ctx, db, r.Statements, again(func(after *Histogram) error {
			s, err := CompareHistograms(before, after)
			share = max(share, s)
			return err
		}))
		if err != nil {
			return share, fmt.Errorf("without %s: %w", r.Name, err)
		}
	}
	same := func(after *Histogram) error { return SameHistogram(before, after) }
	if err := Change(ctx, db, ownerless, again(same)); err != nil {
		return share, fmt.Errorf("without rows that nobody owns: %w", err)
	}
	st, err := sqlgen.Private(a, d, 42)
	if err != nil {
		return share, err
	}
	if err := Change(ctx, db, cat.shuffle(st.SQL), again(same)); err != nil {
		return share, fmt.Errorf("in another physical order: %w", err)
	}
	return share, nil
}

// SameHistogram reports the first difference.
func SameHistogram(a, b *Histogram) error {
	if a.Text() == b.Text() {
		return nil
	}
	return fmt.Errorf("the histograms differ by\n%s", a.Minus(b).Text())
}
