package stagemain

import (
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"

	"forager/internal/platform/pipeline"
)

// TestServe: without an address of metrics a stage serves those who have the token of its file.
func TestServe(t *testing.T) {
	handlers := map[string]http.Handler{"GET /x": http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "served") })}
	e := &Env{StateDir: t.TempDir(), Replica: 2}
	stop, err := e.serve(t.Context(), handlers)
	if err != nil {
		t.Fatal(err)
	}
	path := pipeline.AddressFile(e.StateDir, 2)
	b, err := os.ReadFile(path)
	info, statErr := os.Stat(path)
	address, token, ok := strings.Cut(strings.TrimSpace(string(b)), " ")
	if err != nil || statErr != nil || !ok || info.Mode().Perm() != 0o600 {
		t.Fatalf("%q, %v, %v", b, err, statErr)
	}
	for bearer, want := range map[string]int{"": 401, "x" + token: 401, token: 200} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+address+"/x", nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+bearer)
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != want {
			t.Errorf("token %q: status %d, want %d", bearer, resp.StatusCode, want)
		}
	}
	stop()
	if _, err := os.Stat(path); !os.IsNotExist(err) {
		t.Errorf("the file is left: %v", err)
	}
	var patterns []string
	e.Handle = func(pattern string, _ http.Handler) { patterns = append(patterns, pattern) }
	if stop, err = e.serve(t.Context(), handlers); err != nil || len(patterns) != 1 || patterns[0] != "GET /x" {
		t.Errorf("next to the metrics: %q, %v", patterns, err)
	}
	stop()
}
