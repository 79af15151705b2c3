package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"forager/internal/crawl/controls"
	"forager/internal/frontier"
	"forager/internal/platform/objects"
	"forager/internal/platform/objects/objectstest/memory"
	"forager/internal/rank/apprentice"
	"forager/internal/stream"
	"forager/internal/stream/crashtest"
	"forager/internal/stream/stateful"
	"forager/schemas"
)

// bucket is an object store in memory that is unavailable at times.
type bucket struct {
	memory.Bucket
	away func() bool
}

func (b *bucket) Get(ctx context.Context, key string) ([]byte, error) {
	if b.away != nil && b.away() {
		return nil, objects.ErrUnavailable
	}
	return b.Bucket.Get(ctx, key)
}

func (b *bucket) Put(ctx context.Context, key string, r io.Reader, size int64) error {
	if b.away != nil && b.away() {
		return objects.ErrUnavailable
	}
	return b.Bucket.Put(ctx, key, r, size)
}

// drawLeaps makes what prioritize sends for a crawl: leaps, and a boundary now and then.
func drawLeaps(r *rand.Rand, crawl string, n int) []*schemas.LeapSettled {
	words := []string{"alpha", "beta", "gamma", "delta"}
	var all []*schemas.LeapSettled
	pages := uint64(0)
	for i := range n {
		u, v := fmt.Sprintf("http://h/%d", r.IntN(8)), fmt.Sprintf("http://h/%d", i)
		l := &schemas.LeapSettled{
			Id: schemas.LeapID(crawl, u, v).Bytes(), Crawl: crawl, U: u, V: v, Outcome: schemas.Outcome_OUTCOME_DELIVERED,
			TargetRaw: float64(r.IntN(101)) / 100, Trains: r.IntN(4) > 0,
		}
		for offset := range int32(r.IntN(4)) {
			l.Features = append(l.Features, &schemas.Feature{Term: words[r.IntN(4)], Offset: offset, Count: 1 + uint32(r.IntN(2))})
		}
		slices.SortStableFunc(l.Features, func(a, b *schemas.Feature) int { return strings.Compare(a.GetTerm(), b.GetTerm()) })
		if r.IntN(8) == 0 {
			l.Features, l.NoApprentice = nil, true
		}
		all = append(all, l)
		if r.IntN(6) == 0 {
			pages += 1 + uint64(r.IntN(10))
			all = append(all, &schemas.LeapSettled{
				Id: schemas.LeapID(crawl, "boundary", fmt.Sprint(pages)).Bytes(), Crawl: crawl, Pages: pages, Boundary: true,
			})
		}
	}
	return all
}

// retrain makes the models of a sequence of leaps the plain way: objects by version.
func retrain(prior []byte, leaps []*schemas.LeapSettled) (versions []string, models map[string][]byte) {
	counts := apprentice.Learner(apprentice.NewCounts())
	if prior != nil {
		var err error
		if counts, err = apprentice.Open(prior); err != nil {
			panic(err)
		}
	}
	models = make(map[string][]byte)
	for _, l := range leaps {
		switch {
		case l.GetBoundary():
			counts.Model()
			b := counts.Marshal()
			sum := sha256.Sum256(b)
			version := fmt.Sprintf("%s/%d-%s", l.GetCrawl(), l.GetPages(), hex.EncodeToString(sum[:6]))
			versions, models[version] = append(versions, version), b
		case l.GetTrains() && !l.GetNoApprentice():
			if err := counts.Add(l.GetFeatures(), l.GetTargetRaw()); err != nil {
				panic(err)
			}
		}
	}
	return versions, models
}

func leapOut(l *schemas.LeapSettled) stream.Out {
	value, err := proto.Marshal(l)
	if err != nil {
		panic(err)
	}
	return stream.Out{Topic: schemas.TopicLeapSettled, Partition: -1, Key: []byte(l.GetCrawl()), Value: value, Headers: map[string]string{schemas.HeaderVersion: "1"}}
}

func control(crawl, prior string) []byte { return controlOf(crawl, &schemas.Learning{Prior: prior}) }

func controlOf(crawl string, l *schemas.Learning) []byte {
	b, err := proto.Marshal(&schemas.CrawlControl{Crawl: crawl, Revision: 1, Learning: l})
	if err != nil {
		panic(err)
	}
	return b
}

