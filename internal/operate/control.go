package operate

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"google.golang.org/protobuf/proto"

	"forager/internal/classify/taxonomy"
	"forager/internal/frontier"
	"forager/internal/platform/analytics"
	"forager/internal/platform/objects"
	"forager/internal/platform/registry"
	"forager/internal/stream"
	"forager/schemas"
)

// Reasons for which a change is not made, for callers that branch; the errors of this package wrap them.
var (
	// ErrUnknown: there is no crawl of the name.
	ErrUnknown = errors.New("unknown")
	// ErrRefused: the crawl, or what it is given, does not allow the change.
	ErrRefused = errors.New("refused")
	// ErrChanged: another operator has changed the crawl since it was read.
	ErrChanged = errors.New("changed by somebody else")
)

// reason adds one of the reasons to an error, without changing its text.
type reason struct {
	error
	is error
}

func (r reason) Unwrap() []error { return []error{r.error, r.is} }

func refusal(err error) error { return reason{err, ErrRefused} }

func refusef(format string, args ...any) error { return refusal(fmt.Errorf(format, args...)) }

// origin is a control record from which a change is derived, and the offset after the last record that was read then.
type origin struct {
	ctl    *schemas.CrawlControl
	offset int64
}

// begin returns the control record in force of a crawl that is there; ErrChanged if its revision is not the one that the operator has
// seen, 0 = any.
func (b *Topics) begin(crawl string, seen uint64) (origin, error) {
	if _, err := b.Control(crawl); err != nil {
		return origin{}, err
	}
	ctl, offset := b.Newest(crawl)
	if seen != 0 && ctl.GetRevision() != seen {
		return origin{}, reason{fmt.Errorf("crawl %q was changed by somebody else (revision %d is in force, not %d); nothing was done", crawl, ctl.GetRevision(), seen), ErrChanged}
	}
	return origin{ctl, offset}, nil
}

// updateFrom writes the next control record.
func (b *Topics) updateFrom(ctx context.Context, from origin, change func(*schemas.CrawlControl)) (*schemas.CrawlControl, error) {
	next := proto.CloneOf(from.ctl)
	change(next)
	return b.UpdateTo(ctx, next, from.offset)
}

// SetState lets a crawl run, pause or stop, and returns its control record. seen is the revision from which the change was derived; 0 =
// that in force.
func (b *Topics) SetState(ctx context.Context, crawl string, seen uint64, state schemas.CrawlState) (*schemas.CrawlControl, error) {
	from, err := b.begin(crawl, seen)
	if err != nil {
		return nil, err
	}
	switch st := b.Status(crawl); {
	case Ended(st):
		return nil, refusef("crawl %q has finished already: %s", crawl, st.GetEndReason())
	case from.ctl.GetState() == schemas.CrawlState_CRAWL_STATE_STOPPED && state != from.ctl.GetState():
		return nil, refuseStopping(crawl)
	}
	again := false // a newer control record lets a stage retry a crawl that it has parked
	if state == schemas.CrawlState_CRAWL_STATE_RUNNING {
		if again, err = LeftAside(ctx, b.Client, crawl); err != nil {
			return nil, err
		}
	}
	if from.ctl.GetState() == state && !again {
		return from.ctl, nil
	}
	return b.updateFrom(ctx, from, func(next *schemas.CrawlControl) { next.State = state })
}

// refuseStopping is the reason why a crawl that still has requests in flight after it was stopped is not changed.
func refuseStopping(crawl string) error {
	return refusef("crawl %q is being stopped: resume it (forager crawl resume %s) when nothing is in flight any more (forager crawl watch %s)", crawl, crawl, crawl)
}

// refuseFetching is the reason why a crawl that has no critic is not judged in another way.
func refuseFetching(crawl string) error {
	return refusef("crawl %q only fetches: no critic judges its pages", crawl)
}

// Refocus returns the change of the focus of a crawl, for Rejudge.
func Refocus(change taxonomy.Change) func(*schemas.CrawlControl) error {
	return func(next *schemas.CrawlControl) error {
		m, err := taxonomy.MarkingOf(next).Apply(change)
		if err != nil {
			return err
		}
		if len(m.Good) == 0 {
			return fmt.Errorf("no focus topic would be left of crawl %q; mark another one good, or stop the crawl", next.GetCrawl())
		}
		next.Focus, next.Bad, next.Weights = m.Good, m.Bad, m.Weights
		return nil
	}
}

// Rejudge changes how a running crawl is judged, after checking that it can be judged so. It returns the control record before and
// after: the same one if nothing changes. seen is the revision from which the change was derived; 0 = that in force.
func (b *Topics) Rejudge(
	ctx context.Context, store registry.Store, crawl string, seen uint64, change func(*schemas.CrawlControl) error,
) (before, next *schemas.CrawlControl, err error) {
	from, err := b.begin(crawl, seen)
	if err != nil {
		return nil, nil, err
	}
	old := from.ctl
	if old.GetCritic() == "" {
		return nil, nil, refuseFetching(crawl)
	}
	next = proto.CloneOf(old)
	if err := change(next); err != nil {
		return nil, nil, refusal(err)
	}
	if !proto.Equal(old, next) {
		if st := b.Status(crawl); Ended(st) && st.GetEndReason() != frontier.EndStagnated { // then seeds may lead on under another marking
			return nil, nil, refusef("crawl %q has finished (%s): there is nothing left to judge", crawl, st.GetEndReason())
		}
		if slices.Equal(next.Shadows, old.Shadows) { // a shadow that now counts is no longer a shadow
			version := next.GetCritic()
			if m, err := b.Critic(version); err == nil {
				version = m.GetVersion()
			}
			next.Shadows = slices.DeleteFunc(next.Shadows, func(v string) bool { return v == version })
		}
	}
	next, err = b.follow(ctx, store, from, next)
	return old, next, err
}

// UseCritics returns the change of the critics of a crawl, for Rejudge: the one that counts, and shadows for comparison; empty = as before,
// unless noShadows ends the comparison.
func UseCritics(critic string, shadows []string, noShadows bool) func(*schemas.CrawlControl) error {
	return func(next *schemas.CrawlControl) error {
		if critic != "" {
			next.Critic = critic
		}
		switch {
		case noShadows:
			next.Shadows = nil
		case len(shadows) > 0:
			next.Shadows = shadows
		}
		return nil
	}
}

// Away reports whether an error is that of a part that does not respond.
func Away(err error) bool {
	return errors.Is(err, objects.ErrUnavailable) || analytics.Unavailable(err) || stream.IsUnavailable(err) || errors.Is(err, context.DeadlineExceeded)
}
