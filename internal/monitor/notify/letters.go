package notify

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"google.golang.org/protobuf/proto"

	"forager/internal/monitor/view"
	"forager/internal/operate"
	"forager/internal/platform/pipeline"
	"forager/internal/stream"
	"forager/internal/stream/kafka"
	"forager/schemas"
)

// maxLetters is the number of offsets that are read at once, of a partition.
const maxLetters = 10_000

// ends returns the offsets after the last dead letters, by partition.
func (n *Notifier) ends(ctx context.Context) (ends map[int]int64, err error) {
	partitions, err := n.Kafka.Partitions(ctx, schemas.TopicDeadLetter)
	ends = make(map[int]int64)
	for p := 0; p < partitions && err == nil; p++ {
		ends[p], err = n.Kafka.End(ctx, schemas.TopicDeadLetter, p)
	}
	return ends, err
}

// letters makes an event of the dead letters of each crawl that were added since the last time.
func (n *Notifier) letters(ctx context.Context, now time.Time) error {
	ctx, cancel := context.WithTimeout(ctx, callWithin)
	defer cancel()
	ends, err := n.ends(ctx)
	for p, end := range ends {
		if err != nil || end <= n.state.Next[p] {
			continue
		}
		var first int64
		if first, _, err = n.Kafka.Offsets(ctx, schemas.TopicDeadLetter, p); err != nil {
			continue
		}
		added, from := make(map[string]*view.Event), max(n.state.Next[p], first)
		n.state.Next[p] = from
		err = n.Kafka.Consume(ctx, kafka.Source{Topic: schemas.TopicDeadLetter, Partition: p, From: from, To: min(end, from+maxLetters)}, func(ch kafka.Chunk) error {
			for i := range ch.Records {
				n.letter(added, &ch.Records[i])
			}
			n.state.Next[p] = ch.Next
			return nil
		})
		for _, name := range slices.Sorted(maps.Keys(added)) {
			e := added[name]
			n.emit(e, now, "%.0f records went to dead.letter, the last one of the stage %s", e.Figures["records"], e.Text)
		}
		n.saveBy = now
	}
	return err
}

// letter adds a dead letter to the event of its crawl, whose text becomes its stage and error.
func (n *Notifier) letter(added map[string]*view.Event, r *stream.Record) {
	m := new(schemas.DeadLetter)
	_ = proto.Unmarshal(r.Value, m) // one of another program has no text
	if operate.Drops(m) {
		return
	}
	crawl := r.Headers[schemas.HeaderCrawl]
	if n.Source.Topics.Controls.Get(crawl) == nil {
		crawl = "" // a name that no crawl has
	}
	e := added[crawl]
	if e == nil {
		e = n.event(pipeline.EventDeadLetters, crawl, fmt.Sprintf("%d-%d", r.Partition, r.Offset), time.Time{})
		e.Figures = map[string]float64{"records": 0}
		added[crawl] = e
	}
	e.Figures["records"]++
	e.Time, e.Text = time.UnixMilli(m.GetAt()).UTC(), short(m.GetStage()+": "+m.GetError())
}
