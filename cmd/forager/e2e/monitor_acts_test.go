package e2e

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"forager/internal/monitor/view"
	"forager/internal/operate"
	"forager/internal/platform/analytics"
	"forager/schemas"
)

// startsAndDeletes starts crawls by their files and deletes them, through the interface and by the forms of the page.
func startsAndDeletes(t *testing.T, r *rig, o *operator) {
	ctl, err := r.books.Control("done")
	if err != nil {
		t.Fatal(err)
	}
	seed := ask[listed[analytics.SeenPage]](o, "/api/v1/crawls/done/pages?limit=1").Items[0].URL
	file := func(name string, more ...string) string {
		return strings.Replace(crawlFile(name, "test", ctl.GetFocus()[0], seed, more...), "pages: 60", "pages: 10", 1)
	}
	for _, c := range []struct{ file, setting string }{
		{file("sent", "seeds_file: /etc/passwd"), "seeds_file"}, {file("sent", "scope: {url_list: /etc/passwd}"), "scope.url_list"},
		{file("sent", "window: many"), "window"}, {file("sent", "nonsense: 1"), "nonsense"},
	} {
		status, _, body := o.do("POST", "/api/v1/crawls", "", c.file)
		if status != 422 || !strings.Contains(body, `"location":"`+c.setting+`"`) || strings.Contains(body, "root:") {
			t.Errorf("%s: %d %s", c.setting, status, body)
		}
	}
	if status, _, body := o.do("POST", "/api/v1/crawls", "", strings.Replace(file("sent"), "critic: test", "critic: none", 1)); status != 422 || !strings.Contains(body, "none") {
		t.Errorf("without a critic: %d %s", status, body)
	}
	o.key = "start"
	for range 2 { // the second is a try of the first
		if status, header, body := o.do("POST", "/api/v1/crawls", "", file("sent")); status != 201 || header.Get("Location") != "/api/v1/crawls/sent" || header.Get("ETag") != `"1"` {
			t.Fatalf("start: %d %v %s", status, header, body)
		}
	}
	o.key = ""
	if status, _, body := o.do("POST", "/api/v1/crawls", "", file("sent")); status != 409 || !strings.Contains(body, "exists already") {
		t.Errorf("started again: %d %s", status, body)
	}
	if st := r.until("sent", "finished", time.Minute, finished); st.GetPages() != 10 {
		t.Errorf("it delivered %d pages", st.GetPages())
	}

	if status, _, body := o.do("DELETE", "/api/v1/crawls/steered", "", ""); status != 409 || !strings.Contains(body, "only a crawl that has finished") {
		t.Errorf("delete one that runs: %d %s", status, body)
	}
	if status, _, body := o.do("DELETE", "/api/v1/crawls/sent", `"7"`, ""); status != 412 {
		t.Errorf("delete another revision: %d %s", status, body)
	}
	for _, rows := range []bool{true, false} { // the second finds that all is gone
		status, _, body := o.do("DELETE", "/api/v1/crawls/sent", "", "")
		var d operate.Deletion
		if err := json.Unmarshal([]byte(body), &d); err != nil || status != 200 || d.Rows["requests_rows"] >= 10 != rows || d.Rows["requests_rows"] == 0 == rows {
			t.Errorf("delete: %d %s", status, body)
		}
	}
	if status, _, body := o.do("GET", "/api/v1/crawls/sent", "", ""); status != 404 || !strings.Contains(body, "was deleted") {
		t.Errorf("the deleted crawl: %d %s", status, body)
	}

	form := func(path string, v url.Values) (int, string, string) {
		status, header, body := o.do("POST", path, "", v.Encode())
		return status, header.Get("Location"), body
	}
	if status, _, body := form("/crawls", url.Values{"file": {file("formed", "seeds_file: /etc/passwd")}}); status != 422 || !strings.Contains(body, "seeds_file: names a file") || !strings.Contains(body, "name: formed") {
		t.Errorf("start by a form that names a file: %d", status)
	}
	if status, at, _ := form("/crawls", url.Values{"file": {file("formed")}}); status != 303 || at != "/crawls/formed" {
		t.Errorf("start by a form: %d, to %s", status, at)
	}
	r.until("formed", "taken up", time.Minute, func(*schemas.CrawlStatus) bool { return true })
	confirm := url.Values{"revision": {fmt.Sprint(ask[view.Crawl](o, "/api/v1/crawls/formed").Revision)}, "stop": {"yes"}, "name": {"done"}}
	if status, _, body := form("/crawls/formed/delete", confirm); status != 409 || !strings.Contains(body, "nothing was done") {
		t.Errorf("delete by a form with another name: %d", status)
	}
	confirm.Set("name", "formed")
	if status, _, body := form("/crawls/formed/delete", confirm); status != 200 || !strings.Contains(body, "formed is deleted") || strings.Contains(body, `href="/crawls/formed"`) {
		t.Errorf("delete by a form: %d", status)
	}
}

