package browser

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// window is a size and colours that a user may have.
func (p *tab) window(width int64, colours string) {
	p.Helper()
	p.do(emulation.SetDeviceMetricsOverride(width, 900, 1, false), emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: colours}}))
}

// tabTo presses Tab until the focus is on what has the text, and sees that the focus is drawn.
func (p *tab) tabTo(text string) {
	p.Helper()
	for range 80 {
		p.do(chromedp.KeyEvent(kb.Tab))
		if value[string](p, `document.activeElement.textContent || document.activeElement.name || ""`) == text {
			if outline := value[string](p, `getComputedStyle(document.activeElement).outlineStyle`); outline == "none" {
				p.Errorf("the focus on %s is not seen", text)
			}
			return
		}
	}
	p.Fatalf("Tab does not lead to %s", text)
}

// press presses the key by which buttons are pressed.
func (p *tab) press(text string) {
	p.Helper()
	p.tabTo(text)
	p.do(chromedp.KeyEvent(kb.Enter))
}

// fits says whether nothing is beyond the window's edge, and axe finds nothing.
func (p *tab) fits(where string) {
	p.Helper()
	if beyond := value[[]string](p, `[...document.querySelectorAll("body *")].filter((e) => !e.closest(".rows, .cm-scroller, .away, aside ul, svg") && e.getBoundingClientRect().right > innerWidth + 1).map((e) => e.outerHTML.slice(0, 100))`); len(beyond) > 0 {
		p.Errorf("%s: beyond the edge: %q", where, beyond)
	}
	if value[bool](p, `document.documentElement.scrollWidth > innerWidth`) {
		p.Errorf("%s: the page scrolls sideways", where)
	}
	p.accessible(where)
}

// TestKeyboard: an analyst and the owner do all that there is without a mouse, in a narrow and a wide window, in the light and in the dark.
func TestKeyboard(t *testing.T) {
	link, ownersLink := demo(t)
	for i, w := range []struct {
		width   int64
		colours string
	}{{420, "dark"}, {1280, "light"}} {
		at := fmt.Sprintf("%d, %s: ", w.width, w.colours)
		p := open(t)
		p.window(w.width, w.colours)
		p.do(chromedp.Navigate(link))
		p.until(`document.activeElement.textContent == "Log in as analyst"`)
		p.fits(at + "link")
		p.do(chromedp.KeyEvent(kb.Enter))
		p.until(`document.querySelector(".price dl")?.textContent.includes("Price") && document.activeElement.matches(".cm-content")`)
		p.fits(at + "price")
		p.keepSaved()
		p.do(chromedp.KeyEvent("a", chromedp.KeyModifiers(2)), chromedp.KeyEvent(fmt.Sprintf("SELECT gender, count(*) FROM patients WHERE patient_id > %d GROUP BY gender", i)), chromedp.KeyEvent(kb.Escape))
		p.until(`/Price0\.5/.test(document.querySelector(".price dl")?.textContent)`)
		p.press("Run")
		p.until(`document.querySelectorAll(".chart svg .bar rect").length == 2 && document.querySelectorAll(".chart svg .interval line, .chart svg .interval path").length >= 2`)
		p.fits(at + "chart")
		p.press("Save as SVG")
		p.until(`window.saved.length == 1 && window.saved[0].startsWith("<svg")`)
		p.tabTo("Log out") // and around
		p.press("Table")
		p.until(`/[0-9] to [0-9]/.test(document.querySelector("td .interval")?.textContent)`)
		p.fits(at + "table")
		p.press("Save as CSV")
		p.until(`window.saved.length == 2 && window.saved[1].startsWith("gender,count,count_low,count_high")`)
		if i == 1 {
			p.do(chromedp.Focus(".cm-content", chromedp.ByQuery), chromedp.KeyEvent("a", chromedp.KeyModifiers(2)))
			p.do(chromedp.ActionFunc(func(ctx context.Context) error { return insert(ctx, slowTraining) }), chromedp.KeyEvent(kb.Escape))
			p.press("Run")
			p.until(`/^[0-9]+ s: /.test([...document.querySelectorAll("[role=status]")].at(-1).textContent)`)
			p.press("Cancel")
			p.until(`document.querySelector(".error")?.textContent.includes("canceling statement due to user request")`)
		}
		p.tabTo("Schema")
		p.do(chromedp.KeyEvent(kb.ArrowRight))
		p.until(`document.querySelector("aside").textContent.includes("free again until")`)
		p.fits(at + "statements")
		p.press("Log out")
		p.do(chromedp.WaitVisible(`input[name=user]`, chromedp.ByQuery))
		p.until(`document.activeElement.name == "user"`)

		p.do(chromedp.Navigate(ownersLink), chromedp.Reload())
		p.until(`document.activeElement.textContent == "Open the owner's page"`)
		p.do(chromedp.KeyEvent(kb.Enter))
		p.until(`document.querySelectorAll(".chart svg .spent path").length >= 2`)
		p.fits(at + "budget")
		if value[bool](p, `(() => { const at = [...document.querySelectorAll(".chart svg [aria-label='x-axis tick label'] text, .chart svg text")].filter((e) => /^[0-9:]{5,8}$/.test(e.textContent)).map((e) => e.getBoundingClientRect()); return at.some((a, i) => i > 0 && a.left < at[i - 1].right) })()`) {
			t.Error(at + "the times of the chart run into each other")
		}
		for _, verb := range []string{"Freeze", "Unfreeze"} {
			p.press(verb + " guest")
			p.until(`document.querySelector("dialog[open]")`)
			if verb == "Freeze" && !value[bool](p, `document.querySelector("dialog").textContent.includes("Stored answers, models and synthetic tables are withheld too")`) {
				t.Error("the dialog does not say what is withheld")
			}
			p.fits(at + verb)
			p.do(chromedp.KeyEvent(kb.Tab), chromedp.KeyEvent(kb.Enter))
			p.until(fmt.Sprintf(`!document.querySelector("dialog") && !!document.querySelector("ul.error") == %v`, verb == "Freeze"))
			p.until(`/guest$/.test(document.activeElement.textContent)`) // the button that lifts it, or freezes again
		}
		p.do(chromedp.Focus("#tab-0", chromedp.ByQuery))
		for _, tab := range []string{"Ledger", "Releases", "Analysts", "Running and failed"} {
			p.do(chromedp.KeyEvent(kb.ArrowRight))
			p.until(`document.activeElement.textContent == "` + tab + `" && !!document.querySelector(".owner tbody, .owner [role=tabpanel] .said")`)
			p.fits(at + tab)
		}
		p.press("Log out")
		p.do(chromedp.WaitVisible(`input[name=user]`, chromedp.ByQuery))
	}
}

