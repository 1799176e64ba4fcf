package browser

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

var update = flag.Bool("update", false, "write the pictures of docs/console.md")

var running = flag.String("links", "", "links of a demo that runs already: the analyst's, and the owner's behind a comma")

const root = "../../.."

// slowTraining is a statement that takes long.
const slowTraining = "TRAIN DP MODEL slow USING mlp METHOD dp_sgd TARGET y WITH (epsilon = 0.5, max_rows_per_unit = 2, hidden = (64, 64), steps = 20000) AS SELECT days_in_hospital, medications, diagnoses, readmitted = '<30' AS y FROM encounters"

// binary builds dpsql.
func binary(t *testing.T) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "dpsql")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", program, "./cmd/dpsql")
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return program
}

// demo runs `dpsql demo` and gives the links that it prints: the analyst's and the owner's.
func demo(t *testing.T) (analyst, owner string) {
	t.Helper()
	if *running != "" {
		analyst, owner, _ = strings.Cut(*running, ",")
		return analyst, owner
	}
	cmd := exec.Command(binary(t), "demo")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(os.Interrupt)
		_ = cmd.Wait()
	})
	found := make(chan string, 2)
	go func() {
		for lines := bufio.NewScanner(out); lines.Scan(); {
			if m := regexp.MustCompile(`http://\S+#link=\S+`).FindString(lines.Text()); m != "" {
				found <- m
			}
		}
	}()
	for _, link := range []*string{&analyst, &owner} {
		select {
		case *link = <-found:
		case <-time.After(5 * time.Minute):
			t.Fatal("the demo prints no link")
		}
	}
	return analyst, owner
}

// tab is a page of the browser, and what it did.
type tab struct {
	*testing.T
	ctx context.Context

	mu     sync.Mutex // guards the rest, which the browser tells
	failed []string   // what its scripts and its Content-Security-Policy complained of
	asked  []string   // the addresses that it asked
}

// heard are what failed and the addresses that were asked until now.
func (p *tab) heard() (failed, asked []string) {
	p.Helper()
	value[bool](p, "true") // what the browser told before is heard
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.failed), slices.Clone(p.asked)
}

// forget forgets both.
func (p *tab) forget() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.failed, p.asked = nil, nil
}

func open(t *testing.T) *tab {
	t.Helper()
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.WindowSize(1280, 900))
	if os.Getuid() == 0 {
		options = append(options, chromedp.NoSandbox)
	}
	alloc, cancel := chromedp.NewExecAllocator(context.Background(), options...)
	t.Cleanup(cancel)
	ctx, cancel := chromedp.NewContext(alloc)
	t.Cleanup(cancel)
	p := &tab{T: t}
	chromedp.ListenTarget(ctx, func(ev any) {
		p.mu.Lock()
		defer p.mu.Unlock()
		switch ev := ev.(type) {
		case *log.EventEntryAdded:
			if ev.Entry.Source != log.SourceNetwork && (ev.Entry.Level == log.LevelError || ev.Entry.Level == log.LevelWarning) { // the network's are refusals, as of a wrong password
				p.failed = append(p.failed, fmt.Sprintf("%s: %s %s", ev.Entry.Source, ev.Entry.Text, ev.Entry.URL))
			}
		case *runtime.EventExceptionThrown:
			p.failed = append(p.failed, ev.ExceptionDetails.Error())
		case *runtime.EventConsoleAPICalled:
			if ev.Type == runtime.APITypeError {
				for _, a := range ev.Args {
					p.failed = append(p.failed, string(a.Value)+a.Description)
				}
			}
		case *network.EventRequestWillBeSent:
			p.asked = append(p.asked, ev.Request.URL)
		}
	})
	p.ctx = ctx
	if err := chromedp.Run(ctx); err != nil { // starts the browser, which would end with the time of an action
		t.Fatal(err)
	}
	p.do(network.Enable(), runtime.Enable(), log.Enable())
	t.Cleanup(p.clean)
	return p
}

