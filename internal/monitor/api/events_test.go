package api

import (
	"bufio"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"forager/internal/monitor/view"
	"forager/internal/operate"
)

// TestEventsAreResumed: a client that was away gets what it has missed, and one that is connected what is announced.
func TestEventsAreResumed(t *testing.T) {
	list := []view.Event{{ID: "a/finished/1", Kind: "finished"}, {ID: "b/stalled/2", Kind: "stalled", Text: "two\nlines"}}
	for last, want := range map[string][]string{
		"":                {"id: a/finished/1", "event: finished", "id: b/stalled/2", "event: stalled"},
		"a/finished/1":    {"id: b/stalled/2", "event: stalled"},
		"b/stalled/2":     nil,
		"is kept no more": {"id: a/finished/1", "event: finished", "id: b/stalled/2", "event: stalled"},
	} {
		t.Run(last, func(t *testing.T) {
			t.Parallel()
			s := view.New(nil, operate.New(nil), nil, nil)
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { events(w, r, s) }))
			t.Cleanup(server.Close)
			s.Announce(list)
			req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL, http.NoBody)
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set("Last-Event-ID", last)
			resp, err := http.DefaultClient.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			lines := bufio.NewScanner(resp.Body)
			read := func() (got []string) {
				for lines.Scan() && lines.Text() != "event: crawls" {
					if text := lines.Text(); text != "" && !strings.HasPrefix(text, "data: ") {
						got = append(got, text)
					}
				}
				return got
			}
			got := read()
			s.Announce(append(slices.Clone(list), view.Event{ID: "c/finished/3", Kind: "finished"}))
			got = append(got, read()...)
			if want := append(slices.Clone(want), "id: c/finished/3", "event: finished"); !slices.Equal(got, want) {
				t.Errorf("%q, want %q", got, want)
			}
		})
	}
}
