package backlink

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"

	"forager/internal/classify/predicate"
	"forager/internal/platform/modelfile"
	"forager/internal/web/weburl"
	"forager/schemas"
)

// Most is the number of parents that count of an answer (2000: what a search engine shows).
const Most = 20

// Source knows pages that link to a page. It is safe for concurrent use.
type Source interface {
	// Parents returns URLs of pages that link to the page of a canonical URL, in an order of its own; an error is a
	// *predicate.Failure, or the end of ctx.
	Parents(ctx context.Context, url string) ([]string, error)
}

// Open reads the file of a source; one that asks a service does so by the options. Errors are those of package
// modelfile, and that the file is no source's.
func Open(b []byte, o predicate.Options) (Source, error) {
	switch kind := modelfile.Kind(b); kind {
	case TableKind:
		t, err := Unmarshal(b)
		if err != nil {
			return nil, err
		}
		return t, nil
	case predicate.BacklinksKind:
		p, err := predicate.UnmarshalBacklinks(b)
		if err != nil {
			return nil, err
		}
		return p.Client(o), nil
	default:
		return nil, fmt.Errorf("%w: this program knows no source of backlinks of kind %.24q", modelfile.ErrForeign, kind)
	}
}

// OpenMapped is Open for a mapped file.
func OpenMapped(file *modelfile.Mapped, o predicate.Options) (Source, error) {
	s, err := Open(bytes.Clone(file.Bytes()), o)
	runtime.KeepAlive(file)
	return s, err
}

// Wanted says whether the source is to be asked about a judged page: the path allows it, and a guide calls the page a
// target.
func Wanted(path *schemas.Path, j *schemas.Judgement) bool {
	target := func(g *schemas.Guidance) bool { return g.GetLayer() == 1 }
	return path.GetBacklinks() != "" && slices.ContainsFunc(j.GetGuidance(), target)
}

// Ask asks the source of a version for the parents of a page. A failure stands in what it returns, and is also the
// error.
func Ask(ctx context.Context, by Source, version, page string) (*schemas.Backlinks, error) {
	said := &schemas.Backlinks{Source: version, Queries: 1}
	parents, err := by.Parents(ctx, page)
	if err != nil {
		if failure := (*predicate.Failure)(nil); errors.As(err, &failure) && failure.Reason == predicate.Open {
			said.Queries = 0
		}
		said.Failure = schemas.DetailOf(err)
		return said, err
	}
	for _, p := range parents {
		u, err := weburl.Parse(p)
		if err != nil || u.String() == page || len(said.Parents) == Most || slices.Contains(said.Parents, u.String()) {
			said.Dropped++
			continue
		}
		said.Parents = append(said.Parents, u.String())
	}
	return said, nil
}

// Join adds the parents in a verdict's judgement to its links, but for those that the page links to itself. The judgement
// must be the verdict's own.
func Join(rec *schemas.LinkFound) {
	own := make(map[string]bool, len(rec.GetLinks()))
	for _, l := range rec.GetLinks() {
		own[l.GetUrl()] = true
	}
	n := len(rec.GetLinks())
	links := slices.Clip(rec.GetLinks()) // others may have the page's
	for _, p := range rec.GetJudgement().GetBacklinks().GetParents() {
		if !own[p] {
			links = append(links, &schemas.Link{Url: p, FirstLeaf: schemas.NoLeaf, LastLeaf: schemas.NoLeaf, Backlink: true})
		}
	}
	if rec.Links = links; len(links) == n {
		return
	}
	for _, g := range rec.GetJudgement().GetGuidance() {
		extend(g, n, len(links))
	}
	if anchors := rec.GetJudgement().GetAnchors(); len(anchors) > 0 {
		// Nobody wrote a text for them: what is known is the page's own relevance.
		for range len(links) - n {
			anchors = append(anchors, uint32(rec.GetJudgement().GetRaw()*schemas.AnchorSteps))
		}
		rec.Judgement.Anchors = anchors
	}
}

// extend gives the links from n on what a guide said of the best of those before.
func extend(g *schemas.Guidance, n, all int) {
	if len(g.GetScores()) > 1 {
		best := slices.Max(g.GetScores())
		g.Scores = slices.Concat(g.GetScores(), slices.Repeat([]float64{best}, all-n))
	}
	if len(g.GetStates()) > 1 {
		g.States = slices.Concat(g.GetStates(), make([][]byte, all-n))
	}
}
