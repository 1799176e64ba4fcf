package engine_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
)

// clauses is one part of testdata/sql/clauses.yaml.
type clauses struct {
	Title string     `yaml:"title"`
	Of    []string   `yaml:"of"`
	Rows  [][]string `yaml:"rows"` // feature, statement over private rows, statement over public ones
}

const features = "../../rewrite/pgsyntax/testdata/golden/features"

// TestSQLDoc makes docs/sql.md from the registries and from what happens to its examples when they are run. With -update it writes the
// page, without it the page must be the one that is made.
func TestSQLDoc(t *testing.T) {
	w := newSite(t)
	var page bytes.Buffer
	page.WriteString(sqlHead)
	writeClauses(t, w, &page)
	writeGrammar(t, &page)
	page.WriteString(sqlStatistics)
	page.WriteString(sqlRanges)
	page.WriteString(sqlOrder)
	for _, part := range []string{"tpch_head.md", "tpch.md"} { // the table is internal/testkit/bench/tpc's
		text, err := os.ReadFile("testdata/sql/" + part)
		if err != nil {
			t.Fatal(err)
		}
		page.Write(text)
	}
	writeTypes(&page)
	writeFunctions(t, &page)
	writeSettings(t, w, &page)
	writeMissing(t, &page)
	compare(t, "../../docs/sql.md", page.Bytes())
}

// writeClauses runs each feature's statements and says what came of them.
func writeClauses(t *testing.T, w *site, page *bytes.Buffer) {
	text, err := os.ReadFile("testdata/sql/clauses.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var all []clauses
	if err := yaml.UnmarshalWithOptions(text, &all, yaml.Strict()); err != nil {
		t.Fatal(err)
	}
	described := map[string]bool{}
	page.WriteString("\n## Clause by clause\n\nEach statement was run when this page was made, before the [clinic](errors.md#the-clinic). \"yes\" is answered; an id is how it is refused.\n")
	for _, part := range all {
		fmt.Fprintf(page, "\n### %s\n\n| feature | private rows | public tables, released values | example |\n|---|---|---|---|\n", part.Title)
		for _, of := range part.Of {
			described[of] = true
		}
		for _, row := range part.Rows {
			if len(row) != 3 {
				t.Fatalf("%q has %d cells", row, len(row))
			}
			private, public := w.state(t, row[1]), w.state(t, row[2])
			if public == private && public != "yes" {
				public = "the same"
			}
			example := row[1]
			if example == "" || private != "yes" && public == "yes" {
				example = row[2]
			}
			fmt.Fprintf(page, "| %s | %s | %s | `%s` |\n", escaped(row[0]), private, public, escaped(example))
		}
	}
	for _, heading := range headings(t) {
		if !described[heading] {
			t.Errorf("no part of clauses.yaml is of %q of the parser's checklist", heading)
		}
		delete(described, heading)
	}
	for heading := range described {
		t.Errorf("the parser's checklist has no %q", heading)
	}
}

func escaped(text string) string { return strings.ReplaceAll(text, "|", `\|`) }

// state is what becomes of a statement: yes, or the refusal's id with its message.
func (w *site) state(t *testing.T, sql string) string {
	t.Helper()
	if sql == "" {
		return ""
	}
	p := Place{On: "clinic"}
	s := w.serve(t, p)
	c, err := s.dial(p.user(), "demo", s.name)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close(context.Background()) }()
	err = s.ask(c, sql)
	if err == nil {
		return "yes"
	}
	var pe *pgconn.PgError
	if !errors.As(err, &pe) {
		t.Fatalf("%s: %v", sql, err)
	}
	id := s.id(sql, err)
	if own := refusals[id]; !own {
		t.Errorf("%s\nis a mistake: %s %s", sql, id, pe.Message)
	}
	return fmt.Sprintf("[%s](errors.md#%s): %s", id, id, escaped(pe.Message))
}

