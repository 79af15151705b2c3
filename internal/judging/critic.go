package judging

import (
	"context"
	"errors"
	"fmt"

	"forager/internal/classify/critic"
	"forager/internal/classify/httpmodel"
	"forager/internal/classify/taxonomy"
	"forager/schemas"
)

// Critic is a critic with the weights of its classes in a crawl.
type Critic struct {
	critic.Classifier
	// Version is its published name.
	Version string
	// Weights of its classes under the crawl's marking of topics (critic.Weigh).
	Weights *taxonomy.Weights
}

// Fields are fields of a judgement that only some crawls read. URLs: anchors are of the words of URLs, too.
type Fields struct{ Posteriors, Anchors, URLs bool }

// FieldsOf returns the fields that a crawl reads.
func FieldsOf(ctl *schemas.CrawlControl) Fields {
	return Fields{Posteriors: schemas.ReadsPosteriors(ctl), Anchors: schemas.ReadsAnchors(ctl), URLs: !ctl.GetLabelsFromUrls()}
}

// Judge returns the judgement of a page, which follows from the page and the critic alone. Judgement.marking is not set.
// The error is that of the classifier.
func (c *Critic) Judge(ctx context.Context, page *schemas.Page, with Fields) (*schemas.Judgement, error) {
	judge := critic.Judge
	if with.Posteriors {
		judge = critic.JudgeWithPosteriors
	}
	j, err := judge(ctx, c.Classifier, page, c.Weights)
	if err != nil {
		return nil, err
	}
	if with.Anchors {
		if j.Anchors, err = critic.JudgeAnchors(ctx, c.Classifier, page, c.Weights, with.URLs); err != nil {
			return nil, err
		}
	}
	j.Critic = c.Version
	return j, nil
}

// byCritic returns the judgement by the crawl's critic, or by its fallback if it is a service that fails.
func (j *Judge) byCritic(ctx context.Context, ctl *schemas.CrawlControl, page *schemas.Page) (*schemas.Judgement, error) {
	by, err := j.Models.Critic(ctx, ctl, ctl.GetCritic(), true)
	if err != nil {
		return nil, err
	}
	judged, err := j.call(ctx, by, page, FieldsOf(ctl))
	var failure *httpmodel.Failure
	if errors.As(err, &failure) {
		if err := j.Failed(OfCritic, by.Version, failure); err != nil {
			return nil, err
		}
		if c, ok := by.Classifier.(interface{ Fallback() string }); ok && c.Fallback() != "" {
			if by, err = j.Models.Critic(ctx, ctl, c.Fallback(), true); err != nil {
				return nil, err
			}
			judged, err = j.call(ctx, by, page, FieldsOf(ctl))
		}
	}
	if err != nil {
		return nil, fmt.Errorf("critic %s: %w", by.Version, err)
	}
	if failure != nil {
		judged.Degraded = failure.Reason
	}
	return judged, nil
}

// shadow returns the judgement of a critic that is not used. A failure is recorded in it.
func (j *Judge) shadow(ctx context.Context, ctl *schemas.CrawlControl, version string, page *schemas.Page) (*schemas.Shadow, error) {
	var judged *schemas.Judgement
	by, err := j.Models.Critic(ctx, ctl, version, false)
	if err == nil {
		judged, err = j.call(ctx, &Critic{failFast(by.Classifier), version, by.Weights}, page, Fields{})
	}
	switch {
	case err == nil:
		return &schemas.Shadow{
			Critic: version, Raw: judged.GetRaw(), Tempered: judged.GetTempered(), Calibrated: judged.GetCalibrated(),
			BestIsFocus: judged.GetBestIsFocus(), KnownTokens: judged.GetKnownTokens(),
		}, nil
	case ctx.Err() != nil:
		return nil, ctx.Err()
	}
	return &schemas.Shadow{Critic: version, Failure: schemas.DetailOf(err)}, j.Failed(OfShadow, version, err)
}

// call is Critic.Judge, through Wait if a service is called.
func (j *Judge) call(ctx context.Context, by *Critic, page *schemas.Page, with Fields) (judged *schemas.Judgement, err error) {
	j.wait(by.Classifier, func() { judged, err = by.Judge(ctx, page, with) })
	return judged, err
}

// failFast returns the classifier without retries of a failing service.
func failFast(by critic.Classifier) critic.Classifier {
	if c, ok := by.(interface{ FailFast() critic.Classifier }); ok {
		return c.FailFast()
	}
	return by
}
