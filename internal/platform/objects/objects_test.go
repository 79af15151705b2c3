package objects_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"forager/internal/platform/objects"
	"forager/internal/platform/objects/objectstest"
	"forager/internal/platform/pipeline"
)

func TestMain(m *testing.M) { objectstest.Main(m) }

func put(t *testing.T, s *objects.Store, key, content string) error {
	t.Helper()
	return s.Put(t.Context(), key, strings.NewReader(content), int64(len(content)))
}

func TestStore(t *testing.T) {
	server := objectstest.Start(t)
	s := server.Store(t)
	ctx := t.Context()

	t.Run("read what was put", func(t *testing.T) {
		if err := put(t, s, "a/one", "0123456789"); err != nil {
			t.Fatal(err)
		}
		if b, err := s.Get(ctx, "a/one"); err != nil || string(b) != "0123456789" {
			t.Errorf("get: %q, %v", b, err)
		}
		if b, err := s.Range(ctx, "a/one", 3, 4); err != nil || string(b) != "3456" {
			t.Errorf("range: %q, %v", b, err)
		}
		for _, r := range [][2]int64{{8, 5}, {10, 1}, {-1, 2}, {0, 0}} {
			if b, err := s.Range(ctx, "a/one", r[0], r[1]); err == nil {
				t.Errorf("range %v gave %q", r, b)
			}
		}
	})
	t.Run("delete", func(t *testing.T) {
		for _, key := range []string{"gone/one", "gone/two"} {
			if err := put(t, s, key, key); err != nil {
				t.Fatal(err)
			}
		}
		for range 2 { // what is not there is deleted
			if err := s.Delete(ctx, "gone/one"); err != nil {
				t.Error(err)
			}
		}
		if _, err := s.Get(ctx, "gone/one"); !errors.Is(err, objects.ErrNotFound) {
			t.Errorf("get: %v", err)
		}
		if b, err := s.Get(ctx, "gone/two"); err != nil || string(b) != "gone/two" {
			t.Errorf("get the other: %q, %v", b, err)
		}
		if err := s.Delete(ctx, "gone/two"); err != nil {
			t.Error(err)
		}
	})
	t.Run("large object whose name is taken", func(t *testing.T) {
		// The server refuses before it has read the content, and hangs up.
		content := strings.Repeat("0123456789abcdef", 1<<19)
		if err := put(t, s, "large", content); err != nil {
			t.Fatal(err)
		}
		for range 5 {
			if err := put(t, s, "large", content); !errors.Is(err, objects.ErrExists) {
				t.Errorf("put again: %v", err)
			}
		}
	})
	t.Run("empty object", func(t *testing.T) {
		if err := put(t, s, "empty", ""); err != nil {
			t.Fatal(err)
		}
		if b, err := s.Get(ctx, "empty"); err != nil || len(b) != 0 {
			t.Errorf("get: %q, %v", b, err)
		}
		for i := range 50 { // one after the other on the same connection
			if err := put(t, s, fmt.Sprint("empties/", i), ""); err != nil {
				t.Fatal(err)
			}
		}
	})
	t.Run("never overwritten", func(t *testing.T) {
		if err := put(t, s, "taken", "first"); err != nil {
			t.Fatal(err)
		}
		if err := put(t, s, "taken", "second"); !errors.Is(err, objects.ErrExists) {
			t.Errorf("second put: %v", err)
		}
		if b, err := s.Get(ctx, "taken"); err != nil || string(b) != "first" {
			t.Errorf("get: %q, %v", b, err)
		}
	})
	t.Run("attributes without an object", func(t *testing.T) {
		if err := put(t, s, "half/done", "first"); err != nil {
			t.Fatal(err)
		}
		server.KeepAttributes(t, "half/done")
		if err := put(t, s, "half/done", "second"); err != nil {
			t.Fatal(err)
		}
		if b, err := s.Get(ctx, "half/done"); err != nil || string(b) != "second" {
			t.Errorf("get: %q, %v", b, err)
		}
	})
	t.Run("one of many puts at once wins", func(t *testing.T) {
		var wg sync.WaitGroup
		results := make([]error, 16)
		for i := range results {
			wg.Go(func() { results[i] = put(t, s, "race", fmt.Sprint(i)) })
		}
		wg.Wait()
		winner := -1
		for i, err := range results {
			switch {
			case err == nil && winner < 0:
				winner = i
			case !errors.Is(err, objects.ErrExists):
				t.Errorf("put %d with winner %d: %v", i, winner, err)
			}
		}
		if b, err := s.Get(ctx, "race"); err != nil || string(b) != fmt.Sprint(winner) {
			t.Errorf("get: %q, %v; winner %d", b, err, winner)
		}
	})
	t.Run("larger than one part", func(t *testing.T) {
		big := bytes.Repeat([]byte("0123456789abcdef"), 20<<20/16)
		if err := s.Put(ctx, "big", bytes.NewReader(big), int64(len(big))); err != nil {
			t.Fatal(err)
		}
		if b, err := s.Range(ctx, "big", int64(len(big))-3, 3); err != nil || string(b) != "def" {
			t.Errorf("range: %q, %v", b, err)
		}
	})
	t.Run("not found", func(t *testing.T) {
		if _, err := s.Get(ctx, "nothing"); !errors.Is(err, objects.ErrNotFound) || !strings.Contains(err.Error(), "nothing") {
			t.Errorf("get: %v", err)
		}
		if _, err := s.Range(ctx, "nothing", 0, 1); !errors.Is(err, objects.ErrNotFound) {
			t.Errorf("range: %v", err)
		}
	})
	t.Run("list", func(t *testing.T) {
		for i := range 5 {
			if err := put(t, s, fmt.Sprintf("list/%d/x", i), strings.Repeat("x", i)); err != nil {
				t.Fatal(err)
			}
		}
		var got []string
		for object, err := range s.List(ctx, "list/") {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, fmt.Sprint(object.Key, " ", object.Size))
		}
		if want := "[list/0/x 0 list/1/x 1 list/2/x 2 list/3/x 3 list/4/x 4]"; fmt.Sprint(got) != want {
			t.Errorf("got %v, want %s", got, want)
		}
		for range s.List(ctx, "list/") {
			break
		}
		ended, cancel := context.WithCancel(ctx)
		cancel()
		var last error
		for _, err := range s.List(ended, "list/") {
			last = err
		}
		if !errors.Is(last, context.Canceled) {
			t.Errorf("cancelled listing: %v", last)
		}
	})
	t.Run("denied", func(t *testing.T) {
		cfg := server.Config
		cfg.SecretKey = "wrong"
		wrong, err := objects.Open(cfg)
		if err != nil {
			t.Fatal(err)
		}
		if err := put(t, wrong, "denied", "x"); !errors.Is(err, objects.ErrDenied) {
			t.Errorf("put: %v", err)
		}
	})
	t.Run("no bucket yet", func(t *testing.T) {
		cfg := server.Config
		cfg.Bucket = "later"
		later, err := objects.Open(cfg)
		if err != nil {
			t.Fatal(err)
		}
		if err := put(t, later, "x", "x"); !errors.Is(err, objects.ErrUnavailable) {
			t.Errorf("put: %v", err)
		}
		for _, want := range []bool{true, false} {
			if created, err := later.EnsureBucket(ctx); err != nil || created != want {
				t.Errorf("ensure: %v, %v; want %v", created, err, want)
			}
		}
		if err := put(t, later, "x", "x"); err != nil {
			t.Errorf("put: %v", err)
		}
	})
	t.Run("away and back", func(t *testing.T) {
		if err := put(t, s, "before", "x"); err != nil {
			t.Fatal(err)
		}
		server.Down(t)
		if err := put(t, s, "meanwhile", "x"); !errors.Is(err, objects.ErrUnavailable) {
			t.Errorf("put: %v", err)
		}
		if _, err := s.Get(ctx, "before"); !errors.Is(err, objects.ErrUnavailable) {
			t.Errorf("get: %v", err)
		}
		ended, cancel := context.WithCancel(ctx)
		cancel()
		if _, err := s.Get(ended, "before"); !errors.Is(err, context.Canceled) || errors.Is(err, objects.ErrUnavailable) {
			t.Errorf("get with its context ended: %v", err)
		}
		server.Up(t)
		if b, err := s.Get(ctx, "before"); err != nil || string(b) != "x" {
			t.Errorf("get: %q, %v", b, err)
		}
		if err := put(t, s, "meanwhile", "x"); err != nil {
			t.Errorf("put: %v", err)
		}
	})
}

