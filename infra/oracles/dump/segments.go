package main

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zlib"
	"github.com/klauspost/compress/zstd"

	"forager/internal/platform/segment"
	"forager/internal/web/warc"
	"forager/internal/web/webarchive"
	"forager/internal/web/webclient"
	"forager/internal/web/weburl"
	"forager/schemas"
)

// storedPage is a page in a segment, with the fields of page.fetched.
type storedPage struct {
	Segment   string `json:"segment"` // file
	Offset    int64  `json:"offset"`
	Length    int64  `json:"length"`
	URL       string `json:"url"`
	ID        string `json:"id"` // of the request, 32 hexadecimal digits
	Status    int    `json:"status"`
	Digest    string `json:"digest"`
	Payload   string `json:"payload"` // SHA-256 of the body, hexadecimal
	Truncated bool   `json:"truncated"`
}

// readRecord is one response record read from a WARC file.
type readRecord struct {
	Offset  int64  `json:"offset"`
	URL     string `json:"url"`
	Status  int    `json:"status"`
	Payload string `json:"payload"`
}

// segments writes segments of hostile responses, fetched over HTTP as the stage fetch does, and of the pages of
// a frozen web fetched through its proxy; with -read it lists the records of a file.
func segments(args []string) error {
	flags := flag.NewFlagSet("segments", flag.ContinueOnError)
	out := flags.String("out", "", "`folder` for the segments")
	web := flags.String("web", "", "WARC `file` whose web is fetched, too")
	read := flags.String("read", "", "WARC `file` whose records are listed; nothing is written")
	if err := flags.Parse(args); err != nil {
		return err
	}
	encode := json.NewEncoder(os.Stdout)
	if *read != "" {
		records, err := readAll(*read)
		if err != nil {
			return err
		}
		return encode.Encode(records)
	}
	f := &fetching{folder: folderStore(*out)}
	server, err := hostileServer()
	if err != nil {
		return err
	}
	defer server.Close()
	var urls []string
	for path := range hostile {
		urls = append(urls, "http://"+server.Addr().String()+path)
	}
	if err := f.fetch("", urls); err != nil {
		return err
	}
	if *web != "" {
		archive, err := webarchive.Open(context.Background(), *web)
		if err != nil {
			return err
		}
		defer archive.Close()
		proxy := httptest.NewServer(archive.Handler(nil))
		defer proxy.Close()
		if err := f.fetch(proxy.URL, archive.URLs()); err != nil {
			return err
		}
	}
	return encode.Encode(f.pages)
}

func readAll(path string) ([]readRecord, error) {
	var records []readRecord
	for record, err := range warc.Responses(path) {
		if err != nil {
			return nil, err
		}
		answer, err := record.Response()
		if err != nil {
			return nil, err
		}
		records = append(records, readRecord{record.Offset, record.TargetURI, answer.Status, fmt.Sprintf("%x", sha256.Sum256(answer.Body))})
	}
	return records, nil
}

// folderStore is an object store in a folder.
type folderStore string

func (f folderStore) Put(_ context.Context, key string, r io.Reader, _ int64) error {
	path := filepath.Join(string(f), filepath.FromSlash(key))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	_, err = io.Copy(file, r)
	return errors.Join(err, file.Close())
}

type fetching struct {
	folder folderStore
	mu     sync.Mutex
	pages  []storedPage
	failed []error
}

const maxBody = 1 << 20

// fetch fetches the URLs and stores all responses.
func (f *fetching) fetch(proxy string, urls []string) error {
	client, err := webclient.New(webclient.Settings{
		HeaderTimeout: 10 * time.Second, BodyTimeout: 10 * time.Second, Proxy: proxy, AllowPrivate: []string{"127.0.0.0/8"}, Connections: 8,
	})
	if err != nil {
		return err
	}
	defer client.Close()
	ctx := context.Background()
	writer := segment.NewWriter(ctx, f.folder, segment.Settings{
		Bytes: 1 << 20, Age: 50 * time.Millisecond, Instance: "fetch-0", Software: "forager fetch",
	}, slog.New(slog.DiscardHandler))
	for _, url := range urls {
		u, err := weburl.Parse(url)
		if err != nil {
			return err
		}
		began := time.Now()
		answer, err := client.Get(ctx, webclient.Request{URL: u, UserAgent: "forager/1", MaxBody: maxBody})
		for tries := 1; err != nil && tries < 5; tries++ {
			// The server closes every connection after its response without announcing it: a kept connection
			// may be closed. A crawl retries later.
			answer, err = client.Get(ctx, webclient.Request{URL: u, UserAgent: "forager/1", MaxBody: maxBody})
		}
		if err != nil {
			return fmt.Errorf("fetch %s: %w", url, err)
		}
		id := schemas.RequestID("oracle", u.String(), 1)
		page := storedPage{
			URL: u.String(), ID: id.String(), Status: answer.Status, Truncated: answer.Truncated != "",
			Payload: fmt.Sprintf("%x", sha256.Sum256(answer.Body)),
		}
		err = writer.Add(ctx, answer.Page(id, u.String(), began), func(at segment.Location, err error) {
			f.mu.Lock()
			defer f.mu.Unlock()
			page.Segment, page.Offset, page.Length, page.Digest = filepath.Join(string(f.folder), at.Object), at.Offset, at.Length, at.Digest
			f.pages, f.failed = append(f.pages, page), append(f.failed, err)
		})
		if err != nil {
			return err
		}
	}
	if err := writer.Close(ctx); err != nil {
		return err
	}
	return errors.Join(f.failed...)
}

