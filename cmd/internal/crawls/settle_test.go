package crawls

import (
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"forager/internal/operate"
	"forager/internal/platform/pipeline"
	"forager/internal/stream"
	"forager/internal/stream/streamtest"
	"forager/schemas"
)

// TestSettleWaitsForWhatComesMeanwhile: a record is waited for that a stage writes when the ends of the topics have been read.
func TestSettleWaitsForWhatComesMeanwhile(t *testing.T) {
	broker := streamtest.Embedded(t)
	w := streamtest.NewWorld(broker)
	for _, name := range pipeline.TopicNames() {
		w.Topics[name] = pipeline.Topic{Partitions: 1, MaxMessageBytes: 1 << 20}
	}
	w.Setup(t)
	c, _ := w.Dial(t)
	if err := Settle(t.Context(), operate.New(c), time.Minute); err != nil {
		t.Fatal(err)
	}
	stage, _ := w.Dial(t)
	var once sync.Once
	broker.Fake().ControlKey(kmsg.OffsetFetch.Int16(), func(kmsg.Request) (kmsg.Response, error, bool) {
		broker.Fake().KeepControl()
		once.Do(func() {
			broker.Fake().SleepControl(func() {
				streamtest.Send(t, stage, []stream.Out{{Topic: schemas.TopicLeapSettled, Value: []byte("x"), Headers: map[string]string{schemas.HeaderVersion: "1"}}})
			})
		})
		return nil, nil, false
	})
	if err := Settle(t.Context(), operate.New(c), time.Second); err == nil || !strings.Contains(err.Error(), "load-clickhouse (1)") {
		t.Errorf("one record has no reader: %v", err)
	}
}
