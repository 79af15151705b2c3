package runner

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"forager/internal/stream"
	"forager/internal/stream/kafka"
)

// Batched is a stage that handles many records at a time and writes to an external store. The
// offsets of a batch are committed once Handle has succeeded for the whole batch.
type Batched struct {
	// Stage names the consumer group, and the stage in dead letters.
	Stage string
	// Inputs are topics. A batch has records of any of them and of any partition of this process;
	// records of one partition keep their order, within and between batches.
	Inputs []string
	// MaxRecords and MaxBytes end a batch (of keys, values and headers); 0 = 10,000 and 32 MiB.
	MaxRecords int
	MaxBytes   int64
	// Flush is how long the first record of a batch waits for more at most; 0 = 1 s.
	Flush time.Duration
	// Handle writes a batch; calls do not overlap. It must be idempotent, also for a part of the records, and must not
	// retain the slice. Its error is Unavailable (it is called again, after a pause), Broken, or that of some record:
	// then the batch is halved until the records are found that fail alone; they are poison after Tries. Once ctx has
	// ended, the result is ignored.
	Handle func(ctx context.Context, rs []stream.Record) error
	// Tries of a record that fails alone; 0 = 3.
	Tries int
	// Unversioned: Handle gets records without a schema version too. Otherwise they are poison.
	Unversioned bool
}

// A fetch waits for batchLeast bytes, half the time between two batches but no less than leastWait: a batch waits for more
// records anyway, and a fetch for each record costs more than the record.
const batchLeast, leastWait = kafka.FetchBytes / 2, time.Second / 2

// Run runs the stage until ctx ends (nil) or something is broken.
func (b Batched) Run(ctx context.Context, c *kafka.Client) error {
	if b.MaxRecords == 0 {
		b.MaxRecords = 10_000
	}
	if b.MaxBytes == 0 {
		b.MaxBytes = 32 << 20
	}
	if b.Flush == 0 {
		b.Flush = time.Second
	}
	if b.Tries == 0 {
		b.Tries = 3
	}
	return c.RunGroup(ctx, b.Stage, b.Inputs, (&collectors{client: c, stage: &b, open: map[*kafka.Generation]*collector{}}).run)
}

// collectors has one collector for each generation, which collects the records of its claims.
type collectors struct {
	client *kafka.Client
	stage  *Batched

	mu   sync.Mutex
	open map[*kafka.Generation]*collector
}

// collector collects the records of a generation's claims and passes them to Handle in batches.
type collector struct {
	client *kafka.Client
	stage  *Batched
	hard   context.Context
	// soft ends when draining begins, or when a claim or the collector fails.
	soft   context.Context
	cancel context.CancelFunc
	in     chan claimed
	bytes  *semaphore.Weighted // of records read and not committed
	done   chan struct{}       // closed after the last batch
	err    error               // why run ended, if not with the claims

	claims int // guarded by collectors.mu
}

// claimed is a record with the claim that read it.
type claimed struct {
	claim  *kafka.Claim
	record stream.Record
	size   int64
}

// batch is the records of one call of Handle.
type batch struct {
	records []stream.Record
	// next is the offset after the last of them, by claim.
	next  map[*kafka.Claim]int64
	bytes int64
}

func (b *batch) add(x claimed) {
	if b.next == nil {
		b.next = make(map[*kafka.Claim]int64)
	}
	b.records, b.bytes = append(b.records, x.record), b.bytes+x.size
	b.next[x.claim] = x.record.Offset + 1
}

// empty removes the records and keeps the capacity.
func (b *batch) empty() {
	clear(b.records)
	clear(b.next)
	b.records, b.bytes = b.records[:0], 0
}

// run reads one claim into the collector of its generation.
func (p *collectors) run(ctx context.Context, cl *kafka.Claim) error {
	cl.Ready()
	pt := p.join(cl)
	defer context.AfterFunc(ctx, pt.cancel)() // all claims of a generation drain together
	in := p.client.Metrics.In.WithLabelValues(cl.Topic)
	from := cl.Source()
	from.Least, from.Wait = batchLeast, min(max(p.stage.Flush/2, leastWait), kafka.LongestFetchWait)
	err := p.client.Consume(pt.soft, from, func(ch kafka.Chunk) error {
		cl.Fetched(ch)
		for _, r := range ch.Records {
			if err := r.CheckVersion(); err != nil {
				return err
			}
			in.Inc()
			if err := pt.put(claimed{cl, r, min(r.Size(), p.stage.MaxBytes)}); err != nil {
				return err
			}
		}
		return nil
	})
	if p.leave(cl.Generation, pt) {
		close(pt.in)
	}
	if class := stream.ClassOf(err); err != nil && class != stream.ClassEnded && class != stream.ClassLost {
		pt.cancel()
		return err // the error ends the process; the others drain
	}
	<-pt.done
	if pt.err != nil {
		return pt.err
	}
	if ferr := cl.Flush(cl.Hard); ferr != nil {
		return ferr
	}
	return err
}

