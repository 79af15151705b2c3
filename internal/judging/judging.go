package judging

import (
	"context"

	"forager/internal/rank/backlink"
	"forager/internal/rank/guide"
	"forager/schemas"
)

// Models opens the models that control records name, by version. Its errors name the model. It is safe for concurrent use.
type Models interface {
	// Critic returns a critic for a crawl. Pages need it, unless it is a shadow.
	Critic(ctx context.Context, ctl *schemas.CrawlControl, version string, needed bool) (*Critic, error)
	Guide(ctx context.Context, version string) (guide.Guide, error)
	Backlinks(ctx context.Context, version string) (backlink.Source, error)
}

// Part is what a model does for a judgement.
type Part string

// The parts.
const (
	OfCritic    Part = "critic"
	OfShadow    Part = "shadow"
	OfGuide     Part = "guide"
	OfBacklinks Part = "backlinks"
)

// Judge judges pages by the models of their crawls. All fields must be set. It is safe for concurrent use.
type Judge struct {
	Models Models
	// Failed is called when a model fails on a page. The page fails with the error that it returns; after nil the judgement
	// has the failure. A critic is a service here, whose fallback is then used; without one the page fails. It may be called
	// concurrently.
	Failed func(of Part, version string, err error) error
	// Wait calls a function that waits for a service.
	Wait func(call func())
}

// Page returns the judgement of a page that was delivered; it is empty for a crawl without a critic. Errors are those of
// Models, of Failed, of the crawl's critic, of an invalid request or path state, and of ctx.
func (j *Judge) Page(ctx context.Context, ctl *schemas.CrawlControl, parsed *schemas.PageParsed) (*schemas.Judgement, error) {
	if ctl.GetCritic() == "" {
		return new(schemas.Judgement), nil
	}
	judged, err := j.byCritic(ctx, ctl, parsed.GetPage())
	if err != nil {
		return nil, err
	}
	judged.Marking = ctl.GetRevision()
	if err := j.Guide(ctx, ctl, parsed, judged); err != nil {
		return nil, err
	}
	for _, version := range ctl.GetShadows() {
		shadow, err := j.shadow(ctx, ctl, version, parsed.GetPage())
		if err != nil {
			return nil, err
		}
		judged.Shadows = append(judged.Shadows, shadow)
	}
	return judged, nil
}

// wait calls a function, through Wait if the model calls a service.
func (j *Judge) wait(by any, call func()) {
	if asks(by) {
		j.Wait(call)
	} else {
		call()
	}
}

// asks reports whether a model calls a service.
func asks(by any) bool {
	s, ok := by.(interface{ Asks() bool })
	return ok && s.Asks()
}