// plainServer is a server without conditional puts; broken is the status that it returns instead of
// working, 0 = it works.
func plainServer(t *testing.T, broken int) *objects.Store {
	t.Helper()
	stored := map[string][]byte{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if broken != 0 {
			w.WriteHeader(broken)
			return
		}
		switch r.Method {
		case http.MethodPut:
			if r.Header.Get("If-None-Match") != "" {
				w.WriteHeader(http.StatusNotImplemented)
				io.WriteString(w, `<Error><Code>NotImplemented</Code></Error>`)
				return
			}
			stored[r.URL.Path], _ = io.ReadAll(r.Body)
		default:
			b, ok := stored[r.URL.Path]
			if !ok {
				w.WriteHeader(http.StatusNotFound)
				return
			}
			w.Header().Set("Content-Length", fmt.Sprint(len(b)))
			w.Header().Set("Last-Modified", "Sat, 21 Nov 2026 10:00:00 GMT")
			w.Header().Set("ETag", `"x"`)
		}
	}))
	t.Cleanup(server.Close)
	s, err := objects.Open(pipeline.S3{Endpoint: server.URL, Bucket: "forager", AccessKey: "a", SecretKey: "b"})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestServerWithoutConditionalPut(t *testing.T) {
	s := plainServer(t, 0)
	for _, key := range []string{"learning", "knowing"} {
		if err := put(t, s, key, "first"); err != nil {
			t.Fatal(err)
		}
		if err := put(t, s, key, "second"); !errors.Is(err, objects.ErrExists) {
			t.Errorf("second put of %s: %v", key, err)
		}
	}
}

