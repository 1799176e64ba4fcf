package browser

import (
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
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
		{"TRA", "", "TRAIN DP MODEL"}, {"EVAL", "", "EVALUATE DP MODEL"}, {"CREA", "", "CREATE DP WATCH"}, {"CREA", "", "CREATE DP SYNTHETIC TABLE"},
		{"SET dpsql.pri", "", "dpsql.price"}, {"SELECT * FROM enc", "", "encounters"}, {"SELECT dp_lo", "", "dp_low"}, {"SEL", "", "SELECT"},
		{"INS", "", ""}, {"GRAN", "", ""}, {"TRUNC", "", ""}, {"VACU", "", ""}, {"UPD", "", ""}, {"SELECT med", " FROM patients", ""},
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

	// Where there is no chart, the page says why.
	p.ask("SELECT g, n FROM (VALUES ('a', NULL::int), ('b', NULL)) v(g, n)", `document.querySelector("td em") && document.querySelector("main").textContent.includes("There is no chart, as n is NULL in all rows.")`)
	p.ask("SELECT 'a' AS g", `document.querySelector("main").textContent.includes("There is no chart, as no column has numbers to draw.")`)
	p.ask("SELECT 'a' || i AS g, i AS n FROM generate_series(1, 300) AS s(i)", `document.querySelector("main").textContent.includes("There is no chart, as it would have 300 bars. It has 200 at most.")`)

	// A chart is as wide as the window has room for.
	p.ask("SELECT g, n FROM (VALUES ('a', 180), ('b', 90)) v(g, n)", `document.querySelectorAll(".chart svg .bar rect").length == 2`)
	for _, width := range []int64{700, 1400} {
		p.do(emulation.SetDeviceMetricsOverride(width, 900, 1, false))
		p.until(`(() => { const place = document.querySelector(".chart"); return place.querySelector("svg").getAttribute("width") == String(place.clientWidth) })()`)
	}
	p.accessible("chart")
}
