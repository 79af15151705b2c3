package model

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"

	"forager/cmd/internal/cli"
	"forager/cmd/internal/models"
	"forager/internal/crawl/crawlfile"
	"forager/internal/export"
	"forager/internal/operate"
	"forager/internal/platform/objects"
	"forager/internal/platform/progress"
	"forager/internal/platform/registry"
	"forager/internal/rank/apprentice"
	"forager/internal/rank/linkfeature"
	"forager/internal/rank/retrain"
	"forager/internal/stream"
	"forager/schemas"
)

// RetrainCommand is the command "forager retrain".
type RetrainCommand struct {
	Crawl    string   `arg:"" help:"Name of the crawl."`
	From     string   `help:"Where leaps are read: topic (what Kafka retains) or archive (the Parquet files)." enum:"topic,archive" default:"topic"`
	Through  uint64   `help:"Pages of the boundary to end at; by default the last one."`
	DMax     *int     `name:"d-max" help:"Largest |DOM offset| of a feature; by default the crawl's."`
	Topics   string   `help:"Topic features: none, top2, all or those of the crawl." enum:"crawl,none,top2,all" default:"crawl"`
	Features []string `help:"Families of features; by default the crawl's (offsets, near-text, anchor, rel, position, same-site, url-tokens, url-ngrams, co-citation, far, tag-path, path-length, ancestor)."`
	Learner  string   `help:"What learns: bayes, logistic or what the crawl learns by." enum:"crawl,bayes,logistic" default:"crawl"`
	Count    string   `help:"How a feature that occurs several times counts: raw, normalised, binary or as in the crawl." enum:"crawl,raw,normalised,binary" default:"crawl"`
	Smooth   *uint32  `help:"How often naive Bayes spreads counts over neighbouring offsets, 0 to 4; by default as in the crawl."`
	Rate     float64  `help:"Learning rate of logistic regression, above 0 and at most 10."`
	L1       *float64 `name:"l1" help:"Its penalty λ1, 0 to 1,000."`
	L2       *float64 `name:"l2" help:"Its penalty λ2, 0 to 1,000."`
	Prior    string   `help:"Version of the model to go on from, or none; by default the crawl's prior."`
	Cut      float64  `help:"R(v) from which on a leap is high, .1 to .9; by default as live training fixed it."`
	Recut    bool     `help:"Cut at the median R(v) of all leaps."`
	Publish  bool     `help:"Publish the model."`
	Use      bool     `help:"Publish the model and rank the running crawl by it."`
	Output   string   `short:"o" help:"Write the model to a file." type:"path"`
}

func (c *RetrainCommand) Help() string {
	return `With no settings the model is that of live training, bit for bit. A crawl that has published none, as
its ranker is no apprentice or as it has just begun, gets one of all its leaps. Without --publish,
--use or -o it is trained and reported, and nothing is kept.

  forager retrain chemistry --through 1200             the model that was published at 1200 pages
  forager retrain chemistry --from archive --d-max 3 --use
  forager retrain chemistry --from archive --d-max 10 --publish

Features of a crawl that no apprentice ranked are read off its pages (page.judged). So are a larger
d_max and topic features that the crawl did not have; links of the running crawl do not have those,
so such a model cannot be used there: a new crawl can begin with it (learning.prior and
learning.d_max in its crawl file).

The model in use stays, whatever the crawl learns meanwhile, until another one is used; learning
goes on. An interrupted retrain leaves nothing behind but, at most, an object that the
next one finds; run it again.`
}

// Retrained is the result of the command for a model.
type Retrained struct {
	Version   string             `json:"version"`
	Object    string             `json:"object,omitempty"`
	File      string             `json:"file,omitempty"`
	From      string             `json:"from"`
	Pages     uint64             `json:"pages"`
	Through   int64              `json:"trained_through"`
	Leaps     uint64             `json:"leaps"`
	Measures  map[string]float64 `json:"measures"`
	Live      bool               `json:"live"`
	Published bool               `json:"published"`
	Used      bool               `json:"used"`
	Damaged   []string           `json:"damaged,omitempty"`
}

