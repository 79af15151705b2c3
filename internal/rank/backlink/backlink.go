package backlink

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"

	"forager/internal/classify/httpmodel"
	"forager/internal/platform/modelfile"
	"forager/internal/web/weburl"
	"forager/schemas"
)

// Most is the number of parents of a page that are used (2000: the results that a search engine shows).
const Most = 20

// Source returns pages that link to a page. It is safe for concurrent use.
type Source interface {
	// Parents returns the URLs of pages that link to the page of a canonical URL, in the order of the source. The error is
	// a *predicate.Failure, or that of ctx.
	Parents(ctx context.Context, url string) ([]string, error)
}

// Open reads the file of a source; a source that is a service is called with the options. Errors are those of package
// modelfile, or that the file is not a source's.
func Open(b []byte, o httpmodel.Options) (Source, error) {
	switch kind := modelfile.Kind(b); kind {
	case TableKind:
		t, err := Unmarshal(b)
		if err != nil {
			return nil, err
		}
		return t, nil
	case httpmodel.BacklinksKind:
		p, err := httpmodel.UnmarshalBacklinks(b)
		if err != nil {
			return nil, err
		}
		return p.Client(o), nil
	default:
		return nil, fmt.Errorf("%w: this program has no source of backlinks of kind %.24q", modelfile.ErrForeign, kind)
	}
}

// OpenMapped is Open of a mapped file.
func OpenMapped(file *modelfile.Mapped, o httpmodel.Options) (Source, error) {
	s, err := Open(bytes.Clone(file.Bytes()), o)
	runtime.KeepAlive(file)
	return s, err
}

// Wanted reports whether the source is to be queried for a judged page: the path allows it, and a guide calls the page a
// target.
func Wanted(path *schemas.Path, j *schemas.Judgement) bool {
	target := func(g *schemas.Guidance) bool { return g.GetLayer() == 1 }
	return path.GetBacklinks() != "" && slices.ContainsFunc(j.GetGuidance(), target)
}

// Ask queries the source of a version for the parents of a page. A failure is recorded in the result, and is also returned
// as the error.
func Ask(ctx context.Context, by Source, version, page string) (*schemas.Backlinks, error) {
	result := &schemas.Backlinks{Source: version, Queries: 1}
	parents, err := by.Parents(ctx, page)
	if err != nil {
		if failure := (*httpmodel.Failure)(nil); errors.As(err, &failure) && failure.Reason == httpmodel.Open {
			result.Queries = 0
		}
		result.Failure = schemas.DetailOf(err)
		return result, err
	}
	for _, p := range parents {
		u, err := weburl.Parse(p)
		if err != nil || u.String() == page || len(result.Parents) == Most || slices.Contains(result.Parents, u.String()) {
			result.Dropped++
			continue
		}
		result.Parents = append(result.Parents, u.String())
	}
	return result, nil
}

// Join adds the parents in a verdict's judgement to its links, except those that the page links to itself. The judgement
// must not be shared with other verdicts.
func Join(rec *schemas.LinkFound) {
	parents := rec.GetJudgement().GetBacklinks().GetParents()
	if len(parents) == 0 {
		return
	}
	own := make(map[string]bool, len(rec.GetLinks()))
	for _, l := range rec.GetLinks() {
		own[l.GetUrl()] = true
	}
	n := len(rec.GetLinks())
	links := slices.Clip(rec.GetLinks()) // the page's links may be shared
	for _, p := range parents {
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
		// A parent has no anchor text: the page's own relevance is used.
		for range len(links) - n {
			anchors = append(anchors, uint32(rec.GetJudgement().GetRaw()*schemas.AnchorSteps))
		}
		rec.Judgement.Anchors = anchors
	}
}

// extend gives the links from n on the guidance of the best of those before.
func extend(g *schemas.Guidance, n, all int) {
	if len(g.GetScores()) > 1 {
		best := slices.Max(g.GetScores())
		g.Scores = slices.Concat(g.GetScores(), slices.Repeat([]float64{best}, all-n))
	}
	if len(g.GetStates()) > 1 {
		g.States = slices.Concat(g.GetStates(), make([][]byte, all-n))
	}
}
