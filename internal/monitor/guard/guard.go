package guard

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"net"
	"net/http"
	"strings"

	"forager/internal/platform/pipeline"
)

// Guard lets requests pass that have the token.
type Guard struct {
	// Token that requests need: in the header Authorization (Bearer), or as the cookie that LoginPath gives for it.
	Token string
	// Names reports whether the server has a host name; nil = it has those of the loopback interface.
	Names func(host string) bool
	// TLS: the cookie is sent over TLS only.
	TLS bool
	// Denied responds to a request without a token, with status 401.
	Denied http.Handler
}

// LoginPath takes the token as a parameter, in the address or a form, and gives a cookie for it.
const LoginPath = "/login"

// policy is the Content-Security-Policy of every response that sets no other.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; frame-src 'self'; " +
	"form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

const (
	cookieName = "forager_monitor"
	// maxBody bounds the body of a request, bytes.
	maxBody = 1 << 20
)

// Protect returns a handler that lets requests through to next.
func (g *Guard) Protect(next http.Handler) http.Handler {
	var origin http.CrossOriginProtection
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("X-Frame-Options", "DENY")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Cache-Control", "no-store")
		r.Body = http.MaxBytesReader(w, r.Body, maxBody)
		switch err := origin.Check(r); {
		case !g.named(r.Host):
			http.Error(w, "the server does not have this name", http.StatusMisdirectedRequest)
		case err != nil:
			http.Error(w, "requests of other sites are refused", http.StatusForbidden)
		case r.URL.Path == LoginPath:
			g.login(w, r)
		case strings.HasPrefix(r.URL.Path, "/static/") || g.admits(r):
			next.ServeHTTP(w, r)
		default:
			g.Denied.ServeHTTP(w, r)
		}
	})
}

func (g *Guard) named(hostPort string) bool {
	host, _, err := net.SplitHostPort(hostPort)
	if err != nil {
		host = hostPort
	}
	if g.Names != nil {
		return g.Names(host)
	}
	return pipeline.Loopback(host)
}

// cookie is derived from the token, which it does not reveal.
func (g *Guard) cookie() string {
	m := hmac.New(sha256.New, []byte(g.Token))
	m.Write([]byte(cookieName))
	return hex.EncodeToString(m.Sum(nil))
}

func same(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }

func (g *Guard) admits(r *http.Request) bool {
	if token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer "); ok {
		return same(token, g.Token)
	}
	c, err := r.Cookie(cookieName)
	return err == nil && same(c.Value, g.cookie())
}

func (g *Guard) login(w http.ResponseWriter, r *http.Request) {
	if !same(r.FormValue("token"), g.Token) {
		g.Denied.ServeHTTP(w, r)
		return
	}
	http.SetCookie(w, &http.Cookie{
		Name: cookieName, Value: g.cookie(), Path: "/", MaxAge: 30 * 24 * 3600, HttpOnly: true, Secure: g.TLS, SameSite: http.SameSiteStrictMode,
	})
	http.Redirect(w, r, "/", http.StatusSeeOther)
}