// fakes sends dead letters with these errors about a request of a crawl that did not fail, and returns their numbers.
func (r *rig) fakes(crawl string, errors ...string) (numbers []int64) {
	r.t.Helper()
	page := records[*schemas.PageFetched](r, schemas.TopicPageFetched, crawl)[0]
	headers := []*schemas.Header{}
	for k, v := range schemas.RequestHeaders(&schemas.FetchRequest{Id: page.GetId(), Crawl: crawl, Url: page.GetUrl(), Host: "h", Attempt: 1}) {
		headers = append(headers, &schemas.Header{Key: k, Value: []byte(v)})
	}
	for i, text := range errors {
		l := &schemas.DeadLetter{Stage: "parse-dom", Topic: schemas.TopicPageFetched, Offset: 1<<40 + int64(i), Headers: headers, Error: text, Tries: 1, At: time.Now().UnixMilli()}
		at, err := r.books.Send(r.s, schemas.TopicDeadLetter, crawl, map[string]string{schemas.HeaderCrawl: crawl}, l)
		if err != nil {
			r.t.Fatal(err)
		}
		numbers = append(numbers, at.Offset)
	}
	return numbers
}

// class waits until a class of dead letters has so many.
func (o *operator) class(name string, want uint64) (found analytics.Letters) {
	o.t.Helper()
	wait(o.t, fmt.Sprintf("%d letters %q", want, name), func() bool {
		found = analytics.Letters{}
		for _, l := range ask[listed[analytics.Letters]](o, "/api/v1/dead-letters").Items {
			if l.Class == name {
				found = l
			}
		}
		return found.Records == want
	})
	return found
}

// replaysAndDrops replays and drops letters about requests of a crawl that did not fail: its frontier refuses to try them again, and counts that.
func replaysAndDrops(t *testing.T, r *rig, o *operator) {
	numbers := r.fakes("steered", "broken at 17", "broken at 18", "other")
	broken := o.class("broken at #", 2)
	if broken.Newest != uint64(numbers[1]) {
		t.Errorf("%+v, numbers %v", broken, numbers)
	}
	for _, c := range []struct {
		action, body string
		status       int
	}{
		{"replay", `{}`, 409}, {"replay", `{"stage":"none"}`, 409}, {"drop", `{"numbers":[1],"crawl":"steered"}`, 409}, {"drop", `{"numbers":[4711]}`, 404}, {"replay", `{"crawl":"none"}`, 404},
	} {
		if status, _, body := o.do("POST", "/api/v1/dead-letters/"+c.action, "", c.body); status != c.status {
			t.Errorf("%s %s: %d, want %d: %s", c.action, c.body, status, c.status, body)
		}
	}
	form := url.Values{"stage": {"parse-dom"}, "crawl": {"steered"}, "class": {"broken at #"}, "before": {fmt.Sprint(numbers[1])}}
	before := r.books.Status("steered").GetRefused()["replay"]
	if status, _, body := o.do("POST", "/letters/replay", "", form.Encode()); status != 200 || !strings.Contains(body, "Done: 1 requests are asked to be tried again; 0 letters") {
		t.Errorf("replay by a form: %d", status)
	}
	r.until("steered", "asked", time.Minute, func(st *schemas.CrawlStatus) bool { return st.GetRefused()["replay"] == before+1 })
	if status, _, body := o.do("POST", "/letters/drop", "", form.Encode()); status != 200 || !strings.Contains(body, "Done: 1 letters are dropped") {
		t.Errorf("drop by a form: %d", status)
	}
	o.class("broken at #", 1) // the one behind those that the form was about
	if status, _, body := o.do("POST", "/api/v1/dead-letters/drop", "", fmt.Sprintf(`{"numbers":[%d]}`, numbers[2])); status != 200 || !strings.Contains(body, `"dropped":1`) {
		t.Errorf("drop: %d %s", status, body)
	}
	o.class("other", 0)
	if list := r.deadLetters(t, "--crawl", "steered"); len(list) != 1 || list[0].Number != numbers[1] {
		t.Errorf("the command lists %+v", list)
	}
	if out := r.mustRun("dead", "drop", fmt.Sprint(numbers[1])); out != "1 letters are dropped\n" || len(r.deadLetters(t, "--crawl", "steered")) != 0 {
		t.Errorf("dead drop: %s", out)
	}
}
