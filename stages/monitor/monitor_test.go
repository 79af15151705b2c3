package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"forager/internal/monitor/view"
	"forager/internal/platform/pipeline"
)

// certificate writes one for monitor.test.
func certificate(t *testing.T) (cert, key string, roots *x509.CertPool) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), DNSNames: []string{"monitor.test"}, NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	cert, key = filepath.Join(t.TempDir(), "cert.pem"), filepath.Join(t.TempDir(), "key.pem")
	for path, block := range map[string]*pem.Block{cert: {Type: "CERTIFICATE", Bytes: der}, key: {Type: "PRIVATE KEY", Bytes: raw}} {
		if err := os.WriteFile(path, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	roots = x509.NewCertPool()
	roots.AddCert(leaf)
	return cert, key, roots
}

// TestBeyondLoopback serves over TLS, under the names of the certificate and to those who have the token.
func TestBeyondLoopback(t *testing.T) {
	cert, key, roots := certificate(t)
	t.Setenv("MONITOR_TOKEN", "0123456789abcdef")
	cfg := &pipeline.Config{Data: t.TempDir()}
	cfg.Stages.Monitor = pipeline.Monitor{Address: "0.0.0.0:0", TokenEnv: "MONITOR_TOKEN", TLSCert: cert, TLSKey: key}
	server, err := newServer(view.New(cfg, nil, nil, nil), cfg)
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- server.Serve(tls.NewListener(listener, server.TLSConfig)) }()
	t.Cleanup(func() { server.Close(); <-served })
	client := &http.Client{
		Transport:     &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, ServerName: "monitor.test"}, DisableKeepAlives: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	for _, c := range []struct {
		host, path, token string
		status            int
	}{
		{"monitor.test", "/", "", 401}, {"monitor.test", "/static/style.css", "", 200}, {"monitor.test", "/", "0123456789abcdeg", 401},
		{"other.test", "/", "0123456789abcdef", 421}, {"127.0.0.1", "/", "0123456789abcdef", 421}, {"monitor.test:18080", "/none", "0123456789abcdef", 404},
		{"monitor.test", "/static/static/style.css", "", 404}, {"monitor.test", "/login?token=0123456789abcdef", "", 303},
	} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://"+listener.Addr().String()+c.path, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		req.Host = c.host
		if c.token != "" {
			req.Header.Set("Authorization", "Bearer "+c.token)
		}
		resp, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != c.status {
			t.Errorf("%s%s with %q: %d, want %d", c.host, c.path, c.token, resp.StatusCode, c.status)
		}
		for _, cookie := range resp.Cookies() {
			if !cookie.Secure || !cookie.HttpOnly || cookie.SameSite != http.SameSiteStrictMode || cookie.Value == "0123456789abcdef" {
				t.Errorf("cookie %v", cookie)
			}
		}
	}
	plain, err := http.Get("http://" + listener.Addr().String() + "/")
	if err == nil {
		plain.Body.Close()
		if plain.StatusCode != http.StatusBadRequest {
			t.Errorf("without TLS: %s", plain.Status)
		}
	}
	t.Setenv("MONITOR_TOKEN", "short")
	if _, err := newServer(view.New(cfg, nil, nil, nil), cfg); err == nil {
		t.Error("a short token is accepted")
	}
}