// simulate runs one schedule: leaps of two crawls, one by naive Bayes and one by logistic regression
// that continues a prior, some of them twice, owners of the one partition that crash, stall and
// begin without state, a store that is unavailable at times.
func simulate(seed uint64) error {
	w := crashtest.New(seed, map[string]int{schemas.TopicLeapSettled: 1, schemas.TopicModelPublished: 1, schemas.TopicDeadLetter: 1},
		crashtest.Faults{Double: .03, Late: .03, Sync: .3})
	chaos := true
	b := &bucket{Bucket: memory.Bucket{}, away: func() bool { return chaos && w.Chance(.3) }}
	logistic := apprentice.DefaultLogistic()
	prior := apprentice.New(logistic)
	if err := prior.Add([]*schemas.Feature{{Term: "alpha", Count: 2}}, .7); err != nil {
		return err
	}
	prior.Model()
	b.Bucket[schemas.ModelObject("apprentice", "earlier/5-abc")] = prior.Marshal()
	want, announced := make(map[string][]byte), make(map[string][]string)
	var sequences [][]*schemas.LeapSettled
	for crawl, from := range map[string][]byte{"a": nil, "b": prior.Marshal()} {
		leaps := drawLeaps(rand.New(rand.NewPCG(seed, uint64(crawl[0]))), crawl, 40)
		sequences = append(sequences, leaps)
		versions, models := retrain(from, leaps)
		maps.Copy(want, models)
		announced[crawl] = versions
	}
	slices.SortFunc(sequences, func(x, y []*schemas.LeapSettled) int { return strings.Compare(x[0].GetCrawl(), y[0].GetCrawl()) })
	sent := make([]int, len(sequences))
	send := func() { // the next one of a crawl, or some again
		i := w.Rand.IntN(len(sequences))
		if n := sent[i]; n > 0 && w.Rand.IntN(8) == 0 {
			for _, l := range sequences[i][w.Rand.IntN(n):n] {
				w.Append(leapOut(l))
			}
		}
		if sent[i] < len(sequences[i]) {
			w.Append(leapOut(sequences[i][sent[i]]))
			sent[i]++
		}
	}
	cache, known := controls.New(), map[string]bool{}
	tell := func(crawl, priorVersion string) error {
		known[crawl] = true
		learning := &schemas.Learning{Prior: priorVersion}
		if priorVersion != "" {
			learning = logistic.Learning(learning)
		}
		return cache.Take([]byte(crawl), controlOf(crawl, learning))
	}
	owners := &crashtest.Owners{
		World: w, Stage: name, Input: schemas.TopicLeapSettled,
		Open: func(s *stateful.Store) (stateful.Processor, error) {
			return newTrainer(s, cache, b, slog.New(slog.DiscardHandler))
		},
	}
	defer owners.End()
	for turn := 0; ; turn++ {
		if turn > 40_000 {
			return errors.New("no end")
		}
		if turn == 1500 {
			chaos = false
			for i := range sequences {
				for sent[i] < len(sequences[i]) {
					send()
				}
			}
			for w.Late() > 0 {
				w.Deliver()
			}
			if err := errors.Join(tell("a", ""), tell("b", "earlier/5-abc")); err != nil {
				return err
			}
		}
		switch roll := w.Rand.IntN(100); {
		case owners.Alive() == 0 || roll < 2 && chaos && owners.Alive() < 3:
			owners.Spawn()
		case roll < 4 && chaos:
			owners.Kill()
		case roll < 12:
			send()
		case roll < 14:
			w.Deliver()
		case roll < 20:
			w.Now = w.Now.Add(time.Duration(w.Rand.IntN(5000)) * time.Millisecond)
		case roll < 21 && !known["a"]:
			if err := tell("a", ""); err != nil {
				return err
			}
		case roll < 22 && !known["b"]:
			if err := tell("b", "earlier/5-abc"); err != nil {
				return err
			}
		default:
			if err := owners.Run(); err != nil {
				return err
			}
		}
		if !chaos && owners.AtRest() {
			break
		}
	}
	delete(b.Bucket, schemas.ModelObject("apprentice", "earlier/5-abc"))
	for key, o := range b.Bucket {
		if version := strings.TrimPrefix(key, "models/apprentice/"); !bytes.Equal(want[version], o) {
			return fmt.Errorf("object %s is no model of a plain training", key)
		}
	}
	if len(b.Bucket) != len(want) {
		return fmt.Errorf("%d models are stored, want %d", len(b.Bucket), len(want))
	}
	got := make(map[string][]string)
	through := make(map[string]int64)
	for _, r := range w.Records(schemas.TopicModelPublished, 0) {
		m := new(schemas.ModelPublished)
		if err := proto.Unmarshal(r.Value, m); err != nil {
			return err
		}
		if was, ok := through[m.GetVersion()]; ok && was != m.GetTrainedThrough() {
			return fmt.Errorf("model %s was trained through %d and %d", m.GetVersion(), was, m.GetTrainedThrough())
		}
		through[m.GetVersion()] = m.GetTrainedThrough()
		if !slices.Contains(got[m.GetCrawl()], m.GetVersion()) {
			got[m.GetCrawl()] = append(got[m.GetCrawl()], m.GetVersion())
		}
		if o := b.Bucket[m.GetObject()]; uint64(len(o)) != m.GetSize() || m.GetPages() == 0 {
			return fmt.Errorf("announced before it was stored: %v", m)
		}
	}
	for crawl, versions := range announced {
		if !slices.Equal(got[crawl], versions) {
			return fmt.Errorf("crawl %s: models %v were announced, want %v", crawl, got[crawl], versions)
		}
	}
	if n := len(w.Records(schemas.TopicDeadLetter, 0)); n > 0 {
		return fmt.Errorf("%d dead letters", n)
	}
	return nil
}

