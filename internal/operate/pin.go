package operate

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	"forager/internal/platform/objects"
	"forager/internal/platform/registry"
	"forager/internal/rank/apprentice"
	"forager/internal/rank/linkfeature"
	"forager/schemas"
)

// PinModel makes the crawl rank by a model, whatever newer ones are published, and score its frontier again; ""
// returns to the newest that apprentice-train published. The model must be one of this crawl: another crawl's
// model predicts relevance for other topics, or by another critic. seen is the revision from which the change was derived; 0 = that in force.
func PinModel(ctx context.Context, b *Topics, store registry.Store, crawl string, seen uint64, version string) (*schemas.CrawlControl, error) {
	from, err := b.begin(crawl, seen)
	if err != nil {
		return nil, err
	}
	ctl := from.ctl
	if err := Pinnable(b, ctl); err != nil {
		return nil, err
	}
	if version != "" {
		model, err := ownModel(ctx, b, store, ctl, version)
		if err != nil {
			return nil, err
		}
		have, err := linkfeature.FamiliesOf(ctl.GetLearning().GetFeatures())
		if err != nil {
			return nil, err
		}
		if wanted := model.Settings().Families; !wanted.Within(have) {
			return nil, fmt.Errorf("model %s learnt of the features %v, and links of crawl %q have %v", version, wanted, crawl, have)
		}
	}
	if ctl.GetLearning().GetPinned() == version {
		return ctl, nil
	}
	return b.updateFrom(ctx, from, func(next *schemas.CrawlControl) {
		if next.Learning == nil {
			next.Learning = new(schemas.Learning)
		}
		next.Learning.Pinned = version
	})
}

// Pinnable is an error if no model can be pinned to the crawl.
func Pinnable(b *Topics, ctl *schemas.CrawlControl) error {
	if st := b.Status(ctl.GetCrawl()); Ended(st) {
		return refusef("crawl %q has finished (%s): there is nothing left to rank", ctl.GetCrawl(), st.GetEndReason())
	}
	if !schemas.Learns(ctl) {
		return refusef("no policy of crawl %q ranks by an apprentice", ctl.GetCrawl())
	}
	return nil
}

// ownModel reads a model that belongs to the crawl.
func ownModel(ctx context.Context, b *Topics, store registry.Store, ctl *schemas.CrawlControl, version string) (apprentice.Learner, error) {
	crawl := ctl.GetCrawl()
	of, name, ok := strings.Cut(version, "/")
	if !ok || name == "" {
		return nil, fmt.Errorf("%q is no version of a model; one of crawl %q is called %s/PAGES-DIGEST (forager report %s names the one in use)", version, crawl, crawl, crawl)
	}
	if of != crawl {
		return nil, fmt.Errorf("model %s was made for crawl %q, not for %q; a new crawl can begin with it (learning.prior in its crawl file)", version, of, crawl)
	}
	return model(ctx, b, store, ctl, version)
}

// Prior reads a model from which training by s is to continue.
func Prior(ctx context.Context, b *Topics, store registry.Store, ctl *schemas.CrawlControl, version string, s apprentice.Settings) (apprentice.Learner, error) {
	prior, err := model(ctx, b, store, ctl, version)
	if err != nil {
		return nil, err
	}
	if got := prior.Settings(); got != s {
		return nil, fmt.Errorf("model %s learnt by %v, and training would go on by %v", version, got, s)
	}
	return prior, nil
}

// model reads an apprentice model from which the crawl can start: one of any crawl that was judged by the same
// critic. Its announcement may be gone, since model.published keeps the newest of a crawl; it is then checked
// against the digest in its name.
func model(ctx context.Context, b *Topics, store registry.Store, ctl *schemas.CrawlControl, version string) (apprentice.Learner, error) {
	critic := b.Published(version).GetCritic()
	if critic == "" {
		if made, err := b.Control(schemas.ModelName(version)); err == nil {
			critic = made.GetCritic()
		}
	}
	if critic != "" && critic != ctl.GetCritic() {
		return nil, fmt.Errorf("model %s learnt relevances of the critic %s, and crawl %q is judged by %s", version, critic, ctl.GetCrawl(), ctl.GetCritic())
	}
	data, err := store.Get(ctx, schemas.ModelObject("apprentice", version))
	if errors.Is(err, objects.ErrNotFound) {
		return nil, fmt.Errorf("no model %s: %w", version, err)
	}
	if err != nil {
		return nil, fmt.Errorf("model %s: %w", version, err)
	}
	sum := sha256.Sum256(data)
	if digest := version[strings.LastIndexByte(version, '-')+1:]; hex.EncodeToString(sum[:6]) != digest {
		return nil, fmt.Errorf("model %s: object %s does not match its name (its digest is %x): it is damaged, take another version or retrain it", version, schemas.ModelObject("apprentice", version), sum[:6])
	}
	learner, err := apprentice.Open(data)
	if err != nil {
		return nil, fmt.Errorf("model %s: %w", version, err)
	}
	return learner, nil
}
