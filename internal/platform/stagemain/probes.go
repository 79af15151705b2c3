package stagemain

import (
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
)

// Metrics of package stream/metrics from which the probes are made, so that probes and Prometheus agree.
const (
	readyMetric = "forager_stage_ready"
	busyMetric  = "forager_stage_busy_seconds"
)

// stalled is the age of a step in progress at which the process no longer counts as live. It is far above that of
// the longest one, the ranking of the hubs of a large crawl.
const stalled = 15 * time.Minute

// handleProbes serves the probes of a stage. /livez fails if a step has been in progress for too long, while nothing
// unavailable is waited for. /readyz fails unless the process is a member of its consumer group and has its state.
func handleProbes(mux *http.ServeMux, metrics prometheus.Gatherer) {
	mux.HandleFunc("GET /livez", func(w http.ResponseWriter, _ *http.Request) {
		busy, _, err := gauge(metrics, busyMetric)
		if err == nil && busy > stalled.Seconds() {
			err = fmt.Errorf("a step has been in progress for %.0f s", busy)
		}
		probe(w, err)
	})
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		ready, ok, err := gauge(metrics, readyMetric)
		switch {
		case err != nil:
		case !ok:
			err = errors.New("the stage is starting")
		case ready != 1:
			err = errors.New("the stage is no member of its consumer group, or its state is not restored")
		}
		probe(w, err)
	})
}

func probe(w http.ResponseWriter, err error) {
	if err != nil {
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	fmt.Fprintln(w, "ok")
}

// gauge returns the value of a gauge without labels; ok: it is exported.
func gauge(metrics prometheus.Gatherer, name string) (value float64, ok bool, err error) {
	families, err := metrics.Gather()
	if err != nil {
		return 0, false, fmt.Errorf("gather the metrics: %w", err)
	}
	for _, f := range families {
		if f.GetName() == name && f.GetType() == dto.MetricType_GAUGE && len(f.GetMetric()) == 1 {
			return f.GetMetric()[0].GetGauge().GetValue(), true, nil
		}
	}
	return 0, false, nil
}
