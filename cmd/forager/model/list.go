package model

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"forager/cmd/internal/cli"
	"forager/internal/operate"
	"forager/internal/platform/objects"
	"forager/schemas"
)

// Line is a model as models list shows it.
type Line struct {
	Version string `json:"version"`
	Kind    string `json:"kind"`
	// Pages that its crawl had delivered when it was made; for an apprentice.
	Pages uint64    `json:"pages,omitempty"`
	Bytes int64     `json:"bytes"`
	Made  time.Time `json:"made"`
	// InUse: its crawl ranks by it. Pinned: because an operator pinned it.
	InUse     bool `json:"in_use"`
	Pinned    bool `json:"pinned"`
	Retrained bool `json:"retrained"`
}

type modelsList struct {
	Crawl string `arg:"" optional:"" help:"The apprentices of this crawl; without it, all models."`
}

func (c *modelsList) Help() string {
	return `A critic judges pages and is called NAME/DIGEST, and so is a guide, which ranks their links; an apprentice orders the frontier of one crawl and is called
CRAWL/PAGES-DIGEST, by the pages that were delivered when it was made.

  forager models list chemistry
  forager models show chemistry                    # the one in use
  forager models use chemistry 150-0f3a9c2b71de`
}

func (c *modelsList) Run(s *cli.Session) error {
	b, store, err := s.OpenStore()
	if err != nil {
		return err
	}
	prefixes := []string{schemas.ModelObject("critic", ""), schemas.ModelObject("guide", ""), schemas.ModelObject("backlinks", ""), schemas.ModelObject("apprentice", "")}
	if c.Crawl != "" {
		if _, err := b.Control(c.Crawl); err != nil {
			return err
		}
		prefixes = []string{schemas.ModelObject("apprentice", c.Crawl+"/")}
	}
	list := []Line{}
	for _, prefix := range prefixes {
		for o, err := range store.List(s, prefix) {
			if err != nil {
				return err
			}
			list = append(list, modelLine(b, o))
		}
	}
	slices.SortFunc(list, func(x, y Line) int {
		return cmp.Or(-cmp.Compare(x.Kind, y.Kind), cmp.Compare(schemas.ModelName(x.Version), schemas.ModelName(y.Version)), cmp.Compare(x.Pages, y.Pages), x.Made.Compare(y.Made))
	})
	return s.Print(list, func(w io.Writer) {
		if len(list) == 0 {
			fmt.Fprintln(w, "no models")
			return
		}
		fmt.Fprintf(w, "%-44s %-10s %8s %10s  %-16s %s\n", "MODEL", "KIND", "PAGES", "SIZE", "MADE", "")
		for _, m := range list {
			pages, marks := "-", ""
			if m.Kind == "apprentice" {
				pages = strconv.FormatUint(m.Pages, 10)
			}
			for _, mark := range []struct {
				is   bool
				word string
			}{{m.Retrained, "retrained"}, {m.Pinned, "pinned"}, {m.InUse, "in use"}} {
				if mark.is {
					marks += ", " + mark.word
				}
			}
			fmt.Fprintf(w, "%-44s %-10s %8s %10s  %-16s %s\n", m.Version, m.Kind, pages, cli.Size(uint64(m.Bytes)), m.Made.Format("2006-01-02 15:04"), strings.TrimPrefix(marks, ", "))
		}
	})
}

func modelLine(b *cli.Topics, o objects.Object) Line {
	m := Line{Bytes: o.Size, Made: o.Modified.UTC()}
	_, rest, _ := strings.Cut(o.Key, "/")
	m.Kind, m.Version, _ = strings.Cut(rest, "/")
	if m.Kind != "apprentice" {
		m.InUse = judging(b, m.Version)
		return m
	}
	crawl, name, _ := strings.Cut(m.Version, "/")
	pages, _, _ := strings.Cut(name, "-")
	m.Pages, _ = strconv.ParseUint(pages, 10, 64)
	ctl, _ := b.Newest(crawl)
	m.Retrained = b.Published(m.Version).GetRetrained()
	m.Pinned = ctl.GetLearning().GetPinned() == m.Version
	m.InUse = b.Status(crawl).GetModel() == m.Version
	return m
}

// judging reports whether a critic judges a crawl that has not finished, also as a shadow, or a guide ranks one.
func judging(b *cli.Topics, version string) bool {
	return slices.ContainsFunc(b.Crawls(), func(name string) bool {
		ctl, _ := b.Newest(name)
		return slices.Contains(slices.Concat([]string{ctl.GetCritic()}, ctl.GetShadows(), schemas.Guides(ctl)), version) && !operate.Ended(b.Status(name))
	})
}
