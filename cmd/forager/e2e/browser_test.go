//go:build browser

package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"forager/internal/platform/analytics"
	"forager/schemas"
)

// browser starts the Chromium that make test-browser unpacks. What pages report as errors (exceptions, refusals of their policy) is added
// to faults.
func browser(t *testing.T, faults *[]string) context.Context {
	t.Helper()
	dir, err := filepath.Abs("../../../build/chromium")
	if err != nil {
		t.Fatal(err)
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(filepath.Join(dir, "chromium")), chromedp.NoSandbox, chromedp.DisableGPU,
		chromedp.Flag("disable-dev-shm-usage", true), chromedp.Flag("disable-component-update", true),
		chromedp.WSURLReadTimeout(time.Minute), chromedp.CombinedOutput(&lines{t: t}), chromedp.Env("LD_LIBRARY_PATH="+filepath.Join(dir, "lib")+":"+dir, "FONTCONFIG_FILE="+filepath.Join(dir, "fonts.conf")))
	ctx, cancel := chromedp.NewExecAllocator(t.Context(), options...)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx)
	t.Cleanup(cancel)
	ctx, cancel = context.WithTimeout(ctx, 10*time.Minute)
	t.Cleanup(cancel)
	chromedp.ListenTarget(ctx, func(event any) {
		switch e := event.(type) {
		case *runtime.EventExceptionThrown:
			*faults = append(*faults, e.ExceptionDetails.Error())
		case *log.EventEntryAdded:
			if e.Entry.Level == log.LevelError {
				*faults = append(*faults, e.Entry.Text+" "+e.Entry.URL)
			}
		}
	})
	return ctx
}

// TestBrowser opens every view in a Chromium, in the widths of a desk and a telephone, light and dark: nothing is wider than the window,
// axe-core finds nothing serious, the actions do what their labels name, no script of a crawled page runs. Screenshots are written to build/browser.
func TestBrowser(t *testing.T) {
	r := watched(t)
	o := r.operator()
	var faults []string
	ctx := browser(t, &faults)
	axe, err := os.ReadFile("../../../infra/browser/node_modules/axe-core/axe.min.js")
	if err != nil {
		t.Fatal(err)
	}
	shots := "../../../build/browser"
	if err := os.MkdirAll(shots, 0o755); err != nil {
		t.Fatal(err)
	}
	// It is paused while the views are drawn, or it ends before it is steered on a fast machine.
	r.until("steered", "under way", time.Minute, func(st *schemas.CrawlStatus) bool { return st.GetPages() > 300 })
	r.mustRun("crawl", "pause", "steered")
	r.fakes("steered", "broken at 17", "other")
	o.class("broken at #", 1)
	page := url.QueryEscape(ask[listed[analytics.SeenPage]](o, "/api/v1/crawls/done/pages?limit=1").Items[0].URL)
	views := []struct{ name, path string }{
		{"login", "/"}, {"crawls", "/login?token=" + o.token}, {"crawl", "/crawls/done"}, {"hosts", "/crawls/done/hosts"}, {"pages", "/crawls/done/pages"},
		{"page", "/crawls/done/page?url=" + page}, {"models", "/crawls/done/models"}, {"topics", "/crawls/done/topics"}, {"compare", "/compare?crawl=done&crawl=steered"},
		{"time", "/crawls/done?against=time"}, {"frontier", "/crawls/steered/hosts?by=pause"}, {"bytes", "/compare?crawl=done&crawl=steered&against=bytes"},
		{"letters", "/letters"}, {"sql", "/sql?example=overlap"},
	}
	for _, v := range views {
		for _, as := range []struct {
			name   string
			width  int64
			scheme string
		}{{"wide", 1280, "light"}, {"narrow", 390, "dark"}} {
			var found, wide string
			var shot []byte
			err := chromedp.Run(ctx, emulation.SetDeviceMetricsOverride(as.width, 900, 1, as.width < 500),
				emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: as.scheme}}),
				opened(o.base+v.path), chromedp.Evaluate(`document.querySelectorAll("details").forEach(d => d.open = true); ""`, nil),
				chromedp.Evaluate(string(axe)+`; ""`, nil), chromedp.Evaluate(axeRun, &found, awaited), chromedp.Evaluate(tooWide, &wide), chromedp.FullScreenshot(&shot, 100))
			if err != nil {
				t.Fatalf("%s: %v", v.name, err)
			}
			if found != "[]" || wide != "" {
				t.Errorf("%s, %s: axe-core finds %s; wider than the window: %s", v.name, as.name, found, wide)
			}
			if err := os.WriteFile(filepath.Join(shots, v.name+"-"+as.name+".png"), shot, 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	if refused := strings.Join(faults, "\n"); strings.Contains(refused, "attack is not defined") {
		t.Errorf("a script of a crawled page ran:\n%s", refused)
	}
	faults = nil
	actInBrowser(t, ctx, r, o)
	r.mustRun("crawl", "resume", "steered")
	steerInBrowser(t, ctx, o)
	for _, f := range faults {
		gone := strings.Contains(f, "status of 404") && strings.HasSuffix(f, "/crawls/steered?against=pages") // its page is renewed while it is deleted
		if !gone && !strings.Contains(f, "status of 422") {                                                   // a topic that the critic does not have
			t.Errorf("the page reports %s", f)
		}
	}
	printedReport(t, ctx, r, string(axe), shots)
}

