package critic

import (
	"context"
	"errors"
	"fmt"
	"io"

	"forager/cmd/internal/cli"
	"forager/cmd/internal/crawls"
	"forager/internal/operate"
	"forager/internal/platform/samples"
	"forager/schemas"
)

// addMarks stores marks of pages.
func (t *OpenedCritic) addMarks(ctx context.Context, yes, no []string, drawn bool) error {
	for _, marked := range []struct {
		urls  []string
		right bool
	}{{yes, true}, {no, false}} {
		if len(marked.urls) == 0 {
			continue
		}
		m, err := t.newMark(marked.right, drawn, "")
		if err != nil {
			return err
		}
		if _, err := t.marks().Add(ctx, marked.urls, m); err != nil {
			return err
		}
	}
	return nil
}

// keep is addMarks, and prints the result.
func (t *OpenedCritic) keep(s *cli.Session, yes, no []string, drawn bool) error {
	if err := t.addMarks(s, yes, no, drawn); err != nil {
		return err
	}
	r := struct {
		Critic  string          `json:"critic"`
		Right   int             `json:"right"`
		Wrong   int             `json:"wrong"`
		OnTopic *crawls.OnTopic `json:"on_topic,omitempty"`
	}{Critic: t.name, Right: len(yes), Wrong: len(no)}
	if drawn {
		var err error
		if r.OnTopic, err = crawls.Estimate(s, t.Topics, t.Config, t.DB, t.crawl); err != nil {
			return err
		}
	}
	return s.Print(r, func(w io.Writer) {
		fmt.Fprintf(w, "%d pages are on topic, %d are not\n", r.Right, r.Wrong)
		if drawn {
			r.OnTopic.Text(w)
		}
		if r.Right+r.Wrong > 0 {
			fmt.Fprintf(w, "train the critic again:  %s\n", t.retrainCommand())
		}
	})
}

// OpenedCritic is what is needed to mark pages and train a critic on the marks.
type OpenedCritic struct {
	cli.Parts
	name  string // of the critic
	crawl string // judged by the critic, if the user named one; otherwise empty
	focus []string
	// Critic and its training pages, if it was trained on likes; otherwise nil.
	Critic *LikedCritic
	Set    []samples.Sample
}

// OpenCritic opens what is needed for the critic of a crawl, or for a critic.
func OpenCritic(s *cli.Session, of string) (*OpenedCritic, error) {
	p, err := s.OpenParts()
	if err != nil {
		return nil, err
	}
	t := &OpenedCritic{Parts: p}
	return t, t.open(s, of)
}

func (t *OpenedCritic) open(s *cli.Session, of string) error {
	if ctl, err := t.Topics.Control(of); err == nil {
		t.name = schemas.ModelName(ctl.GetCritic())
		t.crawl, t.focus = of, ctl.GetFocus()
	} else if m, unknown := t.Topics.Critic(of); unknown == nil {
		t.name = schemas.ModelName(m.GetVersion())
	} else {
		return fmt.Errorf("%q is neither a crawl nor a critic: %w; %w", of, err, unknown)
	}
	if t.name == "" {
		return fmt.Errorf("crawl %q only fetches; no critic judges its pages", of)
	}
	var err error
	t.Critic, t.Set, err = openLiked(s, t.Parts, t.name)
	if err != nil && !errors.Is(err, errNotLiked) {
		return err
	}
	if t.Critic != nil {
		t.focus = []string{t.Critic.Topic}
	}
	return nil
}

// liked is an error, with the remedy, if the critic was not trained on likes.
func (t *OpenedCritic) liked() error {
	if t.Critic == nil {
		return fmt.Errorf("critic %s was trained on examples with topics; train it again with what was marked by: %s", t.name, t.retrainCommand())
	}
	return nil
}

// retrainCommand returns the command that trains the critic again.
func (t *OpenedCritic) retrainCommand() string {
	return crawls.RetrainCommand(t.Topics, t.name, t.Critic != nil, t.crawl)
}

// newMark returns a mark without a page. The topics are those of the critic or the crawl unless one is named; of several
// a page that was not drawn needs the one that it is about.
func (t *OpenedCritic) newMark(right, drawn bool, topic string) (samples.Mark, error) {
	m, err := t.marks().New(right, drawn, topic)
	if err != nil {
		return m, cli.AsUsage(err)
	}
	return m, nil
}

// marks returns what is needed to mark pages.
func (t *OpenedCritic) marks() *operate.Marks {
	x := &operate.Marks{DB: t.DB, Store: t.Store, Critic: t.name, Crawl: t.crawl, Focus: t.focus}
	if t.Critic != nil {
		x.Only = t.Critic.Topic
	}
	return x
}
