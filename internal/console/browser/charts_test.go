package browser

import (
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// analystsPage opens the demo's page of its analyst.
func analystsPage(t *testing.T) *tab {
	t.Helper()
	link, _ := demo(t)
	p := open(t)
	p.do(chromedp.Navigate(link))
	p.button("Log in as analyst")
	p.until(`document.querySelector(".price dl")?.textContent.includes("Price")`)
	return p
}

// ask writes a statement, runs it, and waits for what is on the page then.
func (p *tab) ask(sql, until string) {
	p.Helper()
	p.write(sql)
	p.run()
	p.until(until)
}

// TestCompletion: the editor offers the columns of the tables in FROM, dpsql's own statements and settings, and no keyword that dpsql refuses.
func TestCompletion(t *testing.T) {
	p := analystsPage(t)
	for _, c := range []struct {
		before, after string // the cursor is between them
		want          string
	}{
		{"SELECT med", " FROM encounters", "medications"},
		{"SELECT count(*) FROM encounters WHERE med", "", "medications"},
		{"SELECT gender, count(*) FROM encounters JOIN patients USING (patient_id) GROUP BY gen", "", "gender"},
		{"TRA", "", "TRAIN DP MODEL"}, {"EVAL", "", "EVALUATE DP MODEL"}, {"CREA", "", "CREATE DP WATCH"}, {"CREA", "", "CREATE DP CUBE"}, {"CREA", "", "CREATE DP SYNTHETIC TABLE"},
		{"SET dpsql.pri", "", "dpsql.price"}, {"SELECT * FROM enc", "", "encounters"}, {"SELECT dp_lo", "", "dp_low"}, {"SELECT percentile_d", "", "percentile_disc"}, {"SELECT dp_to", "", "dp_top_k"}, {"SEL", "", "SELECT"},
		{"SELECT med", "", "medications"}, {"INS", "", ""}, {"GRAN", "", ""}, {"TRUNCA", "", ""}, {"VACU", "", ""}, {"UPD", "", ""}, {"SELECT medic", " FROM patients", ""},
	} {
		p.write(c.before + c.after)
		for range c.after {
			p.do(chromedp.KeyEvent(kb.ArrowLeft))
		}
		p.do(chromedp.KeyEvent(" ", chromedp.KeyModifiers(2))) // Ctrl-Space
		const offered = `[...document.querySelectorAll(".cm-tooltip-autocomplete .cm-completionLabel")].map((l) => l.textContent)`
		if c.want != "" {
			p.until(offered + `.includes("` + c.want + `")`)
			continue
		}
		p.do(chromedp.Sleep(300 * time.Millisecond)) // until there would be some
		typed := strings.ToLower(c.before[strings.LastIndex(c.before, " ")+1:])
		for _, label := range value[[]string](p, offered) {
			if strings.HasPrefix(strings.ToLower(label), typed) {
				t.Errorf("%s: %s is offered", c.before, label)
			}
		}
	}
}

// enter presses Enter as a keyboard does: the browser types no line of its own where the page takes the key.
func (p *tab) enter() {
	p.Helper()
	key := input.DispatchKeyEvent(input.KeyDown).WithKey("Enter").WithCode("Enter").WithWindowsVirtualKeyCode(13)
	up := *key
	up.Type = input.KeyUp
	p.do(key.WithText("\r"), &up)
}

// TestEnter: Enter ends a line, whatever completions are listed. Tab takes the first of them, and Enter one that an arrow chose. A number and a text have none. A statement that is run closes the list.
func TestEnter(t *testing.T) {
	p := analystsPage(t)
	const list, text = `document.querySelector(".cm-tooltip-autocomplete")`, `[...document.querySelectorAll(".cm-line")].map((l) => l.textContent).join("\n")`
	typed := func(line string) {
		p.write("")
		p.do(chromedp.KeyEvent(line))
	}
	for _, line := range []string{"select 1 as n", "select 1 limit 1", "select null is null", "select 1 order by 1 asc", "select 1 in", "select 1 as m", "select count(*) c", "select 1 as days", "select gender"} {
		typed(line)
		if strings.HasSuffix(line, " 1") {
			p.do(chromedp.Sleep(300 * time.Millisecond)) // until there would be a list
		} else {
			p.until(list)
		}
		p.enter()
		if got := value[string](p, text); got != line+"\n" {
			t.Errorf("%q and Enter: %q", line, got)
		}
	}
	for _, line := range []string{"select 10", "select 'NO", "-- NO"} {
		typed(line)
		p.do(chromedp.Sleep(300 * time.Millisecond))
		if value[bool](p, "!!"+list) {
			t.Errorf("%s is completed: %s", line, value[string](p, list+".textContent"))
		}
	}
	for what, press := range map[string]func(){"Tab": func() { p.do(chromedp.KeyEvent(kb.Tab)) }, "an arrow and Enter": func() { p.do(chromedp.KeyEvent(kb.ArrowDown)); p.enter() }} {
		typed("select readm")
		p.until(list)
		p.do(chromedp.Sleep(100 * time.Millisecond)) // a list that has just come takes no key
		press()
		if got := value[string](p, text); got != "select readmitted" {
			t.Errorf("%s: %q", what, got)
		}
	}
	typed("select gend")
	p.until(list)
	p.do(chromedp.KeyEvent(kb.Enter, chromedp.KeyModifiers(2)))
	p.until(`document.querySelector(".error") && !` + list)
}

// TestSchemaFollows: a synthetic table that was made is in the schema at once. A narrow window has all of the tabs.
func TestSchemaFollows(t *testing.T) {
	p := analystsPage(t)
	p.ask("CREATE DP SYNTHETIC TABLE mine WITH (epsilon = 0.5) AS SELECT gender FROM patients", `[...document.querySelectorAll("aside summary")].some((s) => s.textContent.endsWith("mine"))`)
	p.do(emulation.SetDeviceMetricsOverride(420, 800, 1, false))
	p.until(`[...document.querySelectorAll("button")].every((b) => b.getBoundingClientRect().right <= innerWidth)`)
	_, owners := demo(t)
	o := open(t)
	o.do(emulation.SetDeviceMetricsOverride(420, 800, 1, false), chromedp.Navigate(owners))
	o.button("Open the owner's page")
	o.until(`document.querySelectorAll("[role=tab]").length == 5`)
	o.until(`[...document.querySelectorAll("[role=tab], header button")].every((b) => b.getBoundingClientRect().right <= innerWidth)`)
}

// TestCharts: a chart has marks of what is known alone, axes of what tells rows apart, and lines over time. Where there is none, the page says why.
func TestCharts(t *testing.T) {
	p := analystsPage(t)

	// Public numbers have no interval.
	p.ask("SELECT g, n FROM (VALUES ('a', 180), ('b', 90)) v(g, n)", `document.querySelectorAll(".chart svg .bar rect").length == 2`)
	if n := value[int](p, `document.querySelectorAll(".chart svg .interval line, .chart svg .interval path").length`); n != 0 {
		t.Errorf("%d intervals are drawn", n)
	}
	if text := value[string](p, `document.querySelector(".chart svg title").textContent + document.querySelector(".chart svg desc, .chart svg").getAttribute("aria-description")`); text != "a: 180The table has the same numbers." {
		t.Errorf("%q", text)
	}

	// An error is no axis, whatever its name, and neither is a constant.
	p.ask("SELECT gender, count(*) AS n, dp_error(count(*)) AS e, 5 AS k FROM patients GROUP BY 1", `document.querySelectorAll(".chart svg .bar rect").length == 2 && document.querySelector(".chart svg").getAttribute("aria-label") == "n by gender"`)
	if value[bool](p, `!!document.querySelector(".chart select, .actions select")`) {
		t.Error("an error is a value to draw")
	}

	// A time and one more key are lines over time, also of many rows.
	p.ask("SELECT '2020-01-01'::date + i AS d, g, i + 1.5 AS n FROM generate_series(0, 166) AS s(i) CROSS JOIN (VALUES ('a'), ('b')) v(g)", `document.querySelectorAll(".chart svg .line path").length == 2`)

	// The names of lines that end alike stand below each other.
	p.ask("SELECT '2020-01-01'::date + i AS d, g, 5 + i % 2 AS n FROM generate_series(0, 6) AS s(i) CROSS JOIN (VALUES ('a'), ('b'), ('c')) v(g)", `document.querySelectorAll(".chart svg .names text").length == 3`)
	p.checkTexts()

	// Where there is no chart, the page says why.
	p.ask("SELECT g, n FROM (VALUES ('a', NULL::int), ('b', NULL)) v(g, n)", `document.querySelector("td em") && document.querySelector("main").textContent.includes("There is no chart, as n is NULL in all rows.")`)
	p.ask("SELECT 'a' AS g", `document.querySelector("main").textContent.includes("There is no chart, as no column has numbers to draw.")`)
	p.ask("SELECT 'a' || i AS g, i AS n FROM generate_series(1, 300) AS s(i)", `document.querySelector("main").textContent.includes("There is no chart, as it would have 300 bars. It has 200 at most.")`)

	// Rows that nothing tells apart are no stacked bars.
	p.ask("SELECT count(*) FROM encounters GROUP BY readmitted", `document.querySelectorAll("tbody tr").length == 3 && document.querySelector("main").textContent.includes("There is no chart, as no column tells the rows apart.")`)

	// An interval that is not known is no exact number: the page says why.
	p.ask("SELECT 'patients' AS what, count(*) AS n FROM patients UNION ALL SELECT 'encounters', count(*) FROM encounters", `document.querySelectorAll(".chart svg .bar rect").length == 2 && document.querySelector("main").textContent.includes("The interval of n is not known: it is put together of several answers.")`)
	p.button("Table")
	p.until(`document.querySelector("td .interval")?.textContent == "interval not known: it is put together of several answers"`)
	p.button("Chart")

	// A median and a greatest value have their interval, and are no axis.
	p.ask("SELECT readmitted, count(*), percentile_cont(0.5) WITHIN GROUP (ORDER BY medications) AS med, max(medications) FROM encounters GROUP BY readmitted",
		`document.querySelectorAll(".chart svg .interval line").length == 3 && document.querySelector(".chart svg").getAttribute("aria-label") == "count by readmitted"`)
	for _, column := range []string{"2", "3"} {
		p.do(chromedp.SetValue(".actions select", column, chromedp.ByQuery), chromedp.Evaluate(`document.querySelector(".actions select").dispatchEvent(new Event("change", { bubbles: true }))`, nil))
		p.until(`document.querySelectorAll(".chart svg .interval line").length == 3 && document.querySelector(".chart svg").getAttribute("aria-label") == "` + map[string]string{"2": "med", "3": "max"}[column] + ` by readmitted"`)
	}

	// Labels that do not fit beside each other stand below each other, and the name of an axis is not cut.
	p.ask("SELECT 'a rather long label ' || i AS group_by, i AS n FROM generate_series(1, 40) AS s(i)", `document.querySelectorAll(".chart svg .bar rect").length == 40`)
	p.checkTexts()

	p.checkDrawn()

	// A chart is as wide as the window has room for.
	p.ask("SELECT g, n FROM (VALUES ('a', 180), ('b', 90)) v(g, n)", `document.querySelectorAll(".chart svg .bar rect").length == 2`)
	for _, width := range []int64{700, 1400} {
		p.do(emulation.SetDeviceMetricsOverride(width, 900, 1, false))
		p.until(`(() => { const place = document.querySelector(".chart"); return place.querySelector("svg").getAttribute("width") == String(place.clientWidth) })()`)
	}
	p.accessible("chart")
}

// checkTexts finds texts of the chart that are cut, or cover one another.
func (p *tab) checkTexts() {
	p.Helper()
	if over := value[[]string](p, `(() => {
		const svg = document.querySelector(".chart svg"), whole = svg.getBoundingClientRect();
		const texts = [...svg.querySelectorAll("text")].map((t) => [t.textContent, t.getBoundingClientRect()]);
		const out = texts.filter(([, r]) => r.left < whole.left || r.bottom > whole.bottom);
		const covered = texts.filter(([, a], i) => texts.some(([, b], k) => k != i && a.left < b.right - 1 && b.left < a.right - 1 && a.top < b.bottom - 3 && b.top < a.bottom - 3));
		return [...out, ...covered].map(([text]) => text);
	})()`); len(over) > 0 {
		p.Errorf("cut, or over others: %q", over)
	}
}

// checkDrawn draws rows whose intervals are given.
func (p *tab) checkDrawn() {
	p.Helper()
	const row = `const row = (x, y, low, high) => ({ values: [x, y], intervals: [undefined, low === undefined && high === undefined ? { of: 1, unknown: "x" } : { of: 1, low, high }] });
		const days = [row("2024-01-01", "5", 4, 6), row("2024-01-02", "5", 4, 6), row("2024-01-03", "5"), row("2024-01-04", "5", 5, 5), row("2024-01-05", "5", 5, 7), row("2024-01-06", "5"), row("2024-01-07", "5", 4, 6), row("2024-01-08", "5"), row("2024-01-09", "5", 4), row(null, "9", 8, 10)];`
	for _, c := range [][2]string{
		{`svg.querySelector(".ribbon path").getAttribute("d").split("M").length - 1`, "3"}, // two pieces, and one without a width
		{`svg.querySelectorAll(".interval > line").length`, "1"},
		{`svg.querySelectorAll(".open > line").length`, "1"},
		{`svg.querySelectorAll("circle").length`, "9"},
		{`[...svg.querySelectorAll("circle title")].map((t) => t.textContent).slice(1, 4).join("; ")`, "2024-01-02: 5 (4 to 6); 2024-01-03: 5 (interval not known); 2024-01-04: 5 (5 to 5)"},
		{`svg.querySelectorAll("circle")[8].textContent`, "2024-01-09: 5 (4 or more)"},
		{`svg.getAttribute("aria-description")`, "Values are drawn with their 95% interval where it is known. The table has the same numbers."},
	} {
		got := value[string](p, `(async () => {
			const { draw } = await import(performance.getEntriesByType("resource").map((r) => r.name).find((n) => n.includes("/chart-")));
			`+row+`
			const svg = draw([{ name: "d", kind: "time" }, { name: "n", kind: "number" }], days, 1, 800);
			return String(`+c[0]+`);
		})()`)
		if got != c[1] {
			p.Errorf("%s: %q, want %q", c[0], got, c[1])
		}
	}

	// Line and ribbon end where weeks are missing, if their groups may not have been released. A year has no comma.
	for _, c := range [][3]string{
		{"time", `["2024-01-01", "2024-01-08", "2024-01-22", "2024-01-29", "2024-03-04"].map((d) => row(d, "5", 4, 6))`, "3 pieces, 3 of the ribbon, 1 alone, 5 points"},
		{"time", `["2024-01-01", "2024-01-08", "2024-01-22", "2024-01-29", "2024-03-04"].map((d) => ({ values: [d, "5"], intervals: [] }))`, "1 pieces, 0 of the ribbon, 0 alone, 5 points"},
		{"number", `[...Array(30).keys()].map((i) => row(String(1950 + i), "5", 4, 6))`, "1 pieces, 1 of the ribbon, 0 alone, 30 points"},
	} {
		got := value[string](p, `(async () => {
			const { draw } = await import(performance.getEntriesByType("resource").map((r) => r.name).find((n) => n.includes("/chart-")));
			`+row+`
			const svg = draw([{ name: "d", kind: "`+c[0]+`" }, { name: "n", kind: "number" }], `+c[1]+`, 1, 800);
			const pieces = (of) => (svg.querySelector(of + " path")?.getAttribute("d") ?? "").split("M").length - 1;
			return pieces(".line") + " pieces, " + pieces(".ribbon") + " of the ribbon, " + svg.querySelectorAll(".interval > line").length + " alone, " + svg.querySelectorAll("circle").length + " points" + ([...svg.querySelectorAll("text")].some((t) => /[0-9],[0-9]/.test(t.textContent)) ? ", a comma" : "");
		})()`)
		if got != c[2] {
			p.Errorf("%s: %q, want %q", c[1], got, c[2])
		}
	}
}
