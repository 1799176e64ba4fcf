package browser

import (
	"encoding/json"
	"os/exec"
	"testing"
)

// evaluated are expressions over the functions of the page's sources, as JSON. Node.js computes them.
func evaluated(t *testing.T, expressions []string) (values []string) {
	t.Helper()
	text, err := json.Marshal(expressions)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "node", "--input-type=module", "-e", `
import { build } from "esbuild";
const contents = ["axes", "columns", "csv", "format", "schema"].map((name) => "export * from './src/" + name + "';").join("\n");
const out = await build({ stdin: { contents, resolveDir: "." }, bundle: true, write: false, format: "iife", globalName: "page" });
const page = new Function(out.outputFiles[0].text + "; return page")();
const row = (...values) => ({ values, intervals: [] });
const noisy = (...values) => ({ values, intervals: [, ...values.slice(1).map((v) => (v === null ? {} : { low: Number(v) - 1, high: Number(v) + 1 }))] });
const columns = (text) => text.split(" ").map((c) => ({ name: c.split(":")[0], kind: c.split(":")[1] ?? "number" }));
for (const x of `+string(text)+`) {
  console.log(JSON.stringify(new Function("row", "noisy", "columns", ...Object.keys(page), "return " + x)(row, noisy, columns, ...Object.values(page))) ?? "undefined");
}`)
	cmd.Dir = "../web"
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for start, i := 0, 0; i < len(out); i++ {
		if out[i] == '\n' {
			values, start = append(values, string(out[start:i])), i+1
		}
	}
	if len(values) != len(expressions) {
		t.Fatalf("%s", out)
	}
	return values
}

// check compares expressions with what they should be, in pairs.
func check(t *testing.T, pairs ...string) {
	t.Helper()
	var expressions []string
	for i := 0; i < len(pairs); i += 2 {
		expressions = append(expressions, pairs[i])
	}
	for i, got := range evaluated(t, expressions) {
		if got != pairs[2*i+1] {
			t.Errorf("%s: %s, want %s", pairs[2*i], got, pairs[2*i+1])
		}
	}
}

// TestFormat: an interval is written with the digits that its width has. One without a width has all, and one without an end says so.
func TestFormat(t *testing.T) {
	check(t,
		`between({low: 4.4, high: 4.4})`, `"4.4 to 4.4"`,
		`between({low: 0.123, high: 0.987})`, `"0.12 to 0.99"`,
		`between({low: 3996, high: 4010})`, `"3996 to 4010"`,
		`between({low: 104.7, high: 331.2})`, `"104 to 332"`,
		`between({low: -0.4, high: 12})`, `"−0.4 to 12.0"`,
		`between({low: 101376})`, `"101376 or more"`,
		`between({high: 1.5})`, `"1.50 or less"`,
		`between({})`, `""`,
		`between({low: 4579200, high: 31449600}, "duration")`, `"53 days to 364 days"`,
		`between({low: 3601.5, high: 3661.2}, "duration")`, `"01:00:01 to 01:01:02"`,
		`between({low: -90061, high: 90061}, "duration")`, `"−2 days to 2 days"`,
		`duration(-90061.5)`, `"-1 days -01:01:01.5"`,
		`number("181 days")`, `15638400`,
		`number("1 year 2 mons -3 days -04:05:06.5")`, `36014093.5`,
		`number("")`, `null`, // NaN
		`number("Infinity")`, `null`,
		`number("today")`, `null`,
		`[figure(100), figure(0.5), figure(12.3456), figure(0.00012345)]`, `["100","0.5","12.35","1.234e-4"]`,
	)
}

// TestCSV: NULL and an empty text are told apart, and ends of durations are durations. A plain number is no formula, as a value or as an end; what else begins as one has an apostrophe.
func TestCSV(t *testing.T) {
	check(t,
		`csv(columns("a:text b:text"), [row("", null)])`, `"a,b\r\n\"\",\r\n"`,
		`csv(columns("d:duration"), [{ values: ["2 days"], intervals: [{ of: 0, low: 86400, high: 259200.5 }] }])`, `"d,d_low,d_high\r\n2 days,1 day,3 days 00:00:00.5\r\n"`,
		`csv(columns("d:duration"), [{ values: ["-224 days"], intervals: [{ of: 0, low: -19440000, high: -60 }] }])`, `"d,d_low,d_high\r\n'-224 days,'-225 days,'-00:01:00\r\n"`,
		`csv(columns("n"), [{ values: ["-5.2e3"], intervals: [{ of: 0, low: -1e21, high: -0.5 }] }])`, `"n,n_low,n_high\r\n-5.2e3,-1e+21,-0.5\r\n"`,
		`csv(columns("a:text n n b:text"), [row("-5", "-Infinity", "-1.2.3", "-5+1")])`, `"a,n,n,b\r\n-5,'-Infinity,'-1.2.3,'-5+1\r\n"`,
		`csv(columns("n"), [{ values: ["2"], intervals: [{ of: 0, unknown: "x" }] }])`, `"n\r\n2\r\n"`,
	)
}