// do acts on the page. An action that takes longer than a minute fails.
func (p *tab) do(actions ...chromedp.Action) {
	p.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, time.Minute)
	defer cancel()
	if err := chromedp.Run(ctx, actions...); err != nil {
		var text string
		_ = chromedp.Run(p.ctx, chromedp.Evaluate(`document.body.innerText`, &text))
		p.Fatalf("%v, on the page:\n%s", err, text)
	}
}

// value computes an expression in the page.
func value[T any](p *tab, expression string) (v T) {
	p.Helper()
	p.do(chromedp.Evaluate(expression, &v, func(e *runtime.EvaluateParams) *runtime.EvaluateParams { return e.WithAwaitPromise(true) }))
	return v
}

// until waits for an expression to be true.
func (p *tab) until(expression string) {
	p.Helper()
	p.do(chromedp.Poll("!!("+expression+")", nil, chromedp.WithPollingInterval(100*time.Millisecond)))
}

// button presses one by its text.
func (p *tab) button(text string) {
	p.Helper()
	p.do(chromedp.Click(fmt.Sprintf(`//button[normalize-space()=%q]`, text), chromedp.BySearch))
}

// write puts a statement in place of what is in the editor, as a keyboard does.
func (p *tab) write(sql string) {
	p.Helper()
	p.do(chromedp.Focus(".cm-content", chromedp.ByQuery), chromedp.KeyEvent("a", chromedp.KeyModifiers(2)), chromedp.KeyEvent(kb.Delete))
	p.do(chromedp.ActionFunc(func(ctx context.Context) error { return insert(ctx, sql) }))
	p.do(chromedp.KeyEvent(kb.Escape))
}

// run presses Run and waits for the end.
func (p *tab) run() {
	p.Helper()
	p.button("Run")
	p.until(`![...document.querySelectorAll("button")].find((b) => b.textContent == "Run").disabled`)
}

// picture keeps the window as a picture of the documentation.
func (p *tab) picture(name string) {
	p.Helper()
	var png []byte
	p.do(chromedp.CaptureScreenshot(&png))
	path := filepath.Join(root, "docs", "console", name)
	if !*update {
		path = filepath.Join(os.TempDir(), "dpsql-console-"+name)
	}
	if err := os.WriteFile(path, png, 0o644); err != nil {
		p.Fatal(err)
	}
}

// keepSaved keeps what the page saves in window.saved, and the browser from saving it.
func (p *tab) keepSaved() {
	p.Helper()
	p.do(browser.SetDownloadBehavior(browser.SetDownloadBehaviorBehaviorDeny))
	p.do(chromedp.Evaluate(`window.saved = []; const make = URL.createObjectURL; URL.createObjectURL = (b) => (b.text().then((t) => window.saved.push(t)), make.call(URL, b)); true`, nil))
}

// accessible finds nothing that axe objects to.
func (p *tab) accessible(where string) {
	p.Helper()
	axe, err := os.ReadFile("../web/node_modules/axe-core/axe.min.js")
	if err != nil {
		p.Fatal(err)
	}
	p.do(chromedp.Evaluate(string(axe), nil))
	for _, v := range value[[]string](p, `axe.run().then((r) => r.violations.flatMap((v) => v.nodes.map((n) => v.id + ": " + n.html + " " + n.failureSummary)))`) {
		p.Errorf("%s: %s", where, v)
	}
}

