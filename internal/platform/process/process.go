package process

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/pprof"
	"runtime/debug"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"golang.org/x/net/netutil"

	"forager/internal/platform/pipeline"
)

// NewRegistry returns a registry with the metrics of Go, of the process and of the program's build.
func NewRegistry() *prometheus.Registry {
	r := prometheus.NewRegistry()
	r.MustRegister(collectors.NewGoCollector(), collectors.NewBuildInfoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return r
}

// notGo is the memory of a process that Go's limit does not count, bytes: mostly the program
// itself.
const notGo = 32 << 20

// GoMemory returns Go's memory limit for a process that may use so many bytes.
func GoMemory(process int64) int64 { return max(process-notGo, process/2) }

// metricsConnections is the largest number of open connections; more wait.
const metricsConnections = 32

// Start sets the memory limits of a process and serves its metrics at /metrics, Go's profiles at /debug/pprof/
// if the settings enable them, and more, until stop is called. Errors begin with the setting's name.
func Start(
	ctx context.Context, s pipeline.Process, metrics *prometheus.Registry, log *slog.Logger, more ...func(*http.ServeMux, prometheus.Gatherer),
) (stop func(), err error) {
	if s.MemoryBytes > 0 {
		debug.SetMemoryLimit(GoMemory(s.MemoryBytes))
	}
	if s.GCPercent > 0 {
		debug.SetGCPercent(s.GCPercent)
	}
	if s.Metrics == "" {
		return func() {}, nil
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", s.Metrics)
	if err != nil {
		return nil, fmt.Errorf("metrics: %w", err)
	}
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(metrics, promhttp.HandlerOpts{Registry: metrics}))
	for _, f := range more {
		f(mux, metrics)
	}
	if s.Profiles {
		mux.HandleFunc("GET /debug/pprof/", pprof.Index)
		mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
		mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
	}
	server := &http.Server{
		Handler: mux, ReadHeaderTimeout: 10 * time.Second, ReadTimeout: 20 * time.Second, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 16 << 10,
	}
	go server.Serve(netutil.LimitListener(listener, metricsConnections)) // ends with Close
	log.Info("metrics", "address", listener.Addr().String())
	return func() { server.Close() }, nil
}
