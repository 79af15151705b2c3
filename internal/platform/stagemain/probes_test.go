package stagemain

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
)

type noMetrics struct{}

func (noMetrics) Gather() ([]*dto.MetricFamily, error) { return nil, errors.New("cannot gather") }

func TestProbes(t *testing.T) {
	gauges := func(values map[string]float64) prometheus.Gatherer {
		reg := prometheus.NewPedanticRegistry()
		for name, v := range values {
			g := prometheus.NewGauge(prometheus.GaugeOpts{Name: name, Help: name})
			g.Set(v)
			reg.MustRegister(g)
		}
		return reg
	}
	for _, k := range []struct {
		what        string
		metrics     prometheus.Gatherer
		live, ready int
	}{
		{"starting", gauges(nil), 200, 503},
		{"not a member", gauges(map[string]float64{readyMetric: 0, busyMetric: 0}), 200, 503},
		{"ready", gauges(map[string]float64{readyMetric: 1, busyMetric: 0}), 200, 200},
		{"in a long step", gauges(map[string]float64{readyMetric: 1, busyMetric: stalled.Seconds()}), 200, 200},
		{"stalled", gauges(map[string]float64{readyMetric: 1, busyMetric: stalled.Seconds() + 1}), 503, 200},
		{"metrics fail", noMetrics{}, 503, 503},
	} {
		mux := http.NewServeMux()
		handleProbes(mux, k.metrics)
		for path, want := range map[string]int{"/livez": k.live, "/readyz": k.ready} {
			w := httptest.NewRecorder()
			mux.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
			if w.Code != want {
				t.Errorf("%s: %s has status %d, want %d: %s", k.what, path, w.Code, want, w.Body)
			}
		}
	}
}