// refusals are the ids by which a statement that PostgreSQL takes is refused. Another one in the table would be a mistake of the table.
var refusals = map[string]bool{"unsupported": true, "unsupported_function": true, "unsupported_operator": true, "unsupported_cast": true, "unsupported_type": true,
	"raw_rows": true, "private_shape": true, "join_off_unit": true, "no_range": true, "private_function": true}

var (
	heading = regexp.MustCompile(`^# (.*)$`)
	refused = regexp.MustCompile(`^0A000 (.*?) at "`)
)

// headings are those of the parser's checklist, without its head and its last part.
func headings(t *testing.T) (out []string) {
	lines := featureLines(t)
	for i, l := range lines {
		if m := heading.FindStringSubmatch(l); m != nil && i > 2 && !strings.HasPrefix(m[1], "What PostgreSQL's parser of version 17") {
			out = append(out, m[1])
		}
	}
	if len(out) < 10 {
		t.Fatalf("the parser's checklist has %d headings", len(out))
	}
	return out
}

func featureLines(t *testing.T) []string {
	text, err := os.ReadFile(features)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(string(text), "\n")
}

// writeGrammar lists what the parser refuses by name, from its checklist, with an example each.
func writeGrammar(t *testing.T, page *bytes.Buffer) {
	page.WriteString("\n### Grammar that the parser knows and refuses\n\nFrom the parser's checklist of PostgreSQL's grammar (rewrite/pgsyntax/testdata/golden/features), which PostgreSQL's own parser was asked about line by line.\n\n" +
		"| refused | example |\n|---|---|\n")
	seen := map[string]bool{}
	var in, out []string
	part := 0 // 1: statements that are to be refused, 2: how they were
	flush := func() {
		for i := range min(len(in), len(out)) {
			m := refused.FindStringSubmatch(out[i])
			if m == nil || seen[m[1]] {
				continue
			}
			seen[m[1]] = true
			fmt.Fprintf(page, "| %s | `%s` |\n", escaped(strings.TrimSuffix(strings.TrimSuffix(m[1], " yet"), " is not supported")), escaped(in[i]))
		}
		in, out, part = nil, nil, 0
	}
	for _, l := range featureLines(t) {
		switch {
		case strings.HasPrefix(l, "# What PostgreSQL's parser of version 17"):
			flush()
			if len(seen) < 20 {
				t.Errorf("only %d refusals", len(seen))
			}
			return
		case l == "refuse":
			flush()
			part = 1
		case l == "" || l == "read":
			flush()
		case l == "----" && part == 1:
			part = 2
		case part == 1:
			in = append(in, l)
		case part == 2:
			out = append(out, l)
		}
	}
	flush()
}

// writeSettings lists the settings as SHOW ALL has them, and tries what they take.
func writeSettings(t *testing.T, w *site, page *bytes.Buffer) {
	p := Place{On: "clinic"}
	s := w.serve(t, p)
	c, err := s.dial(p.user(), "demo", s.name)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close(context.Background()) }()
	res, err := c.Exec(context.Background(), "SHOW ALL").ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	page.WriteString("\n## Settings\n\n`SET`, `SET LOCAL`, `RESET`, `SHOW`, or the connection's options. Those of dpsql are in [configuration.md](configuration.md). " +
		"\"only this\" means that another value is refused by name, so that nothing is promised that is not kept.\n\n| setting | here | about | other values |\n|---|---|---|---|\n")
	tried, without := map[string]bool{}, 0
	for _, row := range res[0].Rows {
		name, value, about := string(row[0]), string(row[1]), string(row[2])
		other := otherValues[strings.ToLower(name)]
		tried[strings.ToLower(name)] = true
		state := ""
		var pe *pgconn.PgError
		switch err := s.ask(c, fmt.Sprintf("SET %s = %s", name, cmp(other, "'other'"))); {
		case err == nil && other != "":
			state = "such as " + other
		case err == nil:
			state = "any"
		case errors.As(err, &pe) && strings.HasSuffix(pe.Message, "cannot be changed"):
			state = "fixed"
		case other != "":
			t.Errorf("SET %s = %s: %v", name, other, err)
		case pe != nil && pe.Code == sqlerr.Unsupported.Code:
			state = "only this"
		case slices.ContainsFunc([]string{"on", "off"}, func(v string) bool {
			return errors.As(s.ask(c, fmt.Sprintf("SET %s = %s", name, v)), &pe) && pe.Code == sqlerr.Unsupported.Code
		}):
			state = "only this"
		default:
			without++
		}
		_ = s.ask(c, "RESET ALL")
		if state == "" {
			continue
		}
		if name == "application_name" || strings.HasPrefix(name, "dpsql.") && name == "dpsql.notices" {
			value = ""
		}
		fmt.Fprintf(page, "| %s | %s | %s | %s |\n", name, escaped(value), escaped(about), escaped(state))
	}
	fmt.Fprintf(page, "\nThe other %d settings of PostgreSQL 15 are shown as a fresh server has them. What any user may set there (work_mem, enable_seqscan, jit, ...) says how a server works, not what it answers: "+
		"it is taken, checked and shown, and has no effect here. The rest is refused as PostgreSQL refuses it.\n", without)
	for name := range otherValues {
		if !tried[name] {
			t.Errorf("there is no setting %s", name)
		}
	}
}