// TestConsole: somebody opens the demo's link, sees the price while typing, and gets a chart and a table with intervals, without a word of help.
func TestConsole(t *testing.T) {
	link, _ := demo(t)
	p := open(t)

	// A link asks before it logs in.
	p.do(chromedp.Navigate(link))
	p.until(`document.querySelector(".login")?.textContent.includes("This link logs you in to demo. The user is analyst.")`)
	p.accessible("link")
	if _, asked := p.heard(); slices.ContainsFunc(asked, func(a string) bool { return strings.HasSuffix(a, "/api/login") }) {
		t.Error("the link logged in by itself")
	}
	p.button("Log in as analyst")

	// The page begins with a statement and its price.
	p.until(`document.querySelector(".price dl")?.textContent.includes("Price")`)
	if left := value[string](p, `document.getElementById("left").textContent`); !strings.Contains(left, "left: ") {
		t.Errorf("left: %q", left)
	}
	example := value[string](p, `[...document.querySelectorAll(".cm-line")].map((l) => l.textContent).join("\n")`)
	p.write("SELECT readmitted, count(*), avg(medications)\nFROM encounters\nWHERE days_in_hospital > 7\nGROUP BY readmitted")
	p.until(`/Price0\.5/.test(document.querySelector(".price dl")?.textContent)`)
	p.picture("price.png")
	p.run()
	p.until(`document.querySelectorAll(".chart svg .bar rect").length == 3`)
	p.accessible("chart, light")
	p.picture("chart.png")
	p.button("Table")
	p.until(`/[0-9] to [0-9]/.test(document.querySelector("td .interval")?.textContent)`)
	p.accessible("table, light")
	p.do(emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: "dark"}}))
	p.accessible("table, dark")
	p.picture("dark.png")
	p.button("Chart")
	p.until(`document.querySelectorAll(".chart svg .bar rect").length == 3`)
	p.accessible("chart, dark")
	p.do(emulation.SetEmulatedMedia())
	p.write(example)
	p.until(`document.querySelector("main").textContent.includes("what was in the editor before")`)
	p.run()
	p.until(`document.querySelectorAll(".chart svg .bar rect").length == 10 && document.querySelectorAll(".chart svg .interval line, .chart svg .interval path").length >= 10`)
	if value[bool](p, `document.querySelector("main").textContent.includes("what was in the editor before")`) {
		t.Error("the answer is called old")
	}

	// The price follows what is typed, and so do mistakes.
	p.write("SET dpsql.price = 1")
	p.until(`document.querySelector(".price").textContent.includes("A price is shown for")`)
	p.do(chromedp.KeyEvent(kb.Enter, chromedp.KeyModifiers(2))) // Ctrl-Enter
	p.until(`document.querySelector("main").textContent.includes("SET")`)
	p.write("SELECT gender, count(*) FROM patients GROUP BY 1")
	p.until(`/Price1,/.test(document.querySelector(".price dl")?.textContent)`)
	p.write("SELECT gendr FROM patients")
	p.until(`document.querySelector(".price").textContent.includes("gender") && document.querySelector(".cm-lintRange-error")`)
	p.run()
	p.until(`document.querySelector(".error") && !document.querySelector(".error").textContent.includes("what was in the editor before")`)
	p.write("SELECT gender FROM")
	p.until(`document.querySelector(".error").textContent.includes("This is the error of what was in the editor before.")`)

	// The keyboard alone is enough.
	p.do(chromedp.Focus(".cm-content", chromedp.ByQuery), chromedp.KeyEvent(kb.Tab))
	if on := value[string](p, `document.activeElement.textContent`); on != "Run" {
		t.Errorf("Tab in the editor leads to %q", on)
	}
	p.do(chromedp.Focus("#tab-schema", chromedp.ByQuery), chromedp.KeyEvent(kb.ArrowRight))
	if on := value[string](p, `document.activeElement.textContent + document.activeElement.ariaSelected`); on != "My statementstrue" {
		t.Errorf("the arrow leads to %q", on)
	}

	// Many numbers are a line with a ribbon; two groupings are charts below each other.
	p.write("SELECT lab_procedures, count(*) FROM encounters GROUP BY 1 ORDER BY 1")
	p.run()
	p.until(`document.querySelectorAll(".chart svg .ribbon path").length == 1`)
	p.write("SELECT d::timestamptz AS d, n FROM (VALUES ('2020-01-01', 1.5), ('2020-02-01 12:00', 3), ('infinity', 4), (NULL, 5)) v(d, n)")
	p.run()
	p.until(`document.querySelectorAll(".chart svg circle").length == 2 && /Jan|2020/.test(document.querySelector(".chart svg").textContent)`)
	p.write("SELECT gender, readmitted, count(*) FROM encounters JOIN patients USING (patient_id) GROUP BY 1, 2")
	p.run()
	p.until(`document.querySelectorAll(".chart svg .bar rect").length == 6`)

	// What was asked is listed.
	p.button("My statements")
	p.until(`/free again until/.test(document.querySelector("aside").textContent)`)
	p.accessible("statements")

	// A long statement says how far it is, and is cancelled.
	p.write(slowTraining)
	p.button("Run")
	p.until(`/^[0-9]+ s: /.test([...document.querySelectorAll("[role=status]")].at(-1).textContent) || document.querySelector(".error")`)
	p.write(`SELECT count(*) FROM patients WHERE patient_id > 17`) // its price is not that of what runs, nor the other way round
	p.until(`document.querySelector(".price").textContent.includes("follows when the running statement ends")`)
	p.button("Cancel")
	p.until(`document.querySelector(".error")?.textContent.includes("canceling statement due to user request")`)

	// Nothing of a statement or its answer becomes a script, a tag or a formula.
	p.keepSaved()
	p.write(`SELECT '<img src=x onerror="window.pwned=1">' AS "<script>window.pwned=1</script>", '=1+1' AS "=2+2", 'a;=1', 'b;c";-2' AS "x;@y", 5 AS n`)
	p.run()
	p.until(`document.querySelector("td")?.textContent.includes("<img")`) // constants have no chart
	p.button("Save as CSV")
	p.until(`window.saved.length == 1`)
	want := "<script>window.pwned=1</script>,'=2+2,?column?,\"x;'@y\",n\r\n\"<img src=x onerror=\"\"window.pwned=1\"\">\",'=1+1,\"a;'=1\",\"b;c\"\";'-2\",5\r\n"
	if got := value[string](p, `window.saved[0]`); got != want {
		t.Errorf("CSV: %q", got)
	}
	if value[bool](p, `"pwned" in window || !!document.querySelector("td img, th script")`) {
		t.Error("text of a statement became a part of the page")
	}

	// CSV has the intervals; a chart is a file of its own.
	p.write("SELECT gender, count(*) FROM patients GROUP BY 1")
	p.run()
	p.button("Save as CSV")
	p.until(`window.saved.length == 2`)
	if got := value[string](p, `window.saved[1]`); !regexp.MustCompile(`^gender,count,count_low,count_high\r\nFemale,[0-9]+,[0-9.]+,[0-9.]+\r\n`).MatchString(got) {
		t.Errorf("CSV: %q", got)
	}
	p.button("Chart")
	p.until(`document.querySelectorAll(".chart svg .bar rect").length == 2`)
	p.button("Save as SVG")
	p.until(`window.saved.length == 3`)
	if got := value[string](p, `window.saved[2]`); !strings.HasPrefix(got, "<svg") || strings.Contains(got, "var(--accent") {
		t.Errorf("SVG: %.100q", got)
	}

	// A session that ended leaves what was being written.
	p.write("SELECT 42 AS kept")
	p.do(network.ClearBrowserCookies())
	p.button("Run")
	p.until(`document.querySelector(".login")?.textContent.includes("this session has ended. Log in again.")`)
	p.do(chromedp.SendKeys(`input[name=user]`, "analyst", chromedp.ByQuery), chromedp.SendKeys(`input[name=password]`, "demo"+kb.Enter, chromedp.ByQuery))
	p.until(`document.querySelector(".cm-content")?.textContent == "SELECT 42 AS kept"`)

	// So does a page that is loaded again.
	p.do(chromedp.Reload())
	p.until(`document.querySelector(".login")`)
	if value[bool](p, `document.querySelector(".login").textContent.includes("Log in as analyst")`) {
		p.button("Log in as analyst")
	} else {
		p.do(chromedp.SendKeys(`input[name=user]`, "analyst", chromedp.ByQuery), chromedp.SendKeys(`input[name=password]`, "demo"+kb.Enter, chromedp.ByQuery))
	}
	p.until(`document.querySelector(".cm-content")?.textContent == "SELECT 42 AS kept"`)

	// Who logs out is out; an analyst without budget is told.
	p.button("Log out")
	p.do(chromedp.WaitVisible(`input[name=user]`, chromedp.ByQuery))
	p.accessible("log-in")
	p.do(chromedp.SendKeys(`input[name=user]`, "guest", chromedp.ByQuery), chromedp.SendKeys(`input[name=password]`, "wrong"+kb.Enter, chromedp.ByQuery))
	p.until(`document.querySelector(".error")?.textContent.includes("password authentication failed")`)
	p.do(chromedp.SetValue(`input[name=password]`, "demo", chromedp.ByQuery), chromedp.SendKeys(`input[name=password]`, kb.Enter, chromedp.ByQuery))
	p.until(`document.querySelector(".price dl")?.textContent.includes("Price")`)
	if value[bool](p, `document.querySelector(".cm-content").textContent.includes("kept")`) {
		t.Error("another analyst sees what was written")
	}
	p.write("SELECT race, count(*) FROM patients WHERE gender = 'Male' GROUP BY 1")
	p.run()
	p.until(`document.querySelector(".error")?.textContent.includes("budget")`)
}

