package kafka_test

import (
	"maps"
	"strings"
	"testing"
	"time"

	"forager/internal/platform/pipeline"
	"forager/internal/stream/streamtest"
)

func TestSetupIsIdempotentAndReportsWhatDiffers(t *testing.T) {
	t.Parallel()
	b := streamtest.Start(t)
	log, control := b.Topic("log"), b.Topic("control")
	topics := map[string]pipeline.Topic{
		log:     {Partitions: 3, Retention: 24 * time.Hour, MaxMessageBytes: 4 << 20},
		control: {Partitions: 1, Compact: true, MaxMessageBytes: 2 << 20},
	}
	c, _ := streamtest.Dial(t, b.Config(), topics)
	ctx := streamtest.Within(t, 60*time.Second)
	states, err := c.Check(ctx)
	if err != nil || len(states) != 2 || !states[0].Missing || !states[1].Missing || states[0].OK() {
		t.Fatalf("before: %v, %v", states, err)
	}
	if states[0].Topic != control || !strings.Contains(states[0].String(), "forager setup") {
		t.Errorf("before: %v", states)
	}
	for _, created := range []bool{true, false} {
		states, err = c.Setup(ctx)
		if err != nil || len(states) != 2 {
			t.Fatal(states, err)
		}
		for _, s := range states {
			if !s.OK() || s.Created != created {
				t.Errorf("%+v", s)
			}
		}
	}
	other := maps.Clone(topics)
	other[log] = pipeline.Topic{Partitions: 5, Retention: 0, MaxMessageBytes: 8 << 20}
	other[control] = pipeline.Topic{Partitions: 1, Retention: time.Hour, MaxMessageBytes: 2 << 20}
	d, _ := streamtest.Dial(t, b.Config(), other)
	for range 2 { // Setup reports, and does not change
		states, err = d.Setup(ctx)
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]string{}
		for _, s := range states {
			for _, x := range s.Differences {
				got[strings.Split(s.Topic, ".")[0]+" "+x.Setting] = x.Have + " instead of " + x.Want
			}
			if s.OK() || s.Created || s.Missing {
				t.Errorf("%+v", s)
			}
		}
		want := map[string]string{
			"log partitions": "3 instead of 5", "log retention.ms": "86400000 instead of -1", "log max.message.bytes": "4194304 instead of 8388608",
			"control cleanup.policy": "compact instead of delete", "control retention.ms": "-1 instead of 3600000",
		}
		if !maps.Equal(got, want) {
			t.Errorf("differences %v", got)
		}
	}
}
