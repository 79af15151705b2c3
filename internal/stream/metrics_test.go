package stream

import (
	"context"
	"errors"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"forager/internal/stream/streamtest"
)

func TestMetrics(t *testing.T) {
	t.Parallel()
	w := newWorld(t, streamtest.Start(t))
	in, out := w.topic(t, "in", 1), w.topic(t, "out", 1)
	reg := prometheus.NewPedanticRegistry()
	c, err := Dial(w.broker.Config(), w.topics, discard, reg)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	send(t, c, numbers(in, 0, 10))
	gate := make(chan struct{})
	s := copyTo("metrics", in, out)
	copyOne := s.Handle
	s.Handle = func(ctx context.Context, r Record) ([]Out, error) {
		switch string(r.Value) {
		case "3":
			return nil, errors.New("no good")
		case "7":
			<-gate
		}
		return copyOne(ctx, r)
	}
	r := run(t, func(ctx context.Context) error { return s.Run(ctx, c) })
	eventually(t, func() bool { return gathered(t, reg)["forager_stage_lag_records 0 "+in] == 3 })
	close(gate)
	eventually(t, func() bool { at, _ := committed(t, c, "metrics", in, 0); return at == 10 })
	if err := r.end(); err != nil {
		t.Fatal(err)
	}
	got := gathered(t, reg)
	for series, want := range map[string]float64{
		"forager_stage_records_in_total " + in: 10, "forager_stage_poison_total " + in: 1,
		"forager_stage_records_out_total " + in: 10, "forager_stage_records_out_total " + out: 9, "forager_stage_records_out_total dead.letter": 1,
		"forager_stage_errors_total record": 1, "forager_stage_handle_seconds": 10, "forager_stage_waiting": 0, "forager_stage_generations_total": 1,
		"forager_stage_lag_records 0 " + in: 0,
	} {
		if v, ok := got[series]; !ok || v != want {
			t.Errorf("%s is %v (there: %v), want %v", series, v, ok, want)
		}
	}
	if _, err := Dial(w.broker.Config(), w.topics, discard, reg); err == nil {
		t.Error("a second client took the same registry without a word")
	}
}

// gathered are all series by name and label values; of a histogram, its count.
func gathered(t testing.TB, reg prometheus.Gatherer) map[string]float64 {
	t.Helper()
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	series := map[string]float64{}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			name := f.GetName()
			for _, l := range m.GetLabel() {
				name += " " + l.GetValue()
			}
			series[name] = m.GetCounter().GetValue() + m.GetGauge().GetValue() + float64(m.GetHistogram().GetSampleCount())
		}
	}
	return series
}