func TestTrainingSurvivesCrashes(t *testing.T) {
	seeds := uint64(100)
	if testing.Short() {
		seeds = 20
	}
	crashtest.Seeds(t, seeds, simulate)
}

// bench is a trainer without a broker.
type bench struct {
	t       *testing.T
	trainer *trainer
	bucket  *bucket
	cache   *controls.Cache
	now     time.Time
	offset  int64
}

func newBench(t *testing.T) *bench {
	b := &bench{t: t, bucket: &bucket{Bucket: memory.Bucket{}}, cache: controls.New(), now: time.Unix(1000, 0)}
	var err error
	if b.trainer, err = newTrainer(frontier.NewMemory(), b.cache, b.bucket, slog.New(slog.DiscardHandler)); err != nil {
		t.Fatal(err)
	}
	return b
}

// step gives leaps and returns the models announced and the number of dead letters.
func (b *bench) step(leaps ...*schemas.LeapSettled) (models []*schemas.ModelPublished, letters int, wake time.Time) {
	b.t.Helper()
	var records []stream.Record
	for _, l := range leaps {
		out := leapOut(l)
		records = append(records, stream.Record{Topic: out.Topic, Offset: b.offset, Key: out.Key, Value: out.Value, Headers: out.Headers})
		b.offset++
	}
	res, err := b.trainer.Step(b.t.Context(), stateful.Work{Records: records, Now: b.now})
	if err != nil {
		b.t.Fatal(err)
	}
	for _, out := range res.Outs {
		if out.Topic == schemas.TopicDeadLetter {
			letters++
			continue
		}
		m := new(schemas.ModelPublished)
		if err := proto.Unmarshal(out.Value, m); err != nil {
			b.t.Fatal(err)
		}
		if string(out.Key) != m.GetCrawl()+"/apprentice" || out.Headers[schemas.HeaderVersion] != "1" {
			b.t.Errorf("model %v under key %q with headers %v", m, out.Key, out.Headers)
		}
		models = append(models, m)
	}
	return models, letters, res.Wake
}

func boundaryAt(crawl string, pages uint64) *schemas.LeapSettled {
	return &schemas.LeapSettled{Id: schemas.LeapID(crawl, "boundary", fmt.Sprint(pages)).Bytes(), Crawl: crawl, Pages: pages, Boundary: true}
}

func leapOf(crawl, v string, r float64) *schemas.LeapSettled {
	return &schemas.LeapSettled{
		Id: schemas.LeapID(crawl, "u", v).Bytes(), Crawl: crawl, U: "u", V: v, Outcome: schemas.Outcome_OUTCOME_DELIVERED, Trains: true,
		TargetRaw: r, Features: []*schemas.Feature{{Term: v, Offset: 1, Count: 1}},
	}
}