func (c *RetrainCommand) Run(s *cli.Session) error {
	b, store, err := s.OpenStore()
	if err != nil {
		return err
	}
	ctl, err := b.Control(c.Crawl)
	if err != nil {
		return err
	}
	settings, err := c.settings(b, ctl)
	if err != nil {
		return err
	}
	learner, err := c.learner(ctl, settings.Features.Families)
	if err != nil {
		return err
	}
	prior, err := c.prior(s, b, store, ctl, learner)
	if err != nil {
		return err
	}
	trainer, err := retrain.New(prior, settings)
	if err != nil {
		return UsageError(err)
	}
	var h cli.History = cli.NewTopicHistory(b.Client)
	if c.From == "archive" {
		h = cli.NewArchiveHistory(store)
	}
	if err := c.replay(s, b, h, trainer); err != nil {
		return err
	}
	learnt, err := trainer.Model()
	if err != nil {
		return fmt.Errorf("retrain %s from the %s: %w", c.Crawl, c.From, err)
	}
	pages, through, _ := trainer.Boundary()
	m, data := registry.Apprentice(c.Crawl, ctl.GetCritic(), learnt, pages, through, time.Now())
	m.Retrained = true
	m.Measures["d_max"], m.Measures["topics"] = float64(settings.Features.DMax), float64(settings.Features.Topics)
	return c.keep(s, b, store, h, m, data)
}

// settings returns what the flags select. Settings that a running crawl could not use are refused at once.
func (c *RetrainCommand) settings(b *cli.Topics, ctl *schemas.CrawlControl) (retrain.Settings, error) {
	learning := ctl.GetLearning()
	recorded, err := linkfeature.SettingsOf(learning)
	if err != nil {
		return retrain.Settings{}, err
	}
	s := retrain.Settings{Crawl: c.Crawl, Recorded: recorded, Features: recorded, Through: c.Through, Cut: c.Cut, Recut: c.Recut}
	if c.DMax != nil {
		s.Features.DMax = *c.DMax
	}
	if len(c.Features) > 0 {
		if s.Features.Families, err = linkfeature.FamiliesNamed(c.Features); err != nil {
			return s, cli.Usagef("--features: %v", err)
		}
	}
	if c.Topics != "crawl" {
		s.Features.Topics = crawlfile.Topics[c.Topics]
	}
	if !c.Use {
		return s, nil
	}
	if err := operate.Pinnable(b, ctl); err != nil {
		return s, err
	}
	if s.Wider() {
		return s, cli.Usagef("--use: links of crawl %q have features up to d_max %d, %v%s and no others; publish the model and begin a new crawl with it (learning.prior)",
			c.Crawl, recorded.DMax, recorded.Families, map[schemas.TopicFeatures]string{
				schemas.TopicFeatures_TOPIC_FEATURES_NONE: ", without topics", schemas.TopicFeatures_TOPIC_FEATURES_ALL: ", all topics",
			}[recorded.Topics])
	}
	return s, nil
}

// learner returns the learner for features of some families: the crawl's own, or that of the flags.
func (c *RetrainCommand) learner(ctl *schemas.CrawlControl, families linkfeature.Families) (apprentice.Settings, error) {
	s, err := apprentice.SettingsOf(ctl.GetLearning())
	if err != nil {
		return s, err
	}
	learning := s.Learning(nil)
	learning.Features = families.List()
	switch {
	case c.Learner == "bayes":
		learning.Learner, learning.Logistic = schemas.Learner_LEARNER_BAYES, nil
	case c.Learner == "logistic" && s.Learner != schemas.Learner_LEARNER_LOGISTIC:
		logistic := apprentice.DefaultLogistic().Learning(nil)
		learning.Learner, learning.Logistic, learning.Smooth = logistic.Learner, logistic.Logistic, 0
	}
	if c.Count != "crawl" {
		learning.Count = crawlfile.Countings[c.Count]
	}
	if c.Smooth != nil {
		learning.Smooth = *c.Smooth
	}
	if learning.GetLearner() != schemas.Learner_LEARNER_LOGISTIC {
		if c.Rate != 0 || c.L1 != nil || c.L2 != nil {
			return s, cli.Usagef("--rate, --l1 and --l2 are settings of logistic regression (--learner logistic)")
		}
	} else {
		learning.Logistic.Rate = cmp.Or(c.Rate, learning.Logistic.Rate)
		if c.L1 != nil {
			learning.Logistic.L1 = *c.L1
		}
		if c.L2 != nil {
			learning.Logistic.L2 = *c.L2
		}
	}
	if s, err = apprentice.SettingsOf(learning); err != nil {
		return s, UsageError(err)
	}
	return s, nil
}