// TestDomain: of a column with many values the schema names some, and all can be read and searched. Names are quoted where they are keywords.
func TestDomain(t *testing.T) {
	dir := t.TempDir()
	var rows, values strings.Builder
	for i := range 300 {
		fmt.Fprintf(&rows, "%d,Ward %03d,%d\n", i, i, i%3)
		fmt.Fprintf(&values, "Ward %03d, ", i)
	}
	var ports [2]string
	for i := range ports {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		ports[i] = l.Addr().String()
		_ = l.Close()
	}
	for name, text := range map[string]string{"user.csv": "id,ward,order\n" + rows.String(), "policy.yaml": fmt.Sprintf(`dataset: wide
backend: {files: .}
listen: %s
console: {listen: %s}
unit: user.id
population: 300
tables:
  user: {columns: {id: {type: integer}, ward: {type: text, values: [%s null]}, order: {type: integer, values: [0, 1, 2]}}}
budget: {epsilon: 20, delta: 1e-6}
analysts:
  ann: {password: "SCRAM-SHA-256$4096:DgX+oQcXvunfkydyEfIa3A==$eNMjQFPtkxAePFg3vaSOkrE8ebA/25yf6NI6MQOQgRc=:K0lzO+H2O7cYX6YFqpCfZ6tZ2MVpsM8Kcit1bQzRGwA=", may: [user]}
`, ports[0], ports[1], values.String())} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	program := binary(t)
	command := func(args ...string) *exec.Cmd {
		cmd := exec.Command(program, args...)
		cmd.Dir = dir
		return cmd
	}
	serve := command("serve", "--config", "policy.yaml")
	if err := serve.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = serve.Process.Signal(os.Interrupt)
		_ = serve.Wait()
	})
	var link []byte
	for end := time.Now().Add(time.Minute); ; time.Sleep(200 * time.Millisecond) {
		var err error
		if link, err = command("console", "link", "--config", "policy.yaml", "--user", "ann").CombinedOutput(); err == nil {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("%v %s", err, link)
		}
	}
	p := open(t)
	p.do(chromedp.Navigate(strings.TrimSpace(string(link))))
	p.button("Log in as ann")

	// The first statement works, also where names are keywords, and so does a name that is clicked.
	p.until(`document.querySelector(".cm-content")?.textContent == 'SELECT "order", count(*)FROM "user"GROUP BY "order"' && document.querySelector(".price dl").textContent.includes("Price")`)
	p.write("SELECT count(*) FROM \"user\" WHERE 1 = ")
	p.do(chromedp.Click(`//aside//button[normalize-space()="order"]`, chromedp.BySearch))
	p.until(`document.querySelector(".cm-content").textContent == 'SELECT count(*) FROM "user" WHERE 1 = "order"' && document.querySelector(".price dl")?.textContent.includes("Price")`)
	const listed = `document.querySelectorAll("aside [aria-label='Values of ward'] button")`
	p.until(`document.querySelector("aside")?.textContent.includes("Ward 019 and 281 more")`)
	p.do(chromedp.Click(`//summary[normalize-space()="All 301 values"]`, chromedp.BySearch))
	p.until(listed + `.length == 100`)
	p.accessible("values")
	p.button("More values")
	p.until(listed + `.length == 200`)
	p.do(chromedp.SendKeys("aside input", "ward 29", chromedp.ByQuery))
	p.until(listed + `.length == 10 && ` + listed + `[0].textContent == "Ward 290"`)
	p.write("SELECT count(*) FROM \"user\" WHERE ward = ")
	p.do(chromedp.Click("aside [aria-label='Values of ward'] button", chromedp.ByQuery))
	p.until(`document.querySelector(".cm-content").textContent == "SELECT count(*) FROM \"user\" WHERE ward = 'Ward 290'" && document.querySelector(".price dl")?.textContent.includes("Price")`)
}