// clean: all came from the server of the first page, and the browser had nothing to forbid or to complain of.
func (p *tab) clean() {
	if p.Failed() {
		return
	}
	failed, asked := p.heard()
	host := ""
	for _, a := range asked {
		u, err := url.Parse(a)
		if err == nil && host == "" {
			host = u.Host
		}
		if err != nil || u.Host != host && u.Scheme != "data" && u.Scheme != "blob" {
			p.Errorf("the page asked %s", a)
		}
	}
	for _, f := range failed {
		p.Errorf("in the page: %s", f)
	}
}

// TestForbidden: the browser refuses what a script, style or text of a stranger could do in the page, and each test hears of it.
func TestForbidden(t *testing.T) {
	p := analystsPage(t)
	for what, script := range map[string]string{
		"script-src":      `document.head.append(Object.assign(document.createElement("script"), { textContent: "window.pwned = 1" }))`,
		"script-src-elem": `document.head.append(Object.assign(document.createElement("script"), { src: "http://127.0.0.2:1/x.js" }))`,
		"script-src-attr": `document.body.insertAdjacentHTML("beforeend", "<p onclick='window.pwned = 1'>x</p>"), document.body.lastChild.click()`,
		"style-src":       `document.head.append(Object.assign(document.createElement("link"), { rel: "stylesheet", href: "http://127.0.0.2:1/x.css" }))`,
		"img-src":         `document.body.append(Object.assign(document.createElement("img"), { src: "http://127.0.0.2:1/x.png" }))`,
		"connect-src":     `fetch("http://127.0.0.2:1/x").catch(() => {})`,
		"font-src":        `new FontFace("x", "url(http://127.0.0.2:1/x.woff)").load().catch(() => {})`,
		"frame-src":       `document.body.append(Object.assign(document.createElement("iframe"), { src: "http://127.0.0.2:1/" }))`,
		"base-uri":        `document.head.append(Object.assign(document.createElement("base"), { href: "http://127.0.0.2:1/" }))`,
		"form-action":     `(() => { const f = Object.assign(document.createElement("form"), { action: "http://127.0.0.2:1/" }); document.body.append(f); f.submit() })()`,
	} {
		p.forget()
		p.do(chromedp.Evaluate(script+"; true", nil))
		forbidden := func() bool {
			failed, _ := p.heard()
			return slices.ContainsFunc(failed, func(f string) bool {
				return strings.HasPrefix(f, "security: ") && strings.Contains(f, "Content Security Policy")
			})
		}
		for end := time.Now().Add(10 * time.Second); !forbidden() && time.Now().Before(end); {
			p.do(chromedp.Sleep(20 * time.Millisecond))
		}
		if !forbidden() {
			t.Errorf("%s is not heard of", what)
		}
	}
	if value[bool](p, `"pwned" in window`) {
		t.Error("a stranger's script runs")
	}
	p.do(chromedp.Evaluate(`setTimeout(() => { throw new Error("thrown") }), console.error("said"); true`, nil), chromedp.Sleep(100*time.Millisecond))
	if failed, _ := p.heard(); !strings.Contains(fmt.Sprint(failed), "thrown") || !strings.Contains(fmt.Sprint(failed), "said") {
		t.Errorf("heard: %q", failed)
	}
	p.forget()
}