func TestAnswersHaveClasses(t *testing.T) {
	for status, want := range map[int]error{
		500: objects.ErrUnavailable, 503: objects.ErrUnavailable, 429: objects.ErrUnavailable,
		403: objects.ErrDenied, 401: objects.ErrDenied, 404: objects.ErrNotFound, 412: objects.ErrExists,
	} {
		err := put(t, plainServer(t, status), "x", "x")
		for _, class := range []error{objects.ErrUnavailable, objects.ErrDenied, objects.ErrNotFound, objects.ErrExists} {
			if errors.Is(err, class) != (class == want) {
				t.Errorf("status %d: %v", status, err)
			}
		}
	}
}

func TestOpenRefuses(t *testing.T) {
	good := pipeline.S3{Endpoint: "http://127.0.0.1:1", Bucket: "b", AccessKey: "a", SecretKey: "b"}
	for want, change := range map[string]func(*pipeline.S3){
		"s3.endpoint":       func(c *pipeline.S3) { c.Endpoint = "127.0.0.1:9000" },
		"s3.bucket":         func(c *pipeline.S3) { c.Bucket = "" },
		"FORAGER_NO_ACCESS": func(c *pipeline.S3) { c.AccessKeyEnv = "FORAGER_NO_ACCESS" },
		"FORAGER_NO_SECRET": func(c *pipeline.S3) { c.SecretKeyEnv = "FORAGER_NO_SECRET" },
	} {
		cfg := good
		change(&cfg)
		if _, err := objects.Open(cfg); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v", want, err)
		}
	}
	if _, err := objects.Open(good); err != nil {
		t.Error(err)
	}
}