func TestABoundaryWithoutLeapsIsAnswered(t *testing.T) {
	b := newBench(t)
	if err := b.cache.Take([]byte("c"), control("c", "")); err != nil {
		t.Fatal(err)
	}
	models, _, _ := b.step(boundaryAt("c", 30))
	if len(models) != 1 || models[0].GetLeaps() != 0 || models[0].GetPages() != 30 {
		t.Fatalf("models %v", models)
	}
	if _, err := apprentice.Unmarshal(b.bucket.Bucket[models[0].GetObject()]); err != nil {
		t.Error(err)
	}
	// When its boundary comes again the last model is announced again; an older boundary is
	// ignored.
	b.step(leapOf("c", "v", .5), boundaryAt("c", 40))
	if models, _, _ := b.step(boundaryAt("c", 30)); len(models) != 0 {
		t.Errorf("an old boundary is answered with %v", models)
	}
	if models, _, _ := b.step(boundaryAt("c", 40)); len(models) != 1 || models[0].GetPages() != 40 || models[0].GetLeaps() != 1 {
		t.Errorf("the last boundary again is answered with %v", models)
	}
}

func TestMissingObjectDelaysItsCrawlOnly(t *testing.T) {
	b := newBench(t)
	if err := errors.Join(b.cache.Take([]byte("known"), control("known", "")), b.cache.Take([]byte("prior"), control("prior", "earlier/1-x"))); err != nil {
		t.Fatal(err)
	}
	models, _, wake := b.step(leapOf("unknown", "v", .5), boundaryAt("unknown", 3), leapOf("prior", "v", .5), boundaryAt("prior", 4), leapOf("known", "v", .5), boundaryAt("known", 5))
	if len(models) != 1 || models[0].GetCrawl() != "known" {
		t.Fatalf("models %v", models)
	}
	if !wake.Equal(b.now.Add(firstRetry)) {
		t.Errorf("it wakes at %v", wake)
	}
	b.bucket.Bucket[schemas.ModelObject("apprentice", "earlier/1-x")] = []byte("half a mod")
	b.now = b.now.Add(firstRetry)
	if models, _, _ := b.step(); len(models) != 0 {
		t.Fatalf("a broken prior gave %v", models)
	}
	b.bucket.Bucket[schemas.ModelObject("apprentice", "earlier/1-x")] = apprentice.New(apprentice.DefaultLogistic()).Marshal()
	b.now = b.now.Add(time.Minute)
	if models, _, _ := b.step(); len(models) != 0 {
		t.Fatalf("another learner's prior gave %v", models)
	}
	prior := apprentice.NewCounts()
	if err := prior.Add(nil, 1); err != nil {
		t.Fatal(err)
	}
	b.bucket.Bucket[schemas.ModelObject("apprentice", "earlier/1-x")] = prior.Marshal()
	if err := b.cache.Take([]byte("unknown"), control("unknown", "")); err != nil {
		t.Fatal(err)
	}
	b.now = b.now.Add(time.Minute)
	models, _, _ = b.step()
	if len(models) != 2 || models[0].GetCrawl() != "prior" || models[0].GetLeaps() != 2 || models[1].GetCrawl() != "unknown" || models[1].GetLeaps() != 1 {
		t.Errorf("models %v", models)
	}
}

func TestMoreCrawlsThanFitMemory(t *testing.T) {
	b := newBench(t)
	const crawls = mostLearners + 5
	sequences := make([][]*schemas.LeapSettled, crawls)
	want := make(map[string][]byte)
	for i := range sequences {
		name := fmt.Sprintf("crawl-%02d", i)
		if err := b.cache.Take([]byte(name), control(name, "")); err != nil {
			t.Fatal(err)
		}
		sequences[i] = drawLeaps(rand.New(rand.NewPCG(9, uint64(i))), name, 30)
		_, models := retrain(nil, sequences[i])
		maps.Copy(want, models)
	}
	for n := 0; len(sequences) > 0; n++ {
		i := n % len(sequences)
		b.step(sequences[i][0])
		if sequences[i] = sequences[i][1:]; len(sequences[i]) == 0 {
			sequences = slices.Delete(sequences, i, i+1)
		}
		held := 0
		for _, c := range b.trainer.crawls {
			if c.learner != nil {
				held++
			}
		}
		if held > mostLearners {
			t.Fatalf("%d crawls are held in memory", held)
		}
	}
	if len(b.bucket.Bucket) != len(want) {
		t.Errorf("%d models, want %d", len(b.bucket.Bucket), len(want))
	}
	for version, o := range want {
		if !bytes.Equal(b.bucket.Bucket[schemas.ModelObject("apprentice", version)], o) {
			t.Errorf("model %s differs", version)
		}
	}
}

