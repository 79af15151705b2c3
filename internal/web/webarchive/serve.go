package webarchive

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"forager/internal/web/weburl"
)

// AbsoluteFormHeader is a header of the refusal of CONNECT, with the value "https": this proxy accepts absolute
// https URLs over its plain connection.
const AbsoluteFormHeader = "Forager-Absolute-Form"

// OfflineHeader is a header of the response to OPTIONS / of a proxy that serves stored pages and makes no
// requests: host names need not exist.
const OfflineHeader = "Forager-Offline"

// Access is one line of the access log, a JSON object.
type Access struct {
	// Begin and End of the response, to the nanosecond.
	Begin time.Time `json:"begin"`
	End   time.Time `json:"end"`
	// Method and URL of the request; the URL is canonical if it is valid.
	Method string `json:"method"`
	URL    string `json:"url"`
	// Host is the key of politeness.
	Host      string `json:"host"`
	Status    int    `json:"status"`
	Bytes     int    `json:"bytes"`
	UserAgent string `json:"user_agent"`
}

// Handler serves the archive as an HTTP proxy. Each request is written to log as a line of JSON (Access) when its
// response is complete; log may be nil.
func (a *Archive) Handler(log io.Writer) http.Handler {
	return &proxy{archive: a, log: log}
}

type proxy struct {
	archive *Archive
	mu      sync.Mutex
	log     io.Writer
}

func (p *proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodOptions {
		w.Header().Set(OfflineHeader, "archive")
		refuse(w, http.StatusMethodNotAllowed, readOnly)
		return
	}
	line := Access{Begin: time.Now(), Method: r.Method, URL: asked(r), UserAgent: r.UserAgent()}
	if u, err := weburl.Parse(line.URL); err == nil {
		line.URL, line.Host = u.String(), u.Host()
	}
	line.Status, line.Bytes = p.answer(w, r, line.URL)
	if p.log == nil {
		return
	}
	line.End = time.Now()
	b, err := json.Marshal(line)
	if err != nil {
		return // no field of Access can fail
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	_, _ = p.log.Write(append(b, '\n'))
}

// asked returns the URL of a request, absolute if that can be determined.
func asked(r *http.Request) string {
	switch {
	case r.Method == http.MethodConnect:
		return r.Host
	case strings.HasPrefix(r.RequestURI, "/"):
		return "http://" + r.Host + r.RequestURI
	}
	return r.RequestURI
}

const readOnly = "A frozen web is read only: GET and HEAD."

// answer writes the response and returns its status and the length of its body.
func (p *proxy) answer(w http.ResponseWriter, r *http.Request, url string) (status, length int) {
	switch r.Method {
	case http.MethodGet, http.MethodHead:
	case http.MethodConnect:
		w.Header().Set(AbsoluteFormHeader, "https")
		return refuse(w, http.StatusNotImplemented,
			"This proxy serves a WARC file and opens no tunnels. Ask for https pages in absolute form: GET https://host/path HTTP/1.1")
	default:
		return refuse(w, http.StatusMethodNotAllowed, readOnly)
	}
	stored, ok, err := p.archive.stored(url)
	if !ok && err == nil && strings.HasPrefix(r.RequestURI, "/") {
		// A bare path has no scheme.
		stored, ok, err = p.archive.stored("https" + strings.TrimPrefix(url, "http"))
	}
	if err != nil {
		return refuse(w, http.StatusInternalServerError, err.Error())
	}
	if !ok {
		return refuse(w, http.StatusNotFound, "The WARC file holds no answer for "+url)
	}
	body, err := stored.Payload(maxBlock)
	if err != nil {
		return refuse(w, http.StatusInternalServerError, err.Error())
	}
	header := w.Header()
	header["Content-Type"], header["Date"] = nil, nil // nothing is made up that was not stored
	for _, f := range stored.Header {
		name := http.CanonicalHeaderKey(f.Name)
		if ofConnection[name] {
			continue
		}
		header[name] = append(header[name], f.Value)
	}
	status = stored.Status
	if status < 200 {
		return refuse(w, http.StatusBadGateway, fmt.Sprintf("The stored status %d is none that ends an answer.", status))
	}
	if status != http.StatusNoContent && status != http.StatusNotModified {
		header.Set("Content-Length", strconv.Itoa(len(body)))
	} else {
		body = nil
	}
	w.WriteHeader(status)
	if r.Method == http.MethodHead {
		return status, 0
	}
	n, _ := w.Write(body) // a client that has disconnected does not need it
	return status, n
}

// ofConnection are the fields that belong to the connection on which the response once came (RFC 9110 §7.6.1), not
// to the response.
var ofConnection = map[string]bool{
	"Connection": true, "Content-Length": true, "Keep-Alive": true, "Proxy-Authenticate": true,
	"Proxy-Authorization": true, "Proxy-Connection": true, "Te": true, "Trailer": true,
	"Transfer-Encoding": true, "Upgrade": true,
}

func refuse(w http.ResponseWriter, status int, why string) (int, int) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(status)
	n, _ := io.WriteString(w, why+"\n")
	return status, n
}
