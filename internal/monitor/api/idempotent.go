package api

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/danielgtaylor/huma/v2"
)

// keyHeader marks requests that are tries of one change.
const keyHeader = "Idempotency-Key"

const (
	// maxKept is the number of responses that are kept, the newest.
	maxKept = 1024
	maxKey  = 128
)

// kept is the response to a request with a key.
type kept struct {
	request [sha256.Size]byte
	// done: the response is there; until then the request is being handled.
	done   bool
	status int
	header http.Header
	body   []byte
}

// retries keeps the responses to changes that have a key, so that a client which has lost the response can send the request again: it gets
// the same response, and nothing is done twice. What fails in the server or its parts (status 500
// and above), or goes on (202), may be tried again.
type retries struct {
	mu    sync.Mutex
	byKey map[string]*kept
	order []string
}

// Once returns a handler that passes the changes of the interface to next, and of those with the same key the first only.
func Once(next http.Handler) http.Handler {
	t := &retries{byKey: make(map[string]*kept)}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		key := r.Header.Get(keyHeader)
		if key == "" || r.Method != http.MethodPost && r.Method != http.MethodDelete || !strings.HasPrefix(r.URL.Path, "/api/v1/") {
			next.ServeHTTP(w, r)
			return
		}
		if len(key) > maxKey {
			problem(w, http.StatusUnprocessableEntity, "the Idempotency-Key is too long")
			return
		}
		body, err := io.ReadAll(r.Body) // bounded by the guard
		if err != nil {
			problem(w, http.StatusRequestEntityTooLarge, "the body cannot be read: "+err.Error())
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		h := sha256.New()
		for _, part := range []string{r.Method, r.URL.RequestURI(), r.Header.Get("If-Match"), string(body)} {
			one := sha256.Sum256([]byte(part))
			h.Write(one[:])
		}
		request := [sha256.Size]byte(h.Sum(nil))
		switch old := t.begin(key, request); {
		case old == nil:
			rec := &recorder{ResponseWriter: w, status: http.StatusOK}
			defer func() { t.end(key, rec) }()
			next.ServeHTTP(rec, r)
		case old.request != request:
			problem(w, http.StatusUnprocessableEntity, "the Idempotency-Key was used for another request")
		case !old.done:
			problem(w, http.StatusConflict, "the first request with this Idempotency-Key is being handled")
		default:
			maps.Copy(w.Header(), old.header)
			w.WriteHeader(old.status)
			_, _ = w.Write(old.body) // the client has gone
		}
	})
}

// begin returns what is kept of a key; nil if there was nothing, and the caller is the first.
func (t *retries) begin(key string, request [sha256.Size]byte) *kept {
	t.mu.Lock()
	defer t.mu.Unlock()
	if old := t.byKey[key]; old != nil {
		found := *old
		return &found
	}
	if len(t.order) == maxKept {
		delete(t.byKey, t.order[0])
		t.order = t.order[1:]
	}
	t.byKey[key] = &kept{request: request}
	t.order = append(t.order, key)
	return nil
}

// end keeps a response, or drops the key of one that may be tried again.
func (t *retries) end(key string, rec *recorder) {
	t.mu.Lock()
	defer t.mu.Unlock()
	k := t.byKey[key]
	if k == nil {
		return // more than maxKept others came meanwhile
	}
	if rec.status >= http.StatusInternalServerError || rec.status == http.StatusAccepted || rec.body.Len() == 0 {
		delete(t.byKey, key)
		t.order = slices.DeleteFunc(t.order, func(other string) bool { return other == key })
		return
	}
	k.done, k.status, k.header, k.body = true, rec.status, rec.Header().Clone(), rec.body.Bytes()
}

// recorder keeps a copy of a response.
type recorder struct {
	http.ResponseWriter
	status int
	body   bytes.Buffer
}

func (r *recorder) WriteHeader(status int) {
	r.status = status
	r.ResponseWriter.WriteHeader(status)
}

func (r *recorder) Write(b []byte) (int, error) {
	r.body.Write(b)
	return r.ResponseWriter.Write(b)
}

func problem(w http.ResponseWriter, status int, detail string) {
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(huma.NewError(status, detail)) // the client has gone
}