// join returns the collector of the claim's generation.
func (p *collectors) join(cl *kafka.Claim) *collector {
	p.mu.Lock()
	defer p.mu.Unlock()
	pt := p.open[cl.Generation]
	if pt == nil {
		soft, cancel := context.WithCancel(context.Background())
		pt = &collector{
			client: p.client, stage: p.stage, hard: cl.Hard, soft: soft, cancel: cancel,
			in: make(chan claimed), done: make(chan struct{}),
			bytes: semaphore.NewWeighted(2 * p.stage.MaxBytes), // one batch being handled, one being filled
		}
		p.open[cl.Generation] = pt
		go pt.run()
	}
	pt.claims++
	return pt
}

// leave reports whether the claim was the collector's last.
func (p *collectors) leave(g *kafka.Generation, pt *collector) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	pt.claims--
	if pt.claims > 0 {
		return false
	}
	delete(p.open, g)
	return true
}

func (p *collector) put(x claimed) error {
	if err := p.bytes.Acquire(p.soft, x.size); err != nil {
		return stream.Mark(stream.ClassEnded, err)
	}
	select {
	case p.in <- x:
		return nil
	case <-p.soft.Done():
		return stream.Mark(stream.ClassEnded, p.soft.Err())
	}
}

// run passes batches to Handle until the claims have ended or a batch fails permanently.
func (p *collector) run() {
	defer close(p.done)
	defer p.cancel()
	timer := time.NewTimer(p.stage.Flush)
	timer.Stop()
	var batch batch
	// hand returns false when no further batch may follow, because one was not finished.
	hand := func() bool {
		timer.Stop()
		err := p.settle(&batch)
		if class := stream.ClassOf(err); err != nil && class != stream.ClassEnded && class != stream.ClassLost {
			p.err = err
		}
		p.bytes.Release(batch.bytes)
		batch.empty()
		return err == nil
	}
	for {
		select {
		case x, ok := <-p.in:
			if !ok {
				if len(batch.records) > 0 {
					hand()
				}
				return
			}
			if len(batch.records) == 0 {
				timer.Reset(p.stage.Flush)
			}
			batch.add(x)
			if (len(batch.records) >= p.stage.MaxRecords || batch.bytes >= p.stage.MaxBytes) && !hand() {
				return
			}
		case <-timer.C:
			if len(batch.records) > 0 && !hand() {
				return
			}
		case <-p.hard.Done():
			return // a claim does not leave
		}
	}
}

// settle passes a batch to Handle and notes its offsets.
func (p *collector) settle(b *batch) error {
	began := time.Now()
	defer p.client.Metrics.Begin()()
	err := p.take(b.records)
	p.client.Metrics.Handle.Observe(time.Since(began).Seconds())
	if err != nil {
		return err
	}
	stream.Failpoint("inserted-before-commit")
	for claim, next := range b.next {
		claim.Commit(next, "")
		claim.Progress(-1, next)
	}
	return nil
}

// take calls Handle until all records are handled or poison; it waits while something is
// unavailable.
func (p *collector) take(rs []stream.Record) error {
	unversioned := func(r stream.Record) bool { return !r.HasVersion() }
	if p.stage.Unversioned || !slices.ContainsFunc(rs, unversioned) {
		return p.split(rs)
	}
	good := rs[:0:0]
	for i := range rs {
		if !unversioned(rs[i]) {
			good = append(good, rs[i])
		} else if err := p.poison(rs[i], stream.ErrNoVersion, 0); err != nil {
			return err
		}
	}
	return p.split(good)
}

func (p *collector) split(rs []stream.Record) error {
	if len(rs) == 0 {
		return nil
	}
	w := p.client.Waiting(func() string { return fmt.Sprintf("a batch of %d records to be taken", len(rs)) })
	defer w.Over()
	for {
		tries := p.stage.Tries
		if len(rs) > 1 {
			tries = 1 // the halves are the next try
		}
		_, made, err := try(p.hard, tries, func() ([]stream.Out, error) { return nil, p.stage.Handle(p.hard, rs) })
		if err == nil {
			return nil
		}
		class := stream.ClassOf(err)
		if class != stream.ClassRecord || len(rs) == 1 {
			p.client.Metrics.Failed(class)
		}
		switch {
		case class == stream.ClassUnavailable:
			if err := w.Wait(p.soft, err); err != nil {
				return err
			}
		case class != stream.ClassRecord:
			return fmt.Errorf("batch of %d records from %s/%d offset %d on: %w", len(rs), rs[0].Topic, rs[0].Partition, rs[0].Offset, err)
		case len(rs) == 1:
			return p.poison(rs[0], err, made)
		default:
			w.Over()
			if err := p.split(rs[:len(rs)/2]); err != nil {
				return err
			}
			return p.split(rs[len(rs)/2:])
		}
	}
}

func (p *collector) poison(r stream.Record, cause error, tries int) error {
	outs, err := poisoned(p.stage.Stage, nil, r, cause, tries)
	if err != nil {
		return err
	}
	if _, err := p.client.Produce(p.hard, outs); err != nil {
		return fmt.Errorf("dead letter of %s/%d offset %d: %w", r.Topic, r.Partition, r.Offset, err)
	}
	p.client.NotePoison(&r, cause)
	return nil
}
