package httpmodel

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"forager/internal/page/text"
	"forager/internal/platform/modelfile"
	"forager/internal/rank/guide"
	"forager/schemas"
)

func links(t testing.TB, source string) *LinkPredicate {
	t.Helper()
	p, err := ParseLinks("l.yaml", source)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// viewed is a page of three links as a guide gets it, some of whose words have capitals.
func viewed() *guide.View {
	var shapes []byte
	for at, s := range []text.Shape{text.Lower, text.Capital, text.Lower, text.Capitals, text.Lower} {
		shapes = text.AppendShape(shapes, at, s)
	}
	return &guide.View{
		Page: &schemas.Page{
			Url: "http://h/x", Title: "T", Terms: []string{"a", "bb", "ccc"}, Tokens: []uint32{0, 1, 0, 2, 1}, LeafLengths: []uint32{0, 2, 1, 2}, Shapes: shapes,
			Links: []*schemas.Link{{Url: "http://h/a", FirstLeaf: 1, LastLeaf: 2}, {Url: "http://h/b"}, {Url: "http://h/c", FirstLeaf: 3, LastLeaf: 9}},
		},
		Judgement: &schemas.Judgement{Raw: .5, Tempered: .25, Calibrated: .75, BestIsFocus: true, Topics: []*schemas.TopicScore{{Topic: "A", Tempered: .25}}},
		State:     []byte("two hops"),
	}
}

func TestWhatIsSentOfLinks(t *testing.T) {
	for source, want := range map[string]string{
		"": `{"url":"http://h/x","title":"T","text":"a Bb\na\nCCC bb",` +
			`"judgement":{"raw":0.5,"tempered":0.25,"calibrated":0.75,"best_is_focus":true,"topics":[{"topic":"A","probability":0.25}]},"state":"two hops",` +
			`"links":[{"url":"http://h/a","anchor":"a Bb\na"},{"url":"http://h/b"},{"url":"http://h/c","anchor":"CCC bb"}]}`,
		"send: [anchor]\ntext_bytes: 4": `{"state":"two hops","links":[{"anchor":"a Bb"},{},{"anchor":"CCC"}]}`,
		"send: [url]":                   `{"url":"http://h/x","state":"two hops","links":[{"url":"http://h/a"},{"url":"http://h/b"},{"url":"http://h/c"}]}`,
	} {
		c := links(t, "url: http://h/\n"+source).Client(Options{})
		sent, err := c.page(viewed())
		if err != nil {
			t.Fatal(err)
		}
		if got, err := json.Marshal(sent); err != nil || string(got) != want {
			t.Errorf("%s: %s, %v", source, got, err)
		}
		if want := strings.Contains(want, "http://"); c.ReadsURLs() != want {
			t.Errorf("%s: reads URLs: %v", source, c.ReadsURLs())
		}
	}
}

func TestReadAnswersOnLinks(t *testing.T) {
	asked := []*linksSent{{Links: make([]linkSent, 3)}, {Links: make([]linkSent, 1)}}
	good := `{"pages":[{"scores":[1,-2.5,3],"states":["a","","c"],"more":1},{"error":"too long"}]}`
	all, refused, err := readLinks([]byte(good), asked)
	if err != nil || !slices.Equal(refused, []string{"", "too long"}) || !slices.Equal(all[0].Scores, []float64{1, -2.5, 3}) || string(all[0].States[2]) != "c" {
		t.Fatalf("%v, %q, %v", all, refused, err)
	}
	if all, _, err = readLinks([]byte(`{"pages":[{"scores":[7],"states":["s"]},{"scores":[0]}]}`), asked); err != nil || len(all[0].Scores) != 1 {
		t.Errorf("one for all: %v, %v", all, err)
	}
	for _, bad := range []string{
		``, `yes`, `{}`, `{"pages":[]}`, `{"pages":[{"scores":[1]}]}`,
		`{"pages":[{"scores":[1,2]},{"scores":[1]}]}`, `{"pages":[{"scores":[1,2,3,4]},{"scores":[1]}]}`,
		`{"pages":[{"scores":[1,null,3]},{"scores":[1]}]}`, `{"pages":[{"scores":[1e999]},{"scores":[1]}]}`, `{"pages":[{"scores":[NaN]},{"scores":[1]}]}`,
		`{"pages":[{"scores":["1"]},{"scores":[1]}]}`, `{"pages":[{"scores":[]},{"scores":[1]}]}`, `{"pages":[{},{"scores":[1]}]}`,
		`{"pages":[{"states":["a"]},{"scores":[1]}]}`, `{"pages":[{"scores":[1],"error":"x"},{"scores":[1]}]}`,
		`{"pages":[{"scores":[1],"states":["a","b"]},{"scores":[1]}]}`,
		`{"pages":[{"scores":[1],"states":["` + strings.Repeat("x", 257) + `"]},{"scores":[1]}]}`,
	} {
		if all, _, err := readLinks([]byte(bad), asked); err == nil {
			t.Errorf("%s was read as %v", bad, all)
		}
	}
}

// FuzzLinksAnswer: any response is refused or fits its links.
func FuzzLinksAnswer(f *testing.F) {
	f.Add(`{"pages":[{"scores":[1,-2.5,3],"states":["a","","c"]}]}`, 3)
	f.Add(`{"pages":[{"scores":[1]},{"error":"no"}]}`, 2)
	f.Fuzz(func(t *testing.T, body string, links int) {
		links = min(max(links, 1), 50)
		asked := []*linksSent{{Links: make([]linkSent, links)}, {Links: make([]linkSent, 1)}}
		for n := range asked {
			all, refused, err := readLinks([]byte(body), asked[:n+1])
			if err != nil {
				continue
			}
			for i, g := range all {
				if guide.Check(g, len(asked[i].Links)) != nil || (refused[i] == "") == (len(g.Scores) == 0) {
					t.Fatalf("%q: %v, refused %q", body, g, refused[i])
				}
			}
		}
	})
}

func TestLinkSettingsThatAreRefused(t *testing.T) {
	for source, want := range map[string]string{
		"":                                     "url: is missing",
		"url: ftp://h/":                        "not an http://",
		"url: http://u:p@h/":                   "token_env",
		"url: http://h/\nsend: []":             "send: is empty",
		"url: http://h/\nsend: [links]":        "anchor, judgement",
		"url: http://h/\nbatch: 0":             "batch: is 0",
		"url: http://h/\ntopics: [A]":          "unknown field",
		"url: http://h/\nfallback: x":          "unknown field",
		"url: http://h/\ntimeout: 1h":          "timeout: is 1h",
		"url: http://h/\nbreaker: {pause: 0s}": "breaker.pause",
	} {
		if p, err := ParseLinks("l.yaml", source); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, %v", source, p, err)
		}
	}
}

