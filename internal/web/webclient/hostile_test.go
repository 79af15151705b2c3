package webclient

import (
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"

	"forager/internal/web/robots"
)

// respond serves each connection one response and closes it.
func respond(t *testing.T, answer string) (address string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			conn.Read(make([]byte, 4096))
			io.WriteString(conn, answer)
			conn.Close()
		}
	}()
	return "http://" + l.Addr().String()
}

// ok is a response with further lines of a header.
func ok(lines, body string) string {
	return "HTTP/1.1 200 OK\r\nConnection: close\r\n" + lines + "\r\n" + body
}

// TestWhatBrowsersAccept: responses of servers that violate the standard, and whether a browser shows the body.
func TestWhatBrowsersAccept(t *testing.T) {
	const text = "<html>text"
	length := fmt.Sprintf("Content-Length: %d\r\n", len(text))
	zipped := string(gzipped(text))
	for _, test := range []struct {
		name, answer string
		want         string // the body
		malformed    bool   // only up to there
		cut          bool   // the connection ended before the response
	}{
		{"plain", ok(length, text), text, false, false},
		{"charset for a coding", ok("Content-Encoding: utf-8\r\n"+length, text), text, false, false},
		{"plain labelled gzip", ok("Content-Encoding: gzip\r\n"+length, text), text, false, false},
		{"two fields for codings", ok("Content-Encoding: none\r\nContent-Encoding: gzip\r\n", zipped), text, false, false},
		{"gzip twice in the header, once in the body", ok("Content-Encoding: gzip\r\nContent-Encoding: gzip\r\n", zipped), text, false, false},
		{"empty coding", ok("Content-Encoding:\r\n"+length, text), text, false, false},
		{"bytes behind gzip", ok("Content-Encoding: x-gzip\r\n", zipped+"\x00\x00"), text, false, false},
		{"length of the decoded body", ok("Content-Encoding: gzip\r\n"+fmt.Sprintf("Content-Length: %d\r\n", len(zipped)), zipped), text, false, false},
		{"body longer than its length", ok(length, text+"more"), text, false, false},
		{"two lengths that are equal", ok(length+length, text), text, false, false},
		{"no length and no coding", ok("", text), text, false, false},
		{"status line without a reason", "HTTP/1.1 200\r\n" + length + "\r\n" + text, text, false, false},
		{"bare line feeds", strings.ReplaceAll(ok(length, text), "\r", ""), text, false, false},
		{"chunks with an extension and a trailer", ok("Transfer-Encoding: chunked\r\n", "a;x=y\r\n"+text+"\r\n0\r\nX: y\r\n\r\n"), text, false, false},
		{"chunks and a length", ok("Transfer-Encoding: chunked\r\nContent-Length: 3\r\n", "a\r\n"+text+"\r\n0\r\n\r\n"), text, false, false},

		{"a coding that is not supported", ok("Content-Encoding: compress\r\n"+length, text), "", true, false},
		{"damaged gzip", ok("Content-Encoding: gzip\r\n", zipped[:12]+"\xff\xff\xff\xff"), "", true, false},
		{"half of gzip", ok("Content-Encoding: gzip\r\n", zipped[:len(zipped)-12]), "<h", true, false},
		{"chunk of a wrong length", ok("Transfer-Encoding: chunked\r\n", "4\r\n"+text+"\r\n0\r\n\r\n"), text[:4], true, false},
		{"header line without a name", "HTTP/1.1 200 OK\r\n: x\r\n\r\n", "", true, false},
		{"two lengths", ok(length+"Content-Length: 3\r\n", text), "", true, false},
		{"endless header", ok("X: "+strings.Repeat("x", 300<<10)+"\r\n", ""), "", true, false},
		{"not HTTP", "SSH-2.0-OpenSSH_9.2\r\n\r\n", "", true, false},

		{"body shorter than its length", ok("Content-Length: 100\r\n", text), text, false, false},
		{"no last chunk", ok("Transfer-Encoding: chunked\r\n", "a\r\n"+text+"\r\n"), text, false, true},
		{"half a header", "HTTP/1.1 200 OK\r\nX: y", "", false, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			a, err := client(t, own).Get(t.Context(), Request{URL: parse(t, respond(t, test.answer)), MaxBody: robots.MaxSize})
			body := ""
			if a != nil {
				body = string(a.Body)
			}
			if malformed := errors.Is(err, ErrMalformed); malformed != test.malformed || (err != nil) != (test.malformed || test.cut) || !strings.HasPrefix(body, test.want) || body == "" && test.want != "" {
				t.Errorf("body %q, error %v", body, err)
			}
		})
	}
}