// prior returns the model from which training continues.
func (c *RetrainCommand) prior(ctx context.Context, b *cli.Topics, store registry.Store, ctl *schemas.CrawlControl, settings apprentice.Settings) (apprentice.Learner, error) {
	version := c.Prior
	if version == "" {
		version = ctl.GetLearning().GetPrior()
	}
	if version == "" || version == "none" {
		return apprentice.New(settings), nil
	}
	prior, err := operate.Prior(ctx, b, store, ctl, version, settings)
	if err != nil {
		return nil, fmt.Errorf("prior: %w; --prior names another, or none", err)
	}
	return prior, nil
}

// replay passes the crawl's leaps to the trainer and, if it needs them, pages.
func (c *RetrainCommand) replay(s *cli.Session, b *cli.Topics, h cli.History, trainer *retrain.Trainer) error {
	begin, end, err := c.leaps(s, b, h)
	if err != nil {
		return err
	}
	errDone := errors.New("done")
	ctx, endTask := progress.Start(s, "reading leaps", end-begin.Offset)
	defer endTask()
	err = h.Read(ctx, schemas.TopicLeapSettled, begin.Partition, begin.Offset, end, func(r stream.Record) error {
		if err := progress.Add(ctx, 1); err != nil {
			return err
		}
		leap := new(schemas.LeapSettled)
		if err := proto.Unmarshal(r.Value, leap); err != nil {
			return nil // apprentice-train rejected it
		}
		done, err := trainer.Leap(r.Offset, leap)
		if err != nil {
			s.Log.Warn("left out, as apprentice-train did", "topic", r.Topic, "partition", r.Partition, "offset", r.Offset, "error", err)
		}
		if done {
			return errDone
		}
		return nil
	})
	if err != nil && !errors.Is(err, errDone) {
		return fmt.Errorf("retrain %s from the %s: %w", c.Crawl, h.Name(), err)
	}
	if err := trainer.End(); err != nil {
		return fmt.Errorf("retrain %s from the %s: %w", c.Crawl, h.Name(), err)
	}
	if pages, _, _ := trainer.Boundary(); c.Through > 0 && pages != c.Through {
		return c.notReached(s, b, h, begin.Partition, pages)
	}
	if !trainer.FromPages() {
		return nil
	}
	endTask()
	if err := c.pages(s, b, h, trainer); err != nil {
		return fmt.Errorf("retrain %s from the %s: %w", c.Crawl, h.Name(), err)
	}
	if missing := trainer.Missing(); len(missing) > 0 {
		return fmt.Errorf("retrain %s from the %s: %d pages that leaps begin at are not there, for instance %s: %s",
			c.Crawl, h.Name(), len(missing), missing[0], map[string]string{
				"topic":   "page.judged retains less than leap.settled; read them from the archive (--from archive)",
				"archive": "archive-parquet did not run then; where an apprentice ranked, a d_max up to the crawl's and its own topic features need no pages",
			}[h.Name()])
	}
	return nil
}

