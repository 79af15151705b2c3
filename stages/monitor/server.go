package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"golang.org/x/net/netutil"

	"forager/internal/monitor/api"
	"forager/internal/monitor/guard"
	"forager/internal/monitor/notify"
	"forager/internal/monitor/view"
	"forager/internal/monitor/web"
	"forager/internal/platform/pipeline"
	"forager/internal/platform/stagemain"
)

// newServer returns the server of the page and the interface.
func newServer(s *view.Source, cfg *pipeline.Config) (*http.Server, error) {
	token, err := cfg.Token()
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	api.Register(mux, s)
	web.Register(mux, s)
	g := &guard.Guard{Token: token, Denied: http.HandlerFunc(web.Denied)}
	server := &http.Server{
		ReadHeaderTimeout: 10 * time.Second, ReadTimeout: 30 * time.Second, WriteTimeout: time.Minute, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 64 << 10,
	}
	if m := &cfg.Stages.Monitor; m.TLSCert != "" {
		pair, err := tls.LoadX509KeyPair(m.TLSCert, m.TLSKey)
		if err != nil {
			return nil, fmt.Errorf("stages.monitor.tls_cert: %w", err)
		}
		leaf, err := x509.ParseCertificate(pair.Certificate[0])
		if err != nil {
			return nil, fmt.Errorf("stages.monitor.tls_cert: %w", err)
		}
		server.TLSConfig = &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}
		g.TLS, g.Names = true, func(host string) bool { return leaf.VerifyHostname(host) == nil }
	}
	server.Handler = g.Protect(api.Once(mux))
	return server, nil
}

// connections is the largest number of open connections; more wait.
const connections = 256

// link returns the address of the page for events: under the first name of the certificate, if there is one.
func link(server *http.Server, cfg *pipeline.Config) string {
	address := cfg.Stages.Monitor.Address
	if server.TLSConfig == nil {
		return "http://" + address
	}
	host, port, err := net.SplitHostPort(address)
	if names := server.TLSConfig.Certificates[0].Leaf.DNSNames; err == nil && len(names) > 0 {
		host = names[0]
	}
	return "https://" + net.JoinHostPort(host, port)
}

// serve serves, and derives and sends events, until ctx ends.
func serve(server *http.Server, n *notify.Notifier) stagemain.Runner {
	return func(ctx context.Context, _ *stagemain.Stage, env *stagemain.Env) error {
		address, err := pipeline.ReplicaAddress(env.Config.Stages.Monitor.Address, env.Replica)
		if err != nil {
			return fmt.Errorf("stages.monitor.address: %w", err)
		}
		listener, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
		if err != nil {
			return fmt.Errorf("stages.monitor.address: %w", err)
		}
		env.Log.Info("serving", "address", listener.Addr().String(), "tls", server.TLSConfig != nil)
		listener = netutil.LimitListener(listener, connections)
		if server.TLSConfig != nil {
			listener = tls.NewListener(listener, server.TLSConfig)
		}
		server.BaseContext = func(net.Listener) context.Context { return ctx }
		served := make(chan error, 1)
		go func() { served <- server.Serve(listener) }()
		notifying, stop := context.WithCancel(ctx)
		ended := make(chan struct{})
		go func() {
			n.Run(notifying)
			close(ended)
		}()
		err = env.Kafka.Serve(ctx)
		stop()
		server.Close()
		<-ended
		if failed := <-served; !errors.Is(failed, http.ErrServerClosed) {
			err = errors.Join(err, failed)
		}
		return err
	}
}
