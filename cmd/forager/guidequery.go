package main

import (
	"fmt"
	"io"
	"os"

	"forager/internal/classify/critic"
	"forager/internal/classify/judges"
	"forager/internal/classify/predicate"
	"forager/internal/rank/shark"
)

type guideQuery struct {
	Kind   string   `arg:"" help:"fish-search or shark-search." enum:"fish-search,shark-search"`
	Critic string   `arg:"" help:"File of the critic whose words make the query." type:"existingfile"`
	Focus  []string `required:"" help:"Focus topic; may be given more than once." placeholder:"TOPIC" sep:"none"`
	To     string   `required:"" short:"o" help:"File to write." placeholder:"FILE"`
	Force  bool     `help:"Replace a file that is there already."`
}

func (c *guideQuery) Help() string {
	return `Two crawlers of the last century to compare with: they know no classifier, but a query of words. Here it is the 20 words that speak
most for the focus in a critic.

  forager guide query shark-search schools.critic --focus Science/Chemistry -o shark.guide
  forager guide publish shark.guide --name shark`
}

// queried is the result of the command.
type queried struct {
	Kind  string       `json:"kind"`
	File  string       `json:"file"`
	Query []shark.Word `json:"query"`
}

func (c *guideQuery) Run(s *session) error {
	file, err := os.ReadFile(c.Critic)
	if err != nil {
		return err
	}
	judge, err := judges.Open(file, predicate.Options{})
	if err != nil {
		return fmt.Errorf("%s: %w", c.Critic, err)
	}
	m, ok := judge.(*critic.Model)
	if !ok {
		return usagef("%s was not trained: it has no words to make a query of", c.Critic)
	}
	query, err := shark.NewQuery(m, c.Focus)
	if err != nil {
		return fmt.Errorf("%s: %w", c.Critic, err)
	}
	guide, err := c.guide(query)
	if err != nil {
		return err
	}
	if err := writeGuide(s, c.To, c.Force, guide); err != nil {
		return err
	}
	out := &queried{c.Kind, c.To, query.Words()}
	return s.print(out, func(w io.Writer) {
		fmt.Fprintf(w, "%s for", out.Kind)
		for _, word := range out.Query {
			fmt.Fprintf(w, " %s", word.Word)
		}
		fmt.Fprintf(w, "\nwritten to %s\n", out.File)
	})
}

// guide returns the file of the guide.
func (c *guideQuery) guide(q *shark.Query) ([]byte, error) {
	if c.Kind == shark.FishKind {
		g, err := shark.NewFish(q, shark.DefaultFish)
		if err != nil {
			return nil, err
		}
		return g.Marshal(), nil
	}
	g, err := shark.NewShark(q, shark.Default)
	if err != nil {
		return nil, err
	}
	return g.Marshal(), nil
}
