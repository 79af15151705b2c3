package data

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"time"

	"forager/cmd/forager/deploy"
	"forager/cmd/internal/cli"
	"forager/internal/web/webarchive"
)

// ServeWebCommand is the command "forager serve-web".
type ServeWebCommand struct {
	File      string `arg:"" help:"WARC file." type:"existingfile"`
	Listen    string `help:"Loopback address of the proxy." default:"127.0.0.1:18180"`
	URLs      string `name:"urls" help:"Write the URLs of the web to this file, one a line (for scope.url_list)." type:"path"`
	AccessLog string `help:"Append one JSON line a request to this file." type:"path"`
}

func (c *ServeWebCommand) Help() string {
	return `The web is served as an HTTP proxy does: point stages.fetch.proxy of the pipeline file to it. URLs that
are not in the file are answered with 404.

  forager serve-web webkb.warc.gz --urls webkb.urls &
  curl -x http://127.0.0.1:18180 http://www.cs.cornell.edu/`
}

func (c *ServeWebCommand) Run(s *cli.Session) error {
	archive, err := webarchive.Open(s, c.File)
	if err != nil {
		return err
	}
	for _, d := range archive.Damaged() {
		fmt.Fprintf(s.Stderr, "%s: %v; the rest is served\n", c.File, d)
	}
	if c.URLs != "" {
		if err := WriteLines(c.URLs, archive.URLs()); err != nil {
			return err
		}
	}
	log, closeLog, err := OpenAccessLog(c.AccessLog)
	if err != nil {
		return err
	}
	defer closeLog()
	return ServeUntilDone(s, c.Listen, archive.Handler(log), func(address string) {
		fmt.Fprintf(s.Stdout, "%d URLs behind the proxy http://%s\n", len(archive.URLs()), address)
	})
}

// OpenAccessLog opens a file for appending; without a path it returns nil.
func OpenAccessLog(path string) (log io.Writer, closeLog func() error, err error) {
	if path == "" {
		return nil, func() error { return nil }, nil
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, nil, err
	}
	return f, f.Close, nil
}

// ServeUntilDone serves HTTP on a loopback address until the context ends.
func ServeUntilDone(ctx context.Context, address string, h http.Handler, ready func(address string)) error {
	if !deploy.Loopback(address) {
		return cli.Usagef("%q is not a loopback address", address)
	}
	l, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	srv := &http.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second}
	defer context.AfterFunc(ctx, func() { srv.Close() })()
	ready(l.Addr().String())
	if err := srv.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// WriteLines writes lines to a new file.
func WriteLines(path string, lines []string) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	for _, l := range lines {
		if _, err := io.WriteString(f, l+"\n"); err != nil {
			_ = f.Close()
			return err
		}
	}
	return f.Close()
}