// hostile are responses by path, byte for byte. The connection is closed after each.
var hostile = func() map[string]string {
	everyByte := make([]byte, 256)
	for i := range everyByte {
		everyByte[i] = byte(i)
	}
	text := strings.Repeat("<p>some text ", 300)
	pack := func(open func(io.Writer) io.WriteCloser, s string) string {
		var b bytes.Buffer
		w := open(&b)
		_, _ = io.WriteString(w, s)
		w.Close()
		return b.String()
	}
	zip := func(s string) string { return pack(func(w io.Writer) io.WriteCloser { return gzip.NewWriter(w) }, s) }
	zstandard := func(w io.Writer) io.WriteCloser { z, _ := zstd.NewWriter(w); return z } // no options, no error
	coded := func(coding, body string) string {
		return fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Encoding: %s\r\nContent-Length: %d\r\n\r\n%s", coding, len(body), body)
	}
	plain := func(body string) string {
		return fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
	}
	chunked := func(headers, body string) string {
		var b strings.Builder
		b.WriteString("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n" + headers + "\r\n")
		for len(body) > 0 {
			n := min(len(body), 100)
			fmt.Fprintf(&b, "%x;extension=1\r\n%s\r\n", n, body[:n])
			body = body[n:]
		}
		return b.String() + "0\r\nTrailer: x\r\n\r\n"
	}
	member := zip("WARC/1.1\r\nWARC-Type: response\r\nContent-Length: 0\r\n\r\n\r\n\r\n")
	return map[string]string{
		"/plain":                plain(text),
		"/empty":                plain(""),
		"/one-byte":             plain("x"),
		"/every-byte":           plain(string(everyByte)),
		"/line-ends":            plain("\r\n\r\n\r\n"),
		"/record-in-body":       plain("\r\n\r\nWARC/1.1\r\nWARC-Type: response\r\nContent-Length: 5\r\n\r\nhello\r\n\r\n"),
		"/member-in-body":       plain(member + member),
		"/http-in-body":         plain("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc"),
		"/utf-16":               plain("\xff\xfe<\x00p\x00>\x00"),
		"/latin-1":              plain("<p>caf\xe9"),
		"/long":                 plain(strings.Repeat("<p>long", 300_000)), // beyond maxBody
		"/incompressible":       plain(zip(strings.Repeat(string(everyByte), 50) + text)),
		"/gzip":                 coded("gzip", zip(text)),
		"/gzip-of-nothing":      coded("gzip", zip("")),
		"/gzip-empty-body":      coded("gzip", ""),
		"/gzip-twice":           coded("gzip, gzip", zip(zip(text))),
		"/gzip-two-members":     coded("gzip", zip("one")+zip("two")),
		"/br":                   coded("br", pack(func(w io.Writer) io.WriteCloser { return brotli.NewWriter(w) }, text)),
		"/zstd":                 coded("zstd", pack(zstandard, text)),
		"/deflate":              coded("deflate", pack(func(w io.Writer) io.WriteCloser { return zlib.NewWriter(w) }, text)),
		"/identity":             coded("identity", text),
		"/chunked":              chunked("Content-Type: text/html\r\n", text),
		"/chunked-empty":        chunked("Content-Type: text/html\r\n", ""),
		"/chunked-gzip":         chunked("Content-Encoding: gzip\r\n", zip(text)),
		"/chunks-in-body":       plain("3\r\nabc\r\n0\r\n\r\n"),
		"/old":                  "HTTP/1.0 200 OK\r\nContent-Type: text/html\r\n\r\n" + text,
		"/no-header":            "HTTP/1.1 200 OK\r\n\r\n" + text,
		"/no-reason":            "HTTP/1.1 200 \r\nContent-Length: 2\r\n\r\nhi",
		"/odd-reason":           "HTTP/1.1 299 W\xe9ll: \"done\"\r\nContent-Length: 2\r\n\r\nhi",
		"/header-bytes":         "HTTP/1.1 200 OK\r\nServer: caf\xe9 \xff\r\nContent-Length: 2\r\n\r\nhi",
		"/header-utf-8":         "HTTP/1.1 200 OK\r\nServer: café ☕\r\nContent-Length: 2\r\n\r\nhi",
		"/header-folded":        "HTTP/1.1 200 OK\r\nServer: a\r\n  b\r\nContent-Length: 2\r\n\r\nhi",
		"/header-warc":          "HTTP/1.1 200 OK\r\nWARC-Type: request\r\nWARC-Record-ID: <x>\r\nContent-Length: 2\r\n\r\nhi",
		"/header-empty":         "HTTP/1.1 200 OK\r\nX-Empty:\r\nContent-Length: 2\r\n\r\nhi",
		"/header-long":          "HTTP/1.1 200 OK\r\nX-Long: " + strings.Repeat("x", 100_000) + "\r\nContent-Length: 2\r\n\r\nhi",
		"/headers-many":         "HTTP/1.1 200 OK\r\n" + strings.Repeat("Set-Cookie: a=b; path=/\r\n", 500) + "Content-Length: 2\r\n\r\nhi",
		"/length-twice":         "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 2\r\n\r\nhi",
		"/not-found":            "HTTP/1.1 404 Not Found\r\nContent-Length: 4\r\n\r\ngone",
		"/moved":                "HTTP/1.1 301 Moved\r\nLocation: /x y\r\nContent-Length: 0\r\n\r\n",
		"/query?a=%26&b=%0D%0A": plain("query"),
		"/%E2%98%95;x=%00":      plain("escapes"),
	}
}()

// hostileServer listens and responds with the bytes of hostile.
func hostileServer() (net.Listener, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				r, err := http.ReadRequest(bufio.NewReader(conn))
				if err == nil {
					_, _ = io.WriteString(conn, hostile[r.RequestURI])
				}
			}()
		}
	}()
	return l, nil
}
