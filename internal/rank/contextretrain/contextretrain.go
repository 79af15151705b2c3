package contextretrain

import (
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"slices"

	"google.golang.org/protobuf/proto"

	"forager/internal/page/tfidf"
	"forager/internal/rank/distill"
	"forager/internal/rank/localgraph"
	"forager/internal/rank/pageguide"
	"forager/schemas"
)

// mostTargets is the largest number of targets of a guide; the newest are used.
const mostTargets = 1000

// settings of the guides.
func settings() pageguide.Settings { return pageguide.Default() }

// Document returns the words of a page as a judgement contains them.
func Document(p *schemas.Page) (*schemas.Document, error) {
	d, err := pageguide.Document(p, settings().Words)
	return &schemas.Document{Words: d.Words, Counts: d.Counts}, err
}

// Pages is the pages that a shard of a crawl has fetched, with their words. Under their prefix the store has, in addition
// to the keys of distill.Graph,
//
//	'd' number u64 → schemas.Document of the page that was noted under that number
//	't'            → targets
type Pages struct {
	graph   *distill.Graph
	store   distill.Store
	prefix  []byte
	targets uint64
}

const (
	documentKind = 'd'
	targetsKind  = 't'
)

// Open reads the state of pages; in a store without the prefix there are none.
func Open(store distill.Store, prefix []byte) (*Pages, error) {
	g, err := distill.OpenGraph(store, prefix)
	if err != nil {
		return nil, err
	}
	p := &Pages{graph: g, store: store, prefix: prefix}
	b, ok, err := store.Get(p.key(targetsKind))
	if err != nil || !ok {
		return p, err
	}
	n, size := binary.Uvarint(b)
	if size != len(b) || size <= 0 {
		return nil, fmt.Errorf("number of targets: damaged: %x", b)
	}
	p.targets = n
	return p, nil
}

// Pages returns the number of pages delivered so far, and of targets among them.
func (p *Pages) Pages() (pages, targets uint64) { return p.graph.Pages(), p.targets }

// Note adds a record of link.found, as distill.Graph.Note does.
func (p *Pages) Note(rec *schemas.LinkFound, offset int64) error {
	number, pages := p.graph.Noted(), p.graph.Pages()
	if err := p.graph.Note(rec, offset); err != nil || p.graph.Pages() == pages {
		return err
	}
	b, err := proto.Marshal(rec.GetJudgement().GetDocument())
	if err != nil {
		return err
	}
	if err := p.store.Set(p.document(number), b); err != nil {
		return err
	}
	if rec.GetJudgement().GetRaw() < schemas.TargetFrom {
		return nil
	}
	p.targets++
	return p.store.Set(p.key(targetsKind), binary.AppendUvarint(nil, p.targets))
}

// Drop deletes everything.
func (p *Pages) Drop() error {
	p.targets = 0
	return p.graph.Drop()
}

func (p *Pages) key(kind byte) []byte { return append(slices.Clone(p.prefix), kind) }

func (p *Pages) document(number uint64) []byte {
	return binary.BigEndian.AppendUint64(p.key(documentKind), number)
}

// Train makes a guide of the noted pages. It is a function of the records.
func (p *Pages) Train(ctx context.Context, crawl string) (*pageguide.Guide, *pageguide.Report, error) {
	web, err := p.graph.Crawled(ctx)
	if err != nil {
		return nil, nil, err
	}
	l := &pageguide.Samples{
		Targets:  targets(web),
		Parents:  localgraph.Known(func(page uint32) []uint32 { return web.Parents[page] }),
		Document: func(page uint32) (tfidf.Document, error) { return p.read(web.Numbers[page]) },
	}
	s := settings()
	s.Provenance = map[string]string{"links": "crawl " + crawl, "targets": fmt.Sprint(len(l.Targets)), "pages": fmt.Sprint(len(web.URLs))}
	return pageguide.Train(ctx, pageguide.ContextGraph, l, s)
}

// targets returns those of a crawl, ascending.
func targets(web *distill.Crawled) []uint32 {
	var all []uint32
	for i, r := range web.R {
		if r >= schemas.TargetFrom {
			all = append(all, uint32(i))
		}
	}
	if len(all) > mostTargets {
		slices.SortFunc(all, func(a, b uint32) int { return cmp.Compare(web.Numbers[b], web.Numbers[a]) })
		all = all[:mostTargets]
		slices.Sort(all)
	}
	return all
}

func (p *Pages) read(number uint64) (tfidf.Document, error) {
	b, ok, err := p.store.Get(p.document(number))
	if err != nil {
		return tfidf.Document{}, err
	}
	if !ok {
		return tfidf.Document{}, fmt.Errorf("the words of page %d are missing", number)
	}
	d := new(schemas.Document)
	if err := proto.Unmarshal(b, d); err != nil {
		return tfidf.Document{}, fmt.Errorf("the words of page %d: %w", number, err)
	}
	if len(d.GetWords()) != len(d.GetCounts()) {
		return tfidf.Document{}, fmt.Errorf("page %d has %d words and %d counts of them", number, len(d.GetWords()), len(d.GetCounts()))
	}
	return tfidf.Document{Words: d.GetWords(), Counts: d.GetCounts()}, nil
}

// Name returns the name of the guides that a crawl makes for itself: that of its guide, so that links keep the scores of
// older versions.
func Name(ctl *schemas.CrawlControl) string {
	return schemas.ModelName(cmp.Or(schemas.Renewed(ctl).GetGuide(), ctl.GetCrawl()))
}

// Next returns the control record that follows ctl when the guide was considered at so many pages: version is the new
// guide, empty = unchanged.
func Next(ctl *schemas.CrawlControl, pages uint64, version string) *schemas.CrawlControl {
	next := proto.CloneOf(ctl)
	next.Revision++
	next.Renewal.Pages = pages
	if p := schemas.Renewed(next); p != nil && version != "" {
		proto.Reset(p)
		proto.Merge(p, next.Renewal.Then)
		p.Guide = version
	}
	return next
}
