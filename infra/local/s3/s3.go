package s3

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"time"

	"github.com/gofiber/fiber/v3"
	"github.com/valyala/fasthttp"
	"github.com/versity/versitygw/auth"
	"github.com/versity/versitygw/backend/meta"
	"github.com/versity/versitygw/backend/posix"
	"github.com/versity/versitygw/embedgw"
	"github.com/versity/versitygw/s3api"
)

// Settings of the endpoint.
type Settings struct {
	// AccessKey and SecretKey of the only user. Required.
	AccessKey, SecretKey string
	// Region that clients sign for; empty = us-east-1.
	Region string
	// Buckets to create if they are missing; may be empty.
	Buckets []string
}

// Endpoint is a running S3 endpoint.
type Endpoint struct {
	address string
	stop    context.CancelFunc
	ended   chan struct{}
	err     error
}

const (
	objectsFolder    = "objects"
	attributesFolder = "attributes"
	healthPath       = "/_health"
)

// Start serves the objects below dir on address (host:port, loopback; port 0 selects a free one); the folder is
// created if necessary. It returns when the endpoint responds. ctx bounds the start only. It changes the
// working directory of the process.
func Start(ctx context.Context, dir, address string, s Settings) (*Endpoint, error) {
	address, err := claim(address)
	if err != nil {
		return nil, err
	}
	dir, err = filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("s3: %w", err)
	}
	root := filepath.Join(dir, objectsFolder)
	if err := os.MkdirAll(root, 0o755); err != nil {
		return nil, fmt.Errorf("s3: %w", err)
	}
	for _, b := range s.Buckets {
		if err := os.MkdirAll(filepath.Join(root, b), 0o755); err != nil {
			return nil, fmt.Errorf("s3: %w", err)
		}
	}
	attributes, options, err := attributesOf(dir, root)
	if err != nil {
		return nil, err
	}
	back, err := posix.New(root, attributes, options)
	if err != nil {
		return nil, fmt.Errorf("s3: open %s: %w", root, err)
	}
	running, stop := context.WithCancel(context.Background())
	e := &Endpoint{address: address, stop: stop, ended: make(chan struct{})}
	go func() {
		defer close(e.ended)
		e.err = embedgw.RunVersityGW(running, back, &embedgw.Config{
			RootUserAccess: s.AccessKey, RootUserSecret: s.SecretKey, Region: s.Region,
			IAMService:     auth.NewIAMServiceSingle(auth.Account{Access: s.AccessKey, Secret: s.SecretKey, Role: auth.RoleAdmin}),
			Ports:          []string{address},
			MaxConnections: 4096, MaxRequests: 1024, MultipartMaxParts: 10_000,
			KeepAlive: true, Quiet: true, HealthPath: healthPath,
			S3Options: []s3api.Option{bounded},
		})
	}()
	if err := e.waitReady(ctx); err != nil {
		_ = e.Close()
		return nil, err
	}
	return e, nil
}

// Time limits for a header and a body to arrive, and for an idle connection. The gateway limits the header to 8 KiB. After headerTime
// it sends an error to a client that has connected and sent no request, and closes. It is longer than clients keep such connections (minio-go a minute).
var (
	headerTime = 90 * time.Second
	bodyTime   = 10 * time.Minute
	idleTime   = 2 * time.Minute
)

// bounded sets the time limits before the first connection is accepted. The gateway has no setting for them and
// does not expose its HTTP server, which it makes after applying its options; so the server is read from a
// field of the gateway, by name (docs/decisions/0073).
func bounded(gateway *s3api.S3ApiServer) {
	s3api.WithOnListen(func() {
		app := (*fiber.App)(reflect.ValueOf(gateway).Elem().FieldByName("app").UnsafePointer())
		server := app.Server()
		server.ReadTimeout, server.IdleTimeout, server.WriteTimeout = headerTime, idleTime, bodyTime
		server.HeaderReceived = func(*fasthttp.RequestHeader) fasthttp.RequestConfig {
			return fasthttp.RequestConfig{ReadTimeout: bodyTime}
		}
	})(gateway)
}

// claim checks that the address is a free loopback address and replaces port 0 by a free port: the gateway does
// not report the port it listens on.
func claim(address string) (string, error) {
	tcp, err := net.ResolveTCPAddr("tcp", address)
	if err != nil {
		return "", fmt.Errorf("s3: address %q: %w", address, err)
	}
	if !tcp.IP.IsLoopback() {
		return "", fmt.Errorf("s3: address %q: the embedded endpoint serves loopback addresses only", address)
	}
	l, err := net.ListenTCP("tcp", tcp)
	if err != nil {
		return "", fmt.Errorf("s3: %w", err)
	}
	defer l.Close()
	return l.Addr().String(), nil
}

func attributesOf(dir, root string) (meta.MetadataStorer, posix.PosixOpts, error) {
	neighbour := filepath.Join(dir, attributesFolder)
	_, err := os.Stat(neighbour)
	if err != nil && (meta.XattrMeta{}).Test(root) == nil {
		return meta.XattrMeta{}, posix.PosixOpts{}, nil
	}
	if err := os.MkdirAll(neighbour, 0o755); err != nil {
		return nil, posix.PosixOpts{}, fmt.Errorf("s3: %w", err)
	}
	side, err := meta.NewSideCar(neighbour)
	if err != nil {
		return nil, posix.PosixOpts{}, fmt.Errorf("s3: attributes in %s: %w", neighbour, err)
	}
	return side, posix.PosixOpts{SideCarDir: neighbour}, nil
}

func (e *Endpoint) waitReady(ctx context.Context) error {
	client := &http.Client{Transport: &http.Transport{Proxy: nil, DisableKeepAlives: true}}
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, e.URL()+healthPath, nil)
		if err != nil {
			return fmt.Errorf("s3: %w", err)
		}
		if resp, err := client.Do(req); err == nil {
			resp.Body.Close()
			if resp.StatusCode == http.StatusOK {
				return nil
			}
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("s3: the endpoint at %s does not answer: %w", e.address, ctx.Err())
		case <-e.ended:
			if e.err == nil {
				return errors.New("s3: the endpoint ended as soon as it began")
			}
			return fmt.Errorf("s3: serve %s: %w", e.address, e.err)
		case <-tick.C:
		}
	}
}

// URL returns the address with its scheme, for clients.
func (e *Endpoint) URL() string { return "http://" + e.address }

// Ended returns a channel that is closed when the endpoint no longer serves.
func (e *Endpoint) Ended() <-chan struct{} { return e.ended }

// Close finishes the requests in progress and stops.
func (e *Endpoint) Close() error {
	e.stop()
	<-e.ended
	if e.err != nil && !errors.Is(e.err, context.Canceled) {
		return fmt.Errorf("s3: %w", e.err)
	}
	return nil
}