func cmp(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// otherValues are values beside the default that are taken.
var otherValues = map[string]string{"client_encoding": "latin1", "dpsql.epsilon": "0.1", "dpsql.mechanism": "laplace", "dpsql.max_groups": "8", "dpsql.clip": "5", "dpsql.bounding": "l2", "dpsql.notices": "full", "dpsql.target_error": "'5%'", "dpsql.expected_size": "1000", "dpsql.fresh": "on", "dpsql.on_low_count": "'null'", "dpsql.rounding": "off", "dpsql.simultaneous": "on",
	"client_min_messages": "warning", "default_transaction_read_only": "on", "default_transaction_isolation": "serializable", "default_transaction_deferrable": "on", "bytea_output": "escape", "datestyle": "'SQL, DMY'", "extra_float_digits": "0",
	"intervalstyle": "iso_8601", "timezone": "'Europe/Berlin'", "escape_string_warning": "off", "transaction_isolation": "serializable", "transaction_deferrable": "on", "transaction_read_only": "on",
	"search_path": "pg_catalog", "statement_timeout": "'30s'", "idle_in_transaction_session_timeout": "'5min'", "idle_session_timeout": "'1h'", "lock_timeout": "'10s'"}

// TestPublicKeys: what the page calls public groups needs no selection: under a policy without delta, where unknown groups are refused, they are answered.
func TestPublicKeys(t *testing.T) {
	w := newSite(t)
	without := Place{On: "clinic", Policy: [][]string{{"delta: 1e-6", "delta: 0"}}}
	for _, key := range []string{"readmitted", "kind_id", "days", "days > 3", "CASE WHEN diag = 'a' THEN 1 ELSE 2 END", "floor(days / 10) * 10", "width_bucket(days, 0, 20, 4)", "days % 7", "days::text",
		"CASE WHEN days < 3 THEN 'short' WHEN days < 10 THEN 'long' END"} {
		w.accepted(t, without, []string{"SELECT " + key + ", count(*) FROM encounters GROUP BY 1"})
	}
	w.accepted(t, without, []string{"SELECT diag, count(*) FROM encounters WHERE diag IN ('a', 'b') GROUP BY 1", "SELECT free, count(*) FROM encounters WHERE free BETWEEN 1 AND 9 GROUP BY 1"})
	if pe, id := w.refusal(t, without, []string{"SELECT diag, count(*) FROM encounters GROUP BY 1"}); id != "unknown_groups" {
		t.Errorf("%s: %s", id, pe.Message)
	}
}

const sqlHead = `<!-- Made by go test ./internal/engine -run TestSQLDoc -update, from the registries and internal/engine/testdata/sql/clauses.yaml. -->
# SQL

An analyst writes PostgreSQL 15's SQL (numbers are also read as later versions spell them: 1_000, 0x1F). Every statement of its SELECT grammar is read as PostgreSQL reads it, or refused by name and position; none is misread. Names,
types, overloads, casts, parameters and output columns are found by PostgreSQL's rules over PostgreSQL's own catalog. This page is made from the
registries and from what happened to its examples; a test fails when it is stale. [errors.md](errors.md) explains each refusal.

Rows are of three sorts. **Private rows** belong to persons: they can be counted, summed, averaged, put in order and compared by statistics, with noise. **Public tables** belong to nobody: the policy says
` + "`public: true`" + `, and answers over them alone are exact and free; on DuckDB, where a column has one scale, numerics of different scales beside each other, as in coalesce, least or CASE, are all
written with the most decimals: 1.00 for 1. **Released values** are what is left of private rows after the noise: aggregates and group keys.
On them HAVING, ORDER BY, LIMIT, DISTINCT, window functions, further aggregates, literals beside them and every expression that is marked "released" work exactly and cost nothing.
`

const sqlStatistics = `
## Statistics

Variances, deviations, covariances, ` + "`corr` and `regr_`" + ` are computed from the noisy number of rows where all arguments have a value, and noisy sums of distances from the middles of the declared ranges, of their
squares and of their products. Aggregates of one statement share them: ` + "`count(x), avg(x), variance(x), stddev_pop(x)`" + ` take three noisy numbers a group, ` + "`corr(x, y)`" + ` takes six. Each argument needs a range, declared or narrowed by WHERE ([no_range](errors.md#no_range)): automatic bounds are for counts, sums and averages, and for how many rows of a person count.

- Types and scales are PostgreSQL's. A result is NULL where PostgreSQL's would be for the *released* numbers: fewer than one noisy row (two for the sample forms), a noisy sum of squares of 0 that is divided by.
- Sums of squares are clamped to what the range [lo, hi] allows, so ` + "`var_pop`" + ` is in [0, (hi - lo)^2/4], a covariance within the root of the product of two such, a correlation in [-1, 1].
- ` + "`bool_and`, `every` and `bool_or`" + ` ask how many people have a row that decides (a false one, or a true one), which one person changes by 1: no range is needed. It is decided that somebody has where the noisy number is more than
  the 97.5% quantile of its noise (EXPLAIN tells it): wrong with probability 0.025 where nobody has, and where twice that many people have. They are never NULL, and have no ` + "`dp_error`" + `.
- ` + "`count(DISTINCT x)`" + ` keeps of each person at most as many distinct values a group as rows count, first ones by a hash, and then tells values apart: what people have in common counts once. Fewer are kept where few values
  are known, and one where the person determines the value, so that the noise is smaller. NULL is not counted, nor are a numeric's NaN and infinities.
- ` + "`sum(DISTINCT x)` and `avg(DISTINCT x)`" + ` of values with a range measure the number of distinct values as they are in the range and the sum of the distances of the same values from its middle; values outside it are its ends, all of them one value.
- Counts over ` + "`SELECT DISTINCT`, `GROUP BY` without aggregates, `UNION`, `INTERSECT` and `EXCEPT`" + ` of all persons' rows are numbers of distinct rows, in which NULL is a value; of a set operation a row of a person is kept with all sides that have it.
- Numbers of rows that follow from the policy are free: ` + "`SELECT count(*) FROM (SELECT DISTINCT readmitted FROM encounters) q`" + `, as tools count pages, is the number of its published values, as many rows as the inner query gives; so it is of ` + "`GROUP BY`" + ` of such columns, whatever aggregates stand beside them. ` + "`count(DISTINCT readmitted)`" + ` measures how many of them people have.
- Public rows that private ones keep (` + "`EXISTS`, `IN`, `INTERSECT`" + `) are counted as the number of their distinct keys that have a private row, of each person at most as many as rows count; public rows that private ones leave out as all of them less
  that number, with the same noise. They need a key of one column, which is never NULL.
- Products of values of wide ranges are rounded row by row (EXPLAIN says so), to about 2^-36 of the largest product.
- ` + "`sum`, `avg`, `min`, `max` and percentiles" + ` of an interval are intervals of days and time, equal to PostgreSQL's value with its months of 30 days. Their ` + "`dp_error`, `dp_low` and `dp_high`" + ` are in seconds.
- ` + "`dp_error`" + ` is 1.96 times the deviation of Gaussian noise, 2.12 times that of Laplace noise, to the first order: each noisy number's variance times the square of what a change of it does to the result. Of a deviation it is the variance's
  interval, rooted; of ` + "`regr_r2`" + ` the correlation's, squared. Where the number of rows, or a sum of squares that is divided by, is less than two of its own deviations, it is the width of all values that the result can have, and NULL for
  slopes and intercepts, which have no bounds.
- The interval of an expression over aggregates is that of all values that it takes while each of its k aggregates is in its own interval, at 1 - 0.05/k. Where a divisor may be 0 it is NULL. The value is NULL there too, with a warning.
`

const sqlRanges = `
## Ranges and public groups

A sum needs to know how much one person can change it, and groups are free of noise of their own where everybody knows which there are. Both are derived from the
policy and the statement, never from rows; ` + "`EXPLAIN`" + ` tells what was derived.

- **Ranges** come from the policy (` + "`range: [lo, hi]`" + `), and go through arithmetic, CASE, casts and every row below that is marked "range". A declared range is enforced by a clamp.
- **WHERE and ON narrow.** ` + "`WHERE age BETWEEN 20 AND 60`" + ` makes the range [20, 60], or gives one to a column that has none; so do ` + "`=`, `<`, `IN`, `AND`, `OR`" + ` of such conditions, and the ON
  of a join on its own side. Fewer rows do not cost more noise, a narrower range costs less.
- **Public groups** are values that the policy lists, columns of public tables, booleans and CASE over constants; and keys computed from *one* column with few public values: whole
  numbers and days in a range, listed values, what WHERE ... IN lists. ` + "`floor(x / 10) * 10`, `width_bucket(x, 0, 100, 10)`, `date_trunc('month', d)`, `extract(year FROM d)`, `x % 7`, casts" + ` of
  such a column need no selection: all groups are answered, also those that nobody is in.
- **Conditions** on the keys of public groups leave groups out: ` + "`WHERE region = 'west' GROUP BY region`" + ` has one group, ` + "`WHERE extract(hour FROM t) < 6 GROUP BY 1`" + ` has 6.
  So do conditions on the one column that a key is computed from, and ON of an inner join. Conditions with parameters do not.
- **Rows outside** a declared range or list are in no public group: the data breaks its declaration there.
- All other groups are **unknown**: which ones are shown is chosen with noise, and rare ones never are. A warning says how large a group must be. That needs a policy with delta above 0 ([unknown_groups](errors.md#unknown_groups)).

## Aggregates of aggregates

An inner query stays within each person's rows where each of its groups is one person's. Noise is then added once, to the outer aggregate.
The database's keys and the policy's ` + "`unit`" + ` say which groups these are. They are grouped by one of:

- the privacy unit, or an expression that gives it back: ` + "`10 + patient_id`" + `, ` + "`'P' || patient_id`" + `
- a key of a private table that has no NULL
- columns of a declared way that hold a key of the parent: ` + "`encounter_id`" + ` of ` + "`unit: (patient_id, encounter_id) -> encounters.(patient_id, encounter_id)`" + `

All other inner groups have rows of several people. dpsql releases them with noise, and the outer query reads the noisy numbers. A WARNING says so.
Rows of such a way whose other column is NULL are one group for each person, where PostgreSQL has one group. A WARNING says that too.
`

const sqlOrder = `
## Order statistics

` + "`min`, `max`, `median`, `percentile_cont` and `percentile_disc`" + ` of private rows are read off a tree of noisy counts over the declared range of their values (Dwork, Naor, Pitassi, Rothblum 2010). Medians and
percentiles of the same values of the same rows come from one tree and are charged once, however many fractions there are. ` + "`min` and `max`" + ` have a tree each.

- ` + "`median(x)`" + ` is dpsql's own: ` + "`percentile_cont(0.5) WITHIN GROUP (ORDER BY x)`" + `, and ` + "`percentile_disc(0.5)`" + ` of dates and times. Fractions are constants or parameters, one or an array.
- **Values** are integers, numerics, floats, dates and times with a range: declared, or narrowed by WHERE; else [no_range](errors.md#no_range), except for ` + "`min`" + ` and ` + "`max`" + `. NULL does not count, what is outside of the range counts as its nearest end, and NaN as the upper one.
  A range of more than 65,536 values on its grid has leaves of several values; an answer is then spread evenly over its leaf. EXPLAIN tells the leaves, the levels, and how far the noise may move a rank.
- **Of a person with more rows than count** in a group, those are taken that stand at the middles of equal parts of them in order, so that each person's own spread stays.
- **` + "`min` and `max`" + `** count people in place of rows: each person once in a group, at their own least or greatest value. All rows of everybody take part, no ` + "`max_rows_per_unit`" + ` is needed, and none is chosen or paid for.
  No noise can show the greatest of all values, which may be one person's. ` + "`max`" + ` is the greatest value at which, or above which, the noisy counts surely show somebody. So it is biased inwards, the more so the fewer people there are.
  Where too few people are in a group to show anybody, it is the group's median.
- **The rank of ` + "`min`" + ` and ` + "`max`" + `** is in EXPLAIN and in the NOTICE: ` + "`max at most 17 people are above it`" + `. It holds with 95 % in each group, follows from the noise alone, and reads no row.
  Values in one leaf are not told apart, so where leaves are wide it says ` + "`above it by more than 0.08`" + `.
- **` + "`min`" + ` and ` + "`max`" + ` without a range** tell this rank alone, and a WARNING says so. Nothing bounds the true greatest value, so ` + "`dp_high`" + ` and ` + "`dp_error`" + ` of ` + "`max`" + ` are NULL, and ` + "`dp_low`" + ` is the answer. ` + "`min`" + ` is its mirror image.
  Leaves are up to 0.8 % of a value wide. Those of dates and times are days from 1900-01-01 to 2079-06-06, and values outside count as these ends.
  Floats and numerics without a scale are read to six decimals up to about 10^12. Where too few people are in a group to show anybody, the answer is NULL with a warning.
  A range in the policy, or ` + "`WHERE x BETWEEN 0 AND 5000`" + `, gives both ends of the interval.
- **Percentiles near an end**: a quantile that is closer to an end than the noise of a rank is moved to where it is not. Where a group has fewer rows than twice that, all quantiles are its median.
- Of nobody a statistic is the middle of the range. It is never NULL where there is a range, unless too few people have
  rows to choose a bound by.
- ` + "`dp_low`, `dp_high`" + ` are the values at the ranks that the noise may have moved this one from or to (95%), read off the same tree. The interval of ` + "`max`" + ` reaches from the answer to the upper end of the range, that of ` + "`min`" + ` from the lower end to the answer.
  ` + "`dp_error`" + ` is the larger distance from the answer. They are NULL for dates, times and arrays.
- Asked again at a higher price a statement with order statistics, or with what follows, is released anew, at the full price: trees and picks are not topped up. Numbers of distinct values are.

` + "`mode() WITHIN GROUP (ORDER BY x)`" + ` and dpsql's own ` + "`dp_top_k(x, k)`" + `, an array of the k most frequent values of x with the most frequent one first, pick among the *public* values of x: those that it would have as a key (see above), up to 10,000.
Values are picked by permute-and-flip (McKenna, Sheldon 2020), one after the other, which is more often right than the largest of noisy counts; which of equally frequent ones comes first is chance. Each of the k picks takes its part of the price, so k, a constant or a parameter, is at
most 100. Of a person with more rows than count, each value counts for its part, the most frequent ones first. NULL and values that are not listed do not count; of nobody any value is picked. dp_error is NULL: to know the counts, or
where values are not public, ` + "`GROUP BY x ORDER BY count(*) DESC LIMIT k`" + `.
`