func TestAnotherModelUnderTheNameIsBroken(t *testing.T) {
	b := newBench(t)
	if err := b.cache.Take([]byte("c"), control("c", "")); err != nil {
		t.Fatal(err)
	}
	models, _, _ := b.step(leapOf("c", "v", .5), boundaryAt("c", 3))
	b.bucket.Bucket[models[0].GetObject()] = []byte("something else")
	again := newBench(t)
	again.cache, again.bucket = b.cache, b.bucket
	again.trainer.controls, again.trainer.objects = b.cache, b.bucket
	out := leapOut(leapOf("c", "v", .5))
	mark := leapOut(boundaryAt("c", 3))
	_, err := again.trainer.Step(t.Context(), stateful.Work{Now: b.now, Records: []stream.Record{
		{Topic: out.Topic, Offset: 0, Value: out.Value}, {Topic: out.Topic, Offset: 1, Value: mark.Value},
	}})
	if !stream.IsBroken(err) {
		t.Errorf("error %v, want broken", err)
	}
}

func TestPoisonGoesToDeadLetters(t *testing.T) {
	b := newBench(t)
	bad := leapOf("c", "v", .5)
	bad.TargetRaw = 2
	noID := leapOf("c", "w", .5)
	noID.Id = noID.Id[:3]
	noTerm := leapOf("c", "x", .5)
	noTerm.Features[0].Term = ""
	untrained := leapOf("c", "y", 7) // it does not train: its content is ignored
	untrained.Trains = false
	_, letters, _ := b.step(bad, noID, noTerm, untrained, &schemas.LeapSettled{Trains: true}, &schemas.LeapSettled{Crawl: "c", Boundary: true})
	if letters != 5 {
		t.Errorf("%d dead letters, want 5", letters)
	}
	res, err := b.trainer.Step(t.Context(), stateful.Work{Now: b.now, Records: []stream.Record{{Topic: schemas.TopicLeapSettled, Offset: 99, Value: []byte("\xff")}}})
	if err != nil || len(res.Outs) != 1 {
		t.Errorf("an undecodable record: %v, %v", res.Outs, err)
	}
}

func FuzzReadEntry(f *testing.F) {
	f.Add([]byte{stateVersion, 1, 2, 3})
	f.Add([]byte{stateVersion})
	f.Fuzz(func(t *testing.T, b []byte) {
		if e, err := readEntry(b); err == nil && e == nil {
			t.Error("nothing, and no error")
		}
	})
}

// A deleted crawl leaves nothing, its leaps are ignored, and the others keep what they have.
func TestDeletedCrawlsAreForgotten(t *testing.T) {
	w := crashtest.New(1, map[string]int{schemas.TopicLeapSettled: 1}, crashtest.Faults{})
	cache := controls.New()
	p := w.Spawn("owner", crashtest.NewDir("d"), func(p *crashtest.Process) error {
		s, err := p.OpenStore(name)
		if err != nil {
			return err
		}
		// The state has no control records: both crawls wait with their journals.
		trainer, err := newTrainer(s, cache, &bucket{Bucket: memory.Bucket{}}, slog.New(slog.DiscardHandler))
		if err != nil {
			return err
		}
		give := func(crawl string) error {
			var work stateful.Work
			for i, l := range drawLeaps(rand.New(rand.NewPCG(1, 2)), crawl, 20) {
				out := leapOut(l)
				work.Records = append(work.Records, stream.Record{Topic: out.Topic, Offset: int64(i), Value: out.Value, Headers: out.Headers})
			}
			_, err := trainer.Step(context.Background(), work)
			return err
		}
		count := func() (n int) {
			if err := s.Scan([]byte{1}, []byte{0xff}, func(_, _ []byte) (bool, error) { n++; return true, nil }); err != nil {
				t.Error(err)
			}
			return n
		}
		if err := give("a"); err != nil {
			return err
		}
		one := count()
		if err := errors.Join(give("aa"), give("b")); err != nil {
			return err
		}
		gone, err := proto.Marshal(&schemas.CrawlControl{Crawl: "a", Revision: 2, State: schemas.CrawlState_CRAWL_STATE_DELETED})
		if err != nil {
			return err
		}
		all := count()
		if err := errors.Join(cache.Take([]byte("a"), gone), give("a")); err != nil {
			return err
		}
		if got := count(); one < 10 || got != all-one {
			t.Errorf("%d keys are left of %d, the crawl had %d", got, all, one)
		}
		return nil
	})
	for p.Run() {
	}
	if p.Err != nil {
		t.Fatal(p.Err)
	}
}
