package httpmodel

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
)

// TestBacklinksAreAskedFor: one request a page, and the errors of invalid responses.
func TestBacklinksAreAskedFor(t *testing.T) {
	var asked []string
	answer, status := `{"parents": ["http://a.test/", "x"]}`, http.StatusOK
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		asked = append(asked, string(b))
		w.WriteHeader(status)
		io.WriteString(w, answer)
	}))
	defer srv.Close()
	s, err := ParseBacklinks("s.yaml", "url: "+srv.URL+"\nbreaker: {failures: 3, pause: 1h}")
	if err != nil {
		t.Fatal(err)
	}
	if s, err = UnmarshalBacklinks(s.Marshal()); err != nil {
		t.Fatal(err)
	}
	c := s.Client(Options{})
	if got, err := c.Parents(t.Context(), "http://web.test/"); err != nil || !slices.Equal(got, []string{"http://a.test/", "x"}) {
		t.Errorf("%v, %v", got, err)
	}
	if want := []string{`{"url":"http://web.test/","version":1}`}; !slices.Equal(asked, want) {
		t.Errorf("asked %q, want %q", asked, want)
	}
	answer = `{"parents": []}`
	if got, err := c.Parents(t.Context(), "http://web.test/"); err != nil || len(got) > 0 {
		t.Errorf("a page without parents: %v, %v", got, err)
	}
	for _, wrong := range []struct {
		answer string
		status int
		reason string
	}{{`{}`, http.StatusOK, Rubbish}, {`{"parents": "x"}`, http.StatusOK, Rubbish}, {`{}`, http.StatusTeapot, Status}, {`{"parents": []}`, http.StatusOK, Open}} {
		answer, status = wrong.answer, wrong.status
		_, err := c.Parents(t.Context(), "http://web.test/")
		if failure := (*Failure)(nil); !errors.As(err, &failure) || failure.Reason != wrong.reason {
			t.Errorf("%s with %d: %v, want %s", wrong.answer, wrong.status, err, wrong.reason)
		}
	}
	if len(asked) != 5 {
		t.Errorf("%d requests; the last query is not to be made", len(asked))
	}
}

func TestBacklinkSettingsThatAreRefused(t *testing.T) {
	for source, want := range map[string]string{
		"":                                 "url",
		"url: nowhere":                     "not an http",
		"url: http://h/\ntimeout: 0s":      "timeout",
		"url: http://h/\nconcurrent: 0":    "concurrent",
		"url: http://h/\nbatch: 7":         "batch",
		"url: http://u:p@h/\nbreaker: {}":  "password",
		"url: http://h/\nbreaker: {a: 1s}": "a",
	} {
		if _, err := ParseBacklinks("s.yaml", source); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", source, err)
		}
	}
	if _, err := UnmarshalBacklinks([]byte("forager x 1\n")); err == nil {
		t.Error("another kind was read")
	}
}