// tab chooses a tab of the owner's page, and waits for what is on it.
func (p *tab) tab(name, until string) {
	p.Helper()
	p.button(name)
	p.until(`document.querySelector("[role=tab][aria-selected=true]").textContent == "` + name + `" && (` + until + `)`)
	p.accessible(name)
}

// TestOwner: the data's owner sees what was spent over time and by which statements, and stops an analyst and lets the analyst go on.
func TestOwner(t *testing.T) {
	link, ownersLink := demo(t)
	analyst, p := open(t), open(t)
	analyst.do(chromedp.Navigate(link))
	analyst.button("Log in as analyst")
	analyst.until(`document.querySelector(".price dl")?.textContent.includes("Price")`)

	p.do(chromedp.Navigate(ownersLink))
	p.until(`document.querySelector(".login")?.textContent.includes("This link opens the owner's page of demo.")`)
	p.do(chromedp.KeyEvent(kb.Enter)) // the button has the focus
	p.until(`document.getElementById("health")?.textContent == "Health: ok" && document.querySelectorAll(".chart svg .spent path").length >= 2 && document.querySelector(".facts").textContent.includes("ends about 20")`)
	p.accessible("budget, light")
	if heads := value[[]string](p, `[...document.querySelectorAll("[aria-label=Accounts] th")].filter((h, i, all) => all.some((o, k) => k < i && o.textContent == h.textContent) || h.textContent == "failures" && h.getBoundingClientRect().right > innerWidth).map((h) => h.textContent)`); len(heads) > 0 {
		t.Errorf("columns of one name, or outside of the window: %q", heads)
	}
	p.picture("owner.png")
	p.do(emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: "dark"}}))
	p.accessible("budget, dark")
	p.do(emulation.SetEmulatedMedia())

	// Freezing asks, and Escape is no.
	p.button("Freeze analyst")
	p.until(`document.querySelector("dialog[open]")?.textContent.includes("Freeze analyst?")`)
	p.accessible("dialog")
	p.do(chromedp.KeyEvent(kb.Escape))
	p.until(`!document.querySelector("dialog")`)
	if on := value[string](p, `document.activeElement.textContent`); on != "Freeze analyst" {
		t.Errorf("behind the dialog the focus is on %q", on)
	}
	p.button("Freeze analyst")
	p.until(`document.querySelector("dialog[open]")`)
	p.do(chromedp.KeyEvent(kb.Tab), chromedp.KeyEvent(kb.Enter)) // from Cancel, which has the focus
	p.until(`document.querySelector("ul.error")?.textContent.includes("frozen: analyst") && document.querySelector("main").textContent.includes("Unfreeze analyst")`)
	p.accessible("frozen")
	analyst.button("Run")
	analyst.until(`document.querySelector(".login")?.textContent.includes("the owner of the data has frozen your account. Ask the owner.")`)
	p.button("Unfreeze analyst")
	p.until(`document.querySelector("dialog[open]")?.textContent.includes("also if failures stopped them")`)
	p.do(chromedp.Click(`//dialog//button[normalize-space()="Unfreeze analyst"]`, chromedp.BySearch))
	p.until(`!document.querySelector("ul.error") && !document.querySelector("dialog")`)
	analyst.do(chromedp.SendKeys(`input[name=user]`, "analyst", chromedp.ByQuery), chromedp.SendKeys(`input[name=password]`, "demo"+kb.Enter, chromedp.ByQuery))
	analyst.until(`document.querySelector(".price dl")?.textContent.includes("Price")`)
	const hostile = `SELECT gender, count(*) AS "<img src=x onerror=window.pwned=1>" FROM patients JOIN encounters USING (patient_id) WHERE medications > 41 GROUP BY gender`
	analyst.write("SELECT count(*) AS long FROM patients WHERE patient_id > 0" + strings.Repeat("\nAND patient_id > 0", 40))
	analyst.run()
	analyst.write(hostile)
	analyst.run()

	// The keyboard goes through the tabs. The ledger has the statements, which are text.
	p.do(chromedp.Focus("#tab-0", chromedp.ByQuery), chromedp.KeyEvent(kb.ArrowRight))
	if on := value[string](p, `document.activeElement.textContent + document.activeElement.ariaSelected`); on != "Ledgertrue" {
		t.Errorf("the arrow leads to %q", on)
	}
	p.until(`document.querySelector(".owner pre")?.textContent.includes("onerror")`)
	p.accessible("ledger")
	if height := value[float64](p, `document.querySelector(".owner pre[role=region]").getBoundingClientRect().height`); height > 400 {
		t.Errorf("a statement is %v pixels high", height)
	}
	rows := value[int](p, `document.querySelectorAll(".owner tbody tr").length`)
	p.do(chromedp.SetValue(`input[name=text]`, "ONERROR", chromedp.ByQuery))
	p.button("Show")
	p.until(`document.querySelectorAll(".owner tbody tr").length == 1`)
	p.do(chromedp.Evaluate(`document.querySelector("input[name=text]").value = ""`, nil), chromedp.SetValue(`select[name=analyst]`, "guest", chromedp.ByQuery))
	p.button("Show")
	p.until(`document.querySelector("main").textContent.includes("No charge is of such a statement.")`)
	p.do(chromedp.SetValue(`select[name=analyst]`, "analyst", chromedp.ByQuery))
	p.button("Show")
	p.until(fmt.Sprintf(`document.querySelectorAll(".owner tbody tr").length == %d`, rows))
	if rows < 5 {
		t.Errorf("%d charges", rows)
	}
	if value[bool](p, `"pwned" in window || !!document.querySelector("main img")`) {
		t.Error("an analyst's statement became a part of the page")
	}
	p.tab("Releases", `document.querySelectorAll(".owner tbody tr").length > 3`)
	p.do(chromedp.Click(".owner tbody tr:last-child button", chromedp.ByQuery))
	p.until(`document.querySelectorAll(".owner tbody tr").length == 1 && document.querySelector(".owner pre").textContent.includes("onerror")`)
	p.tab("Analysts", `document.querySelector(".owner tbody")?.textContent.includes("encounters")`)

	// What runs is listed, and then that it was canceled.
	analyst.write(slowTraining)
	analyst.button("Run")
	analyst.until(`/^[0-9]+ s: .*charged: /.test([...document.querySelectorAll("[role=status]")].at(-1).textContent) || document.querySelector(".error")`) // a cancel before the charge is not listed
	p.tab("Running and failed", `document.querySelector("[aria-label='Running statements']")?.textContent.includes("TRAIN DP MODEL slow")`)
	analyst.button("Cancel")
	analyst.until(`document.querySelector(".error")?.textContent.includes("canceling statement due to user request")`)
	p.button("Refresh")
	p.until(`!document.querySelector("[aria-label='Running statements']") && document.querySelector("[aria-label=Failures]").textContent.includes("canceled")`)

	p.button("Log out")
	p.do(chromedp.WaitVisible(`input[name=user]`, chromedp.ByQuery))
}

// insert types a text at once, without the editor's help with brackets.
func insert(ctx context.Context, text string) error { return input.InsertText(text).Do(ctx) }