// TestAxes: an axis has what tells the rows apart, and no noisy number. Where nothing does, there is no chart: bars of one place would be stacked to a sum that nobody released.
func TestAxes(t *testing.T) {
	const none = `"There is no chart, as `
	check(t,
		`axes(columns("g:text n"), [noisy("a", "1"), noisy("b", "2")])`, `{"key":0,"others":[],"along":"labels"}`,
		`noChart(columns("g:text n"), [noisy(null, "1"), noisy(null, "2")], 1)`, none+`several rows have the same g."`,
		`noChart(columns("g:text n"), [noisy(null, "1"), noisy("NULL", "2")], 1)`, `""`,
		`noChart(columns("a:text b:text n"), [row("x, y", "z", "1"), row("x", "y", "2")], 2)`, `""`,
		`noChart(columns("g:text h:text n"), [row("a", "b", "1"), row("a", "b", "2")], 2)`, none+`several rows have the same g and h."`,
		`noChart(columns("n"), [1, 2].map((n) => ({ values: [String(n)], intervals: [{ of: 0 }] })), 0)`, none+`no column tells the rows apart."`,
		`noChart(columns("n"), [row("1"), row("2")], valueColumns(columns("n"), [row("1")])[0])`, none+`the only numbers are in the first column."`,
		`noChart(columns("d:time n"), [row("01.02.2024", "1"), row(null, "2")], 1)`, none+`no d has a place on an axis."`,
		// A noisy number without an interval is a value, and a number that the other keys make needless is no key.
		`valueColumns(columns("g:text n med"), [{ values: ["a", "1", "2"], intervals: [, { of: 1, low: 0, high: 2 }, { of: 2, unknown: "x" }] }])`, `[1,2]`,
		`keys(columns("g:text n low"), [{ values: ["a", "1", "2"], intervals: [, { of: 1, low: 0, high: 2 }, { of: 2, part: true }] }])`, `[0]`,
		`keys(columns("g:text first:time n"), [{ values: ["a", "2020-01-01", "2"], intervals: [, { of: 1, unknown: "x" }, { of: 2, low: 0, high: 2 }] }])`, `[0]`,
		`keys(columns("g:text rank n"), [row("a", "1", "9"), row("b", "2", "8")])`, `[0]`,
		`keys(columns("g:text year n"), [row("a", "1", "9"), row("a", "2", "8")])`, `[0,1]`,
		// What is drawn at first has intervals, if any value has.
		`firstValue([1, 2], [{ values: ["a", "1", "2"], intervals: [, { of: 1, unknown: "x" }, { of: 2, low: 0 }] }])`, `2`,
		`firstValue([1, 2], [{ values: ["a", "1", "2"], intervals: [, { of: 1, unknown: "x" }, { of: 2, unknown: "x" }] }])`, `1`,
		// Steps of time are months, or days, whatever length they have; else what all are apart by.
		`steps(["2024-01-01", "2024-02-01", "2024-04-01", "2025-01-01"])`, `[0,1,3,12]`,
		`steps(["2024-03-25 00:00:00+01", "2024-04-01 00:00:00+02", "2024-04-15 00:00:00+02"])`, `[0,1,3]`,
		`steps(["2024-03-31 01:00:00+01", "2024-03-31 03:00:00+02", "2024-03-31 05:00:00+02"])`, `[0,1,3]`,
		`steps(["2024-01-15", "2024-01-29", "2024-02-19"])`, `[0,2,5]`,
		`steps(["2024-01-15"])`, `[0]`,
		// NULL has no place among numbers and times: it is named beside the chart.
		`beside(columns("x n"), [...Array(25).keys()].map((i) => noisy(String(i), "5")).concat([noisy(null, "7")]), 1)`, `["Not on the axis of x: NULL: 7 (6 to 8)."]`,
		`beside(columns("d:time n"), [noisy("2024-01-01", null), noisy("infinity", "7")], 1)`, `["Not on the axis of d: infinity: 7 (6 to 8).","n is NULL in one row."]`,
		`beside(columns("g:text n"), [{ values: ["a", "1"], intervals: [, { of: 1, unknown: "it is put together of several answers" }] }], 1)`, `["The interval of n is not known: it is put together of several answers."]`,
		`beside(columns("g:text n"), [{ values: ["a", "1"], intervals: [, { of: 1, low: 0, high: 2, at_once: true }] }], 1)`, `["The intervals of n hold in all rows at once with 95 %."]`,
		// Points of a line may be more than bars.
		`noChart(columns("x n"), [...Array(300).keys()].map((i) => row(String(i), "5")), 1)`, `""`,
		`noChart(columns("g:text n"), [...Array(300).keys()].map((i) => row(String(i), "5")), 1)`, none+`it would have 300 bars. It has 200 at most."`,
	)
}