// printedReport opens the file of a report in both widths and as it is printed.
func printedReport(t *testing.T, ctx context.Context, r *rig, axe, shots string) {
	t.Helper()
	one, both := filepath.Join(r.dir, "one.html"), filepath.Join(r.dir, "both.html")
	r.mustRun("report", "done", "--html", one)
	r.mustRun("report", "done", "typed", "--html", both)
	for _, as := range []struct {
		name, file, media string
		width             int64
	}{{"wide", one, "screen", 1280}, {"both", both, "screen", 1280}, {"narrow", both, "screen", 390}, {"print", both, "print", 700}} {
		var found, wide string
		var shot []byte
		err := chromedp.Run(ctx, emulation.SetDeviceMetricsOverride(as.width, 900, 1, as.width < 500), emulation.SetEmulatedMedia().WithMedia(as.media),
			chromedp.Navigate("file://"+as.file), chromedp.Evaluate(axe+`; ""`, nil), chromedp.Evaluate(axeRun, &found, awaited),
			chromedp.Evaluate(strings.ReplaceAll(tooWide, "main *", "body *"), &wide), chromedp.FullScreenshot(&shot, 100), emulation.SetEmulatedMedia())
		if err != nil {
			t.Fatalf("report, %s: %v", as.name, err)
		}
		if found != "[]" || wide != "" {
			t.Errorf("report, %s: axe-core finds %s; wider than the window: %s", as.name, found, wide)
		}
		if err := os.WriteFile(filepath.Join(shots, "report-"+as.name+".png"), shot, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func awaited(p *runtime.EvaluateParams) *runtime.EvaluateParams { return p.WithAwaitPromise(true) }

// opened opens an address.
func opened(address string) chromedp.Action { return left(fmt.Sprintf("location.href = %q", address)) }

// left runs a script that leaves the page, and waits until the next one is there.
func left(script string) chromedp.Action {
	return chromedp.ActionFunc(func(ctx context.Context) error {
		if err := chromedp.Evaluate("window.former = true; "+script+`; ""`, nil).Do(ctx); err != nil {
			return err
		}
		for there := false; !there; {
			// While pages change there is none to ask.
			_ = chromedp.Evaluate(`!window.former && document.readyState === "complete" && document.querySelector("h1") !== null`, &there).Do(ctx)
			if ctx.Err() != nil {
				return ctx.Err()
			}
			time.Sleep(20 * time.Millisecond)
		}
		return nil
	})
}

// axeRun finds obstacles of some weight, outside the stored copy.
const axeRun = `axe.run({exclude: [["iframe"]]}).then(r => JSON.stringify(r.violations.filter(v => ["serious", "critical"].includes(v.impact))
	.map(v => v.id + ": " + v.nodes.map(n => n.target.join(" ")).slice(0, 3).join(", "))))`

// tooWide names what is wider than the window.
const tooWide = `document.documentElement.scrollWidth <= innerWidth ? "" :
	[...document.querySelectorAll("main *")].filter(e => e.getBoundingClientRect().right > innerWidth + 1 && !e.closest(".scroll")).map(e => e.tagName).slice(0, 5).join(" ") || "body"`

// actInBrowser replays and drops dead letters, and starts a crawl by its file.
func actInBrowser(t *testing.T, ctx context.Context, r *rig, o *operator) {
	t.Helper()
	ctl, err := r.books.Control("done")
	if err != nil {
		t.Fatal(err)
	}
	seed := ask[listed[analytics.SeenPage]](o, "/api/v1/crawls/done/pages?limit=1").Items[0].URL
	file := crawlFile("typed", "test", ctl.GetFocus()[0], seed)
	for _, step := range []struct{ view, script, want string }{
		{"/letters", `document.querySelector('form[action="/letters/replay"] button').click()`, "Done: 1 requests"},
		{"/letters", `document.querySelector('button[formaction="/letters/drop"]').click()`, "Done: 1 letters"},
		{"/", `const form = document.querySelector('form[action="/crawls"]'); form.closest("details").open = true; form.file.value = "name: typed"; form.querySelector("button").click()`, "the crawl file: "},
		{"/", fmt.Sprintf(`const form = document.querySelector('form[action="/crawls"]'); form.file.value = %q; form.querySelector("button").click()`, file), "typed"},
	} {
		var told string
		if err := chromedp.Run(ctx, opened(o.base+step.view), left(step.script), chromedp.Evaluate(`(document.querySelector(".done, .problem") || document.querySelector("h1")).textContent`, &told)); err != nil {
			t.Fatalf("%s: %v", step.script, err)
		}
		if !strings.HasPrefix(told, step.want) && !strings.HasSuffix(told, step.want) {
			t.Errorf("%s: the page shows %q", step.script, told)
		}
	}
	r.until("typed", "finished", time.Minute, finished)
}

// steerInBrowser watches a crawl without reloading and steers it by forms.
func steerInBrowser(t *testing.T, ctx context.Context, o *operator) {
	t.Helper()
	var told string
	grows := `(async () => { const pages = () => parseInt(document.querySelector("#state dd").textContent); const first = pages();
		for (let i = 0; i < 600 && pages() <= first; i++) await new Promise(f => setTimeout(f, 100)); return JSON.stringify([first, pages()]); })()`
	if err := chromedp.Run(ctx, opened(o.base+"/crawls/steered"), chromedp.Evaluate(grows, &told, awaited)); err != nil {
		t.Fatal(err)
	}
	var pages []int
	if err := json.Unmarshal([]byte(told), &pages); err != nil || len(pages) != 2 || pages[1] <= pages[0] {
		t.Errorf("the page shows %s pages: it is not live (%v)", told, err)
	}
	for _, step := range []struct{ script, want string }{
		{`document.querySelector('button[value^="exclude.hosts+="]').click()`, "What would change; nothing was changed"}, {`document.querySelector(".done form button").click()`, "Changed"},
	} {
		actions := []chromedp.Action{left(step.script), chromedp.Evaluate(`document.querySelector(".done caption, .problem").textContent`, &told)}
		if strings.HasPrefix(step.want, "What") {
			actions = append([]chromedp.Action{opened(o.base + "/crawls/steered/hosts?by=waste")}, actions...)
		}
		if err := chromedp.Run(ctx, actions...); err != nil {
			t.Fatalf("%s: %v", step.script, err)
		}
		if told != step.want {
			t.Errorf("%s: the page shows %q", step.script, told)
		}
	}
	if err := chromedp.Run(ctx, opened(o.base+"/crawls/steered")); err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct{ form, fill, with, want string }{
		{"pause", "", "", "Done: pause"}, {"ranker", "input[name=ranker]", "in-links", "Done: ranker"}, {"seeds", "textarea", "http://h0.s1.sim/", "Done: seeds"},
		{"change", "textarea", "politeness.delay=70ms", "What would change"},
		{"focus", "input[name=bad]", "No/Such", ""}, {"resume", "input[name=pages]", "80000", "Done: resume"}, {"stop", "", "", "Done: stop"},
		{"delete", "input[name=name]", "steered", "Done: steered is deleted"},
	} {
		form := fmt.Sprintf(`form[action="/crawls/steered/%s"]`, step.form)
		var actions []chromedp.Action
		if step.fill != "" {
			actions = append(actions, chromedp.Evaluate(fmt.Sprintf(`document.querySelector('%s %s').value = %q`, form, step.fill, step.with), nil))
		}
		if step.form == "stop" || step.form == "delete" {
			actions = append(actions, chromedp.Evaluate(`document.querySelectorAll('`+form+` input[type=checkbox]').forEach(c => c.click())`, nil))
		}
		actions = append(actions, left(`document.querySelector('`+form+` button').click()`), chromedp.Evaluate(`document.querySelector(".done, .problem").textContent`, &told))
		if err := chromedp.Run(ctx, actions...); err != nil {
			t.Fatalf("%s: %v", step.form, err)
		}
		if !strings.HasPrefix(told, step.want) || step.want == "" && strings.HasPrefix(told, "Done") {
			t.Errorf("%s: the page shows %q", step.form, told)
		}
	}
}
