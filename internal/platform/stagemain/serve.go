package stagemain

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"fmt"
	"net"
	"net/http"
	"os"
	"time"

	"forager/internal/platform/pipeline"
)

// serve serves handlers at the address of the metrics. Without one they are served on the loopback interface, to those who have the
// token that is with the address in a file of the state directory (pipeline.AddressFile), until stop is called.
func (e *Env) serve(ctx context.Context, handlers map[string]http.Handler) (stop func(), err error) {
	if e.Handle != nil {
		for pattern, h := range handlers {
			e.Handle(pattern, h)
		}
		return func() {}, nil
	}
	mux, token := http.NewServeMux(), rand.Text()
	for pattern, h := range handlers {
		mux.Handle(pattern, h)
	}
	guarded := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if subtle.ConstantTimeCompare([]byte(r.Header.Get("Authorization")), []byte("Bearer "+token)) != 1 {
			http.Error(w, "another token", http.StatusUnauthorized)
			return
		}
		mux.ServeHTTP(w, r)
	})
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("serve on the loopback interface: %w", err)
	}
	server := &http.Server{Handler: guarded, ReadHeaderTimeout: 10 * time.Second, ReadTimeout: 20 * time.Second, IdleTimeout: time.Minute, MaxHeaderBytes: 16 << 10}
	go server.Serve(listener) // ends with Close
	path := pipeline.AddressFile(e.StateDir, e.Replica)
	if err = os.MkdirAll(e.StateDir, 0o700); err == nil {
		err = os.WriteFile(path, []byte(listener.Addr().String()+" "+token+"\n"), 0o600)
	}
	if err != nil {
		server.Close()
		return nil, fmt.Errorf("write the address of the stage: %w", err)
	}
	return func() {
		server.Close()
		os.Remove(path)
	}, nil
}
