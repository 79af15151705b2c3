package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"runtime"

	"golang.org/x/sync/errgroup"

	"forager/internal/page/dom"
	"forager/internal/web/warc"
	"forager/internal/web/weburl"
	"forager/schemas"
)

// unnamed replaces the URL of pages that were stored under an invalid name.
const unnamed = "http://unnamed.invalid/"

// leafPage is the result of reading one page.
type leafPage struct {
	// URL is the record's target, unchanged; Base is that of the page.
	URL  string `json:"url"`
	Base string `json:"base"`
	// Compact and Paper are those of the two leaf modes.
	Compact numbering `json:"compact"`
	Paper   numbering `json:"paper"`
	// Flat: the page was not parsed as a tree, or it was cut.
	Flat bool `json:"flat"`
}

type numbering struct {
	Leaves int `json:"leaves"`
	// Links are rows of target, first and last leaf, position and whether it is nofollow.
	Links [][5]any `json:"links"`
}

// leaves writes the leaf counts and links of every page in a WARC file with status 200, in the order of the file.
func leaves(args []string) error {
	flags := flag.NewFlagSet("leaves", flag.ContinueOnError)
	web := flags.String("web", "", "WARC `file`")
	if err := flags.Parse(args); err != nil {
		return err
	}
	stored, err := answers(*web)
	if err != nil {
		return err
	}
	pages := make([]leafPage, len(stored))
	var group errgroup.Group
	group.SetLimit(runtime.GOMAXPROCS(0))
	for i, s := range stored {
		group.Go(func() (err error) {
			pages[i], err = s.number()
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	return writeJSON(pages)
}

// answered is a stored page.
type answered struct {
	url, contentType string
	body             []byte
}

func answers(path string) ([]answered, error) {
	var all []answered
	for record, err := range warc.Responses(path) {
		if err != nil {
			return nil, err
		}
		answer, err := record.Response()
		if err != nil {
			return nil, err
		}
		if answer.Status != 200 {
			continue
		}
		body, err := answer.Payload(1 << 30)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", record.TargetURI, err)
		}
		all = append(all, answered{record.TargetURI, answer.Header.Get("Content-Type"), body})
	}
	return all, nil
}

func (a answered) number() (leafPage, error) {
	page := leafPage{URL: a.url, Base: unnamed}
	if u, err := weburl.Parse(a.url); err == nil {
		page.Base = u.String()
	}
	for mode, n := range map[schemas.LeafMode]*numbering{
		schemas.LeafMode_LEAF_MODE_COMPACT: &page.Compact, schemas.LeafMode_LEAF_MODE_PAPER: &page.Paper,
	} {
		p, err := dom.Parse(a.body, a.contentType, page.Base, dom.Settings{Leaves: mode})
		if err != nil {
			return page, err
		}
		n.Leaves = len(p.LeafLengths)
		n.Links = make([][5]any, 0, len(p.Links))
		for _, l := range p.Links {
			n.Links = append(n.Links, [5]any{l.Url, l.FirstLeaf, l.LastLeaf, l.Position, l.Nofollow})
		}
		page.Flat = page.Flat || p.TokenizerOnly || p.Cut
	}
	return page, nil
}

// resolve reads a JSON list of [URL of a page, href of its <base> or null, [href, …]] from a file and writes
// the list of the lists of canonical targets, null for an href without one.
func resolve(args []string) error {
	flags := flag.NewFlagSet("resolve", flag.ContinueOnError)
	in := flags.String("in", "", "JSON `file`")
	if err := flags.Parse(args); err != nil {
		return err
	}
	b, err := os.ReadFile(*in)
	if err != nil {
		return err
	}
	var pages [][3]json.RawMessage
	if err := json.Unmarshal(b, &pages); err != nil {
		return err
	}
	targets := make([][]*string, len(pages))
	for i, p := range pages {
		var page string
		var base *string
		var hrefs []string
		if err := errors.Join(json.Unmarshal(p[0], &page), json.Unmarshal(p[1], &base), json.Unmarshal(p[2], &hrefs)); err != nil {
			return err
		}
		u, err := weburl.Parse(page)
		if err != nil {
			return err
		}
		from := weburl.NewBase(u)
		if base != nil {
			if b, err := from.Resolve(*base); err == nil {
				from = weburl.NewBase(b)
			}
		}
		targets[i] = make([]*string, len(hrefs))
		for k, href := range hrefs {
			if target, err := from.Resolve(href); err == nil {
				s := target.String()
				targets[i][k] = &s
			}
		}
	}
	return writeJSON(targets)
}
