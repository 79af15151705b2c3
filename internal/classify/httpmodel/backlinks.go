package httpmodel

import (
	"context"
	"errors"
)

// BacklinksKind is the kind of a file with the settings of a service of backlinks (package modelfile).
const BacklinksKind = "backlink-service"

// BacklinkSettings define the service that is queried for pages that link to a page. They are written as YAML.
type BacklinkSettings struct {
	Service `yaml:",inline"`
}

// BacklinkService is a service with its settings.
type BacklinkService struct{ definition[BacklinkSettings] }

// ParseBacklinks parses settings. name is the file's; the error is a *strictyaml.Error with every problem.
func ParseBacklinks(name, source string) (*BacklinkService, error) {
	d, err := parse(name, source, BacklinkSettings{defaultService()}, (*BacklinkSettings).check)
	if err != nil {
		return nil, err
	}
	return &BacklinkService{d}, nil
}

// Marshal returns the file: the same settings, the same bytes.
func (s *BacklinkService) Marshal() []byte { return seal(BacklinksKind, s.name, s.source) }

// UnmarshalBacklinks reads a file. Errors are those of package modelfile, and those of ParseBacklinks.
func UnmarshalBacklinks(b []byte) (*BacklinkService, error) {
	texts, err := unseal(b, BacklinksKind, "name", "settings")
	if err != nil {
		return nil, err
	}
	return ParseBacklinks(texts[0], texts[1])
}

// BacklinkClient queries a service of backlinks. It is safe for concurrent use.
type BacklinkClient struct {
	*BacklinkService
	queue queue[string, []string]
}

// Client returns a client of the service. It makes no request by itself.
func (s *BacklinkService) Client(o Options) *BacklinkClient {
	write := func(pages []string) any { return map[string]any{"version": 1, "url": pages[0]} }
	// Every query is a request of its own, as services charge for each.
	return &BacklinkClient{s, newQueue(s.name, s.settings.Service, 1, o, exchange(s.settings.Service, o, write, readParents))}
}

// Asks reports that a result requires a request.
func (c *BacklinkClient) Asks() bool { return true }

// Parents returns the pages that link to a page. It waits for twice the timeout at most; the error is a *Failure,
// or the end of ctx.
func (c *BacklinkClient) Parents(ctx context.Context, url string) ([]string, error) {
	return c.queue.askSoon(ctx, url)
}

// readParents decodes the response about a page.
func readParents(body []byte, _ []string) ([][]string, []string, error) {
	var answer struct {
		Parents []string `json:"parents"`
	}
	if err := decode(body, &answer); err != nil {
		return nil, nil, err
	}
	if answer.Parents == nil {
		return nil, nil, errors.New("the answer has no parents")
	}
	return [][]string{answer.Parents}, []string{""}, nil
}
