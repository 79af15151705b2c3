package web

import (
	"net/http/httptest"
	"strings"
	"testing"

	"forager/internal/monitor/view"
	"forager/internal/operate"
	"forager/internal/platform/analytics"
)

// TestAStalledCrawl: the page of a crawl that stagnates shows the rejected classes, escaped, and leads to where topics are marked; that of any
// other crawl does not.
func TestAStalledCrawl(t *testing.T) {
	crawl := &view.Crawl{Summary: operate.Summary{
		Crawl: "c", Rejected: []operate.Rejection{{Topic: "A/<b>", Pages: 41}}, Marks: []operate.Rejection{{Topic: "A", Pages: 43}},
	}}
	for _, c := range []struct {
		crawl *view.Crawl
		shown bool
	}{{crawl, true}, {&view.Crawl{Summary: operate.Summary{Crawl: "c"}}, false}} {
		w := httptest.NewRecorder()
		show(w, 200, &content{View: "crawl", Title: "c", Crawl: c.crawl})
		for _, want := range []string{"rejected pages were about", "A/&lt;b&gt;", ">41<", "A (43 of these pages)", `<a href="/crawls/c/topics">Mark topics</a>`} {
			if strings.Contains(w.Body.String(), want) != c.shown {
				t.Errorf("shown %t: %q in\n%s", c.shown, want, w.Body)
			}
		}
	}
}

// TestArmCharts: an arm that was credited no page in a part has no mean there, and is drawn where it chose.
func TestArmCharts(t *testing.T) {
	charts := armCharts([]analytics.ArmPoint{
		{Dispatched: 10, Policy: "a", Chosen: 4, Credited: 4, Reward: 2}, {Dispatched: 10, Policy: "<b>", Chosen: 6},
		{Dispatched: 20, Policy: "a", Chosen: 10, Credited: 9, Reward: 3},
	})
	if len(charts) != 2 {
		t.Fatalf("%d charts", len(charts))
	}
	for _, c := range charts {
		if !strings.Contains(string(c), "&lt;b&gt;") || strings.Contains(string(c), "<b>") || strings.Contains(string(c), "NaN") {
			t.Errorf("%s", c)
		}
	}
}
