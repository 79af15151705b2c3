package runner_test

import (
	"context"
	"errors"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"forager/internal/stream"
	"forager/internal/stream/kafka"
	"forager/internal/stream/streamtest"
)

func TestMetrics(t *testing.T) {
	t.Parallel()
	w := streamtest.NewWorld(streamtest.Start(t))
	in, out := w.Topic(t, "in", 1), w.Topic(t, "out", 1)
	reg := prometheus.NewPedanticRegistry()
	c, err := kafka.Dial(w.Broker.Config(), w.Topics, streamtest.Discard, reg)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	streamtest.Send(t, c, streamtest.Numbers(in, 0, 10))
	gate := make(chan struct{})
	s := streamtest.CopyTo("metrics", in, out)
	copyOne := s.Handle
	s.Handle = func(ctx context.Context, r stream.Record) ([]stream.Out, error) {
		switch string(r.Value) {
		case "3":
			return nil, errors.New("no good")
		case "7":
			<-gate
		}
		return copyOne(ctx, r)
	}
	r := streamtest.Run(t, func(ctx context.Context) error { return s.Run(ctx, c) })
	streamtest.Eventually(t, func() bool { return streamtest.Gathered(t, reg)["forager_stage_lag_records 0 "+in] == 3 })
	streamtest.Eventually(t, func() bool { return streamtest.Gathered(t, reg)["forager_stage_oldest_record_age_seconds 0 "+in] > 0 })
	close(gate)
	streamtest.Eventually(t, func() bool { at, _ := w.Committed(t, "metrics", in, 0); return at == 10 })
	streamtest.Eventually(t, func() bool {
		age, there := streamtest.Gathered(t, reg)["forager_stage_oldest_record_age_seconds 0 "+in]
		return there && age == 0
	})
	if err := r.End(); err != nil {
		t.Fatal(err)
	}
	got := streamtest.Gathered(t, reg)
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
	if _, err := kafka.Dial(w.Broker.Config(), w.Topics, streamtest.Discard, reg); err == nil {
		t.Error("a second client took the same registry without a word")
	}
}
