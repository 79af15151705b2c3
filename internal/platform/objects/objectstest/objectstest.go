package objectstest

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/versity/versitygw/backend/meta"
	"github.com/versity/versitygw/backend/posix"
	"github.com/versity/versitygw/embedgw"

	"forager/internal/platform/freeport"
	"forager/internal/platform/objects"
	"forager/internal/platform/pipeline"
)

const (
	folderEnv = "FORAGER_OBJECTSTEST_FOLDER"
	portEnv   = "FORAGER_OBJECTSTEST_PORT"
	accessKey = "forager"
	secretKey = "forager-secret"
)

// Main is the TestMain of a package that starts servers: the test binary is also the server.
func Main(m *testing.M) {
	if os.Getenv(folderEnv) != "" {
		if err := serve(); err != nil {
			fmt.Fprintln(os.Stderr, "objectstest:", err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// serve runs the gateway until standard input ends, when the test ends or is killed.
func serve() error {
	folder := os.Getenv(folderEnv)
	data, sidecar := filepath.Join(folder, "data"), filepath.Join(folder, "sidecar")
	for _, dir := range []string{data, sidecar} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		cancel()
		os.Exit(0)
	}()
	store, err := meta.NewSideCar(sidecar)
	if err != nil {
		return err
	}
	backend, err := posix.New(data, store, posix.PosixOpts{SideCarDir: sidecar})
	if err != nil {
		return err
	}
	return embedgw.RunVersityGW(ctx, backend, &embedgw.Config{
		RootUserAccess:    accessKey,
		RootUserSecret:    secretKey,
		Ports:             []string{"127.0.0.1:" + os.Getenv(portEnv)},
		MaxConnections:    256,
		MaxRequests:       256,
		MultipartMaxParts: 10000,
		KeepAlive:         true,
		Quiet:             true,
		DisableACLs:       true,
	})
}

// Server is an S3 server with an empty bucket.
type Server struct {
	// Config are the settings of a client.
	Config pipeline.S3
	folder string
	port   string
	cmd    *exec.Cmd
	stdin  io.Closer
}

// Start starts a server that ends with the test.
func Start(t testing.TB) *Server {
	t.Helper()
	addresses, err := freeport.Addresses(1)
	if err != nil {
		t.Fatal(err)
	}
	address := addresses[0]
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		t.Fatal(err)
	}
	s := &Server{
		Config: pipeline.S3{Endpoint: "http://" + address, Region: "us-east-1", Bucket: "forager", AccessKey: accessKey, SecretKey: secretKey},
		folder: t.TempDir(),
		port:   port,
	}
	t.Cleanup(s.stop)
	s.Up(t)
	if _, err := s.Store(t).EnsureBucket(t.Context()); err != nil {
		t.Fatal(err)
	}
	return s
}

// Store returns a client of the bucket.
func (s *Server) Store(t testing.TB) *objects.Store {
	t.Helper()
	store, err := objects.Open(s.Config)
	if err != nil {
		t.Fatal(err)
	}
	return store
}

// Down kills the server; its data are kept.
func (s *Server) Down(t testing.TB) {
	t.Helper()
	s.stop()
}

// KeepAttributes removes the content of an object and keeps its attributes, as a server that is killed between
// writing the two leaves them.
func (s *Server) KeepAttributes(t testing.TB, key string) {
	t.Helper()
	if err := os.Remove(filepath.Join(s.folder, "data", s.Config.Bucket, key)); err != nil {
		t.Fatal(err)
	}
}

func (s *Server) stop() {
	if s.cmd == nil {
		return
	}
	s.cmd.Process.Kill()
	_ = s.cmd.Wait()
	s.stdin.Close()
	s.cmd = nil
}

// Up starts the server, also after Down, and waits until it responds.
func (s *Server) Up(t testing.TB) {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	s.cmd = exec.Command(program)
	s.cmd.Env = append(os.Environ(), folderEnv+"="+s.folder, portEnv+"="+s.port)
	if s.stdin, err = s.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	stderr, err := s.cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan string, 1)
	go func() {
		var last string
		for lines := bufio.NewScanner(stderr); lines.Scan(); {
			last = lines.Text()
		}
		ended <- last
	}()
	store := s.Store(t)
	for {
		if _, err := store.HasBucket(t.Context()); err == nil {
			return
		}
		select {
		case last := <-ended:
			t.Fatalf("the S3 server ended: %s", last)
		case <-t.Context().Done():
			t.Fatal(t.Context().Err())
		default:
		}
	}
}