func TestFileOfAPredicateOnLinks(t *testing.T) {
	p := links(t, "url: http://h/\nsend: [anchor, judgement]")
	b := p.Marshal()
	q, err := UnmarshalLinks(b)
	if err != nil || q.ReadsURLs() || !slices.Equal(q.Marshal(), b) || q.settings.Timeout != 10*time.Second {
		t.Fatalf("%v, %v", q, err)
	}
	for cut := range b {
		if p, err := UnmarshalLinks(b[:cut]); err == nil {
			t.Fatalf("cut at %d: %v", cut, p)
		}
	}
	if _, err := UnmarshalLinks(predicate(t, "url: http://h/\ntopics: [A]", "").Marshal()); !errors.Is(err, modelfile.ErrForeign) {
		t.Errorf("a critic: %v", err)
	}
}

// round handles requests by a function, in the test's time.
type round func(r *http.Request) (after time.Duration, status int, body string)

func (f round) RoundTrip(r *http.Request) (*http.Response, error) {
	after, status, body := f(r)
	select {
	case <-time.After(after):
	case <-r.Context().Done():
		return nil, r.Context().Err()
	}
	return &http.Response{StatusCode: status, Status: http.StatusText(status), Header: http.Header{}, Body: io.NopCloser(strings.NewReader(body))}, nil
}

// TestFailingServiceDoesNotDelayOthers: each page waits for one response, then for none at all.
func TestFailingServiceDoesNotDelayOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked, status, body, after := 0, 200, `{"pages":[{"scores":[1,2,3],"states":["s"]}]}`, time.Second
		c := links(t, "url: http://h/\nbreaker: {failures: 2, pause: 1m}").Client(Options{Transport: round(func(*http.Request) (time.Duration, int, string) {
			asked++
			return after, status, body
		})})
		ask := func() string {
			g, err := c.Guide(t.Context(), viewed())
			var f *Failure
			if errors.As(err, &f) {
				return f.Reason
			}
			return fmt.Sprint(g.GetScores(), len(g.GetStates()), err)
		}
		if got := ask(); got != "[1 2 3] 1 <nil>" {
			t.Error(got)
		}
		if g, err := c.Guide(t.Context(), &guide.View{Page: &schemas.Page{}}); err != nil || len(g.GetScores()) > 0 || asked != 1 {
			t.Errorf("a page without links: %v, %v, asked %d times", g, err, asked)
		}
		body = `{"pages":[{"error":"cannot"}]}`
		if got := ask(); got != Refused {
			t.Error(got)
		}
		body = "yes"
		if got := ask(); got != Rubbish {
			t.Error(got)
		}
		after = time.Hour
		begun := time.Now()
		if got := ask(); got != Timeout || time.Since(begun) > 20*time.Second {
			t.Errorf("%s after %s", got, time.Since(begun))
		}
		begun, before := time.Now(), asked
		if got := ask(); got != Open || time.Since(begun) > 0 || asked != before {
			t.Errorf("%s after %s", got, time.Since(begun))
		}
		after, body = 0, `{"pages":[{"scores":[4]}]}`
		time.Sleep(time.Minute)
		if got := ask(); got != "[4] 0 <nil>" {
			t.Error(got)
		}
	})
}
