package simweb

import (
	"io"
	"net/http"
	"strings"
)

// Handler serves webs as an HTTP proxy does: requests carry absolute URLs, whose host names
// (".s<seed>.sim") say which web is meant. robots.txt is 404 everywhere.
func Handler(webs ...*Web) http.Handler {
	bySeed := make(map[string]*Web, len(webs))
	for _, w := range webs {
		host := w.hostOf(0)
		bySeed[host[strings.IndexByte(host, '.'):]] = w
	}
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		host := r.URL.Host
		if host == "" {
			host = r.Host
		}
		dot := strings.IndexByte(host, '.')
		if dot < 0 || bySeed[host[dot:]] == nil {
			http.Error(rw, "no such host", http.StatusBadGateway)
			return
		}
		html, redirect, ok := bySeed[host[dot:]].Page("http://" + host + r.URL.RequestURI())
		switch {
		case !ok:
			http.NotFound(rw, r)
		case redirect != "":
			http.Redirect(rw, r, redirect, http.StatusMovedPermanently)
		default:
			rw.Header().Set("Content-Type", "text/html; charset=utf-8")
			io.WriteString(rw, html)
		}
	})
}