// leaps returns the position of the crawl's first leap, and the end of the partition.
func (c *RetrainCommand) leaps(ctx context.Context, b *cli.Topics, h cli.History) (begin stream.Position, end int64, err error) {
	n, err := b.Client.Partitions(ctx, schemas.TopicLeapSettled)
	if err != nil {
		return begin, 0, err
	}
	begin.Partition = stream.PartitionOf([]byte(c.Crawl), n)
	ok := false
	if begin.Offset, ok = b.FirstOffset(c.Crawl, schemas.TopicLeapSettled, begin.Partition); !ok {
		return begin, 0, fmt.Errorf("crawl %q has settled no leap yet", c.Crawl)
	}
	first, end, err := h.Span(ctx, schemas.TopicLeapSettled, begin.Partition)
	if err != nil {
		return begin, 0, err
	}
	switch {
	case h.Name() == "archive" && end == 0:
		return begin, 0, fmt.Errorf("the archive holds nothing of %s/%d: does archive-parquet run? (forager up starts it; it writes after file_age, see pipeline.yaml); or --from topic", schemas.TopicLeapSettled, begin.Partition)
	case first > begin.Offset && h.Name() == "archive":
		return begin, 0, fmt.Errorf("the leaps of crawl %q begin at offset %d of %s/%d, and the archive at %d: files were deleted, or archive-parquet did not run; restore them, or read the topic while it retains them (--from topic)",
			c.Crawl, begin.Offset, schemas.TopicLeapSettled, begin.Partition, first)
	case first > begin.Offset:
		return begin, 0, fmt.Errorf("the leaps of crawl %q begin at offset %d of %s/%d, and the topic retains them from %d on: read the archive (--from archive)",
			c.Crawl, begin.Offset, schemas.TopicLeapSettled, begin.Partition, first)
	}
	return begin, end, nil
}

// notReached explains why the requested boundary was not reached.
func (c *RetrainCommand) notReached(ctx context.Context, b *cli.Topics, h cli.History, partition int, pages uint64) error {
	_, end, err := h.Span(ctx, schemas.TopicLeapSettled, partition)
	if err != nil {
		return err
	}
	_, written, err := b.Client.Offsets(ctx, schemas.TopicLeapSettled, partition)
	if err != nil {
		return err
	}
	if end < written {
		return fmt.Errorf("the %s reaches offset %d of %s/%d, which has %d: the boundary at %d pages may be behind it; wait for archive-parquet, or read the topic (--from topic)",
			h.Name(), end, schemas.TopicLeapSettled, partition, written, c.Through)
	}
	return fmt.Errorf("crawl %q has no boundary at %d pages; the last one before it is at %d (forager models list %s shows them)", c.Crawl, c.Through, pages, c.Crawl)
}

