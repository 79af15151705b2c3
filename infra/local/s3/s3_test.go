package s3_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"

	"forager/infra/local/s3"
)

// client returns a client and a function that closes its connections: the endpoint waits for open ones.
func client(t *testing.T, e *s3.Endpoint) (*minio.Client, func()) {
	t.Helper()
	transport := new(http.Transport)
	c, err := minio.New(e.Address(), &minio.Options{Creds: credentials.NewStaticV4("forager", "forager-secret", ""), Transport: transport})
	if err != nil {
		t.Fatal(err)
	}
	return c, transport.CloseIdleConnections
}

func TestObjectsOutliveTheEndpoint(t *testing.T) {
	ctx, dir := t.Context(), t.TempDir()
	t.Chdir(t.TempDir()) // also restores the working directory at the end
	settings := s3.Settings{AccessKey: "forager", SecretKey: "forager-secret", Region: "us-east-1", Buckets: []string{"forager"}}
	body := bytes.Repeat([]byte("0123456789"), 20_000)

	e, err := s3.Start(ctx, dir, "127.0.0.1:0", settings)
	if err != nil {
		t.Fatal(err)
	}
	c, hangUp := client(t, e)
	const key = "segments/20261121/a.warc.gz"
	info, err := c.PutObject(ctx, "forager", key, bytes.NewReader(body), int64(len(body)), minio.PutObjectOptions{})
	if err != nil {
		t.Fatal(err)
	}
	once := minio.PutObjectOptions{}
	once.SetMatchETagExcept("*")
	_, err = c.PutObject(ctx, "forager", key, strings.NewReader("other"), 5, once)
	if r := minio.ToErrorResponse(err); r.StatusCode != 412 {
		t.Errorf("a second write with If-None-Match answered %v, want 412", err)
	}
	hangUp()
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	if conn, err := net.Dial("tcp", e.Address()); err == nil {
		conn.Close()
		t.Error("the endpoint answers after Close")
	}

	e, err = s3.Start(ctx, dir, "127.0.0.1:0", settings)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	c, hangUp = client(t, e)
	defer hangUp()
	part := minio.GetObjectOptions{}
	if err := part.SetRange(100_003, 100_007); err != nil {
		t.Fatal(err)
	}
	o, err := c.GetObject(ctx, "forager", key, part)
	if err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(o)
	if err != nil || string(got) != "34567" {
		t.Errorf("range read %q, %v", got, err)
	}
	stat, err := c.StatObject(ctx, "forager", key, minio.StatObjectOptions{})
	if err != nil || stat.ETag != info.ETag {
		t.Errorf("ETag %q before, %q after the restart (%v)", info.ETag, stat.ETag, err)
	}
	_, err = c.StatObject(ctx, "forager", "segments/none", minio.StatObjectOptions{})
	if r := minio.ToErrorResponse(err); r.Code != "NoSuchKey" {
		t.Errorf("a missing object answered %v", err)
	}
	wrong, err := minio.New(e.Address(), &minio.Options{Creds: credentials.NewStaticV4("forager", "wrong", "")})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := wrong.ListBuckets(ctx); err == nil {
		t.Error("a wrong secret is taken")
	}
}

func TestStartRefusesWhatItCannotServe(t *testing.T) {
	t.Chdir(t.TempDir())
	settings := s3.Settings{AccessKey: "a", SecretKey: "b"}
	if _, err := s3.Start(t.Context(), t.TempDir(), "192.0.2.1:9000", settings); err == nil || !strings.Contains(err.Error(), "loopback") {
		t.Errorf("a foreign address: %v", err)
	}
	if _, err := s3.Start(t.Context(), t.TempDir(), "127.0.0.1:0", s3.Settings{}); err == nil || !strings.Contains(err.Error(), "secret") {
		t.Errorf("no keys: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s3.Start(ctx, t.TempDir(), "127.0.0.1:0", settings); err == nil {
		t.Error("started though the context had ended")
	}
}

// TestSlowClientsAreHungUpOn: connections with an endless header or without a request are closed; a body may
// take longer than a header.
func TestSlowClientsAreHungUpOn(t *testing.T) {
	t.Chdir(t.TempDir())
	const header = 500 * time.Millisecond
	s3.SetTimes(t, header, header)
	e, err := s3.Start(t.Context(), t.TempDir(), "127.0.0.1:0", s3.Settings{AccessKey: "forager", SecretKey: "forager-secret", Buckets: []string{"forager"}})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	for name, begin := range map[string]string{
		"no header": "", "half a header": "GET /forager HTTP/1.1\r\nHost: a\r\nX-Slow: ", "no second request": "GET /_health HTTP/1.1\r\nHost: a\r\n\r\n",
	} {
		conn, err := net.Dial("tcp", e.Address())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if _, err := io.WriteString(conn, begin); err != nil {
			t.Fatal(err)
		}
		stop := make(chan struct{})
		go func() { // single bytes do not extend the time
			defer close(stop)
			for name == "half a header" {
				if _, err := io.WriteString(conn, "x"); err != nil {
					return
				}
				<-time.After(header / 10)
			}
		}()
		conn.SetReadDeadline(time.Now().Add(time.Minute))
		if _, err := io.ReadAll(conn); errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("%s: the connection is still open", name)
		}
		conn.Close()
		<-stop
	}
	c, hangUp := client(t, e)
	defer hangUp()
	body := io.MultiReader(strings.NewReader("slow"), &late{after: 2 * header, Reader: strings.NewReader("ly")})
	if _, err := c.PutObject(t.Context(), "forager", "slow", body, 6, minio.PutObjectOptions{DisableMultipart: true}); err != nil {
		t.Errorf("a slow body: %v", err)
	}
}

// late is a reader that starts after a delay.
type late struct {
	after time.Duration
	io.Reader
}

func (l *late) Read(p []byte) (int, error) {
	<-time.After(l.after)
	l.after = 0
	return l.Reader.Read(p)
}