// pages passes the crawl's pages to the trainer.
func (c *RetrainCommand) pages(ctx context.Context, b *cli.Topics, h cli.History, trainer *retrain.Trainer) error {
	n, err := b.Client.Partitions(ctx, schemas.TopicPageJudged)
	if err != nil {
		return err
	}
	type span struct{ first, end int64 }
	spans, all := make([]span, n), int64(0)
	for p := range spans {
		x := &spans[p]
		if x.first, x.end, err = h.Span(ctx, schemas.TopicPageJudged, p); err != nil {
			return err
		}
		if at, ok := b.FirstOffset(c.Crawl, schemas.TopicPageJudged, p); ok {
			x.first = max(x.first, at)
		}
		all += max(0, x.end-x.first)
	}
	ctx, end := progress.Start(ctx, "reading pages", all)
	defer end()
	for p, x := range spans {
		err = h.Read(ctx, schemas.TopicPageJudged, p, x.first, x.end, func(r stream.Record) error {
			if err := progress.Add(ctx, 1); err != nil {
				return err
			}
			if of, ok := r.Headers[schemas.HeaderCrawl]; ok && of != c.Crawl {
				return nil // avoids decoding
			}
			judged, parsed := new(schemas.PageJudged), new(schemas.PageParsed)
			if err := proto.Unmarshal(r.Value, judged); err != nil || judged.GetCrawl() != c.Crawl || judged.GetOutcome() != schemas.Outcome_OUTCOME_DELIVERED {
				return nil
			}
			if err := proto.Unmarshal(judged.GetParsed(), parsed); err != nil {
				return nil // it has no links either
			}
			return trainer.Page(parsed.GetPage(), judged.GetJudgement())
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// plain reports whether the settings are those of live training.
func (c *RetrainCommand) plain() bool {
	return c.DMax == nil && c.Topics == "crawl" && len(c.Features) == 0 && c.Learner == "crawl" && c.Count == "crawl" && c.Smooth == nil && c.Rate == 0 && c.L1 == nil && c.L2 == nil && c.Prior == "" && c.Cut == 0 && !c.Recut
}

// keep stores the model as the flags require; announcing and pinning it come last.
func (c *RetrainCommand) keep(s *cli.Session, b *cli.Topics, store *objects.Store, h cli.History, m *schemas.ModelPublished, data []byte) error {
	out := Retrained{Version: m.GetVersion(), From: h.Name(), Pages: m.GetPages(), Through: m.GetTrainedThrough(), Leaps: m.GetLeaps(), Measures: m.GetMeasures()}
	if a, ok := h.(*cli.ArchiveHistory); ok {
		for _, err := range a.Report.Damaged {
			out.Damaged = append(out.Damaged, err.Error())
		}
	}
	known := b.Published(m.GetVersion())
	out.Live = known != nil && !known.GetRetrained()
	if known == nil && c.plain() { // compaction removed its announcement, if there was one
		_, err := store.Get(s, m.GetObject())
		out.Live = err == nil
	}
	if c.Output != "" {
		if err := WriteWhole(s, c.Output, func(w io.Writer) error { _, err := w.Write(data); return err }); err != nil {
			return err
		}
		out.File = c.Output
	}
	if c.Publish || c.Use {
		if err := c.publish(s, b, store, m, data); err != nil {
			return err
		}
		out.Published, out.Object = true, m.GetObject()
	}
	if c.Use {
		if _, err := operate.PinModel(s, b, store, c.Crawl, 0, m.GetVersion()); err != nil {
			return fmt.Errorf("model %s is published; use it: %w", m.GetVersion(), err)
		}
		out.Used = true
	}
	return s.Print(out, func(w io.Writer) { out.text(w, c.Crawl) })
}

func (c *RetrainCommand) publish(ctx context.Context, b *cli.Topics, store *objects.Store, m *schemas.ModelPublished, data []byte) error {
	if known := b.Published(m.GetVersion()); known != nil && !known.GetRetrained() {
		return registry.Keep(ctx, store, m, data) // live training has announced it
	}
	return models.Publish(ctx, b, store, m, data)
}

func (r *Retrained) text(w io.Writer, crawl string) {
	fmt.Fprintf(w, "%s: %d leaps through %d pages (offset %d of leap.settled), from the %s\n", r.Version, r.Leaps, r.Pages, r.Through, r.From)
	fmt.Fprintf(w, "  high from R(v) = %.4f on: %.0f low, %.0f high; %.0f features, d_max %.0f\n",
		r.Measures["cut"], r.Measures["low"], r.Measures["high"], r.Measures["features"], r.Measures["d_max"])
	if r.Live {
		fmt.Fprintln(w, "  bit for bit the model that live training published")
	}
	for _, d := range r.Damaged {
		fmt.Fprintf(w, "  not read, another file had its records: %s\n", d)
	}
	switch {
	case r.Used:
		fmt.Fprintf(w, "published, and %s ranks by it\n", crawl)
	case r.Published:
		fmt.Fprintf(w, "published as %s\n", r.Object)
	case r.File == "":
		fmt.Fprintln(w, "nothing is kept: --publish, --use or -o FILE keep it")
	}
	if r.File != "" {
		fmt.Fprintf(w, "written to %s\n", r.File)
	}
}

// WriteWhole writes a file completely or, after an error, not at all; an existing file then remains.
func WriteWhole(ctx context.Context, path string, write func(io.Writer) error) error {
	t, err := export.Create(ctx, path, true)
	if err != nil {
		return err
	}
	if err := write(t); err != nil {
		t.Abort()
		return fmt.Errorf("write %s: %w", path, err)
	}
	if err := t.Commit(); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}

// UsageError returns an error as one of usage (exit code 2).
func UsageError(err error) error {
	return cli.AsUsage(fmt.Errorf("%s", strings.TrimSpace(err.Error())))
}
