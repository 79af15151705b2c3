package httpmodel

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"forager/internal/platform/modelfile"
	"forager/internal/platform/strictyaml"
)

const (
	// BacklinksKind is the kind of a file with the settings of a service of backlinks (package modelfile).
	BacklinksKind    = "backlink-service"
	backlinksVersion = 1
)

// BacklinkSettings define the service that is queried for pages that link to a page. They are written as YAML.
type BacklinkSettings struct {
	// URL of the service, http or https.
	URL string `yaml:"url"`
	// Concurrent is the maximum number of requests under way, 2 by default; a request is about one page.
	Concurrent int `yaml:"concurrent"`
	// Timeout of a request, 10 s by default. A page waits for twice that at most.
	Timeout time.Duration `yaml:"timeout"`
	Breaker Breaker       `yaml:"breaker"`
	// TokenEnv is the environment variable of critic-score with the service's bearer token.
	TokenEnv string `yaml:"token_env"`
}

// BacklinkService is a service with its settings.
type BacklinkService struct {
	name, source string
	settings     BacklinkSettings
}

// ParseBacklinks parses settings. name is the file's; the error is a *strictyaml.Error with every problem.
func ParseBacklinks(name, source string) (*BacklinkService, error) {
	s := &BacklinkService{name: name, source: source, settings: BacklinkSettings{
		Concurrent: 2, Timeout: 10 * time.Second, Breaker: Breaker{Failures: 5, Pause: 10 * time.Second},
	}}
	r := strictyaml.Decode([]byte(source), &s.settings)
	if len(r.Problems()) == 0 {
		a := s.settings.address()
		a.check(r)
	}
	if problems := r.Problems(); len(problems) > 0 {
		return nil, &strictyaml.Error{File: name, Problems: problems}
	}
	return s, nil
}

// address returns the address of the service. Every query is a request of its own, as services charge for each.
func (s *BacklinkSettings) address() address {
	return address{url: s.URL, textBytes: 1, batch: 1, concurrent: s.Concurrent, timeout: s.Timeout, breaker: s.Breaker, tokenEnv: s.TokenEnv}
}

// Source returns the text of the settings.
func (s *BacklinkService) Source() string { return s.source }

// Marshal returns the file: the same settings, the same bytes.
func (s *BacklinkService) Marshal() []byte {
	var e modelfile.Encoder
	e.String(s.name)
	e.String(s.source)
	return modelfile.Seal(BacklinksKind, backlinksVersion, e.Bytes())
}

// UnmarshalBacklinks reads a file. Errors are those of package modelfile, and those of ParseBacklinks.
func UnmarshalBacklinks(b []byte) (*BacklinkService, error) {
	_, body, err := modelfile.Open(b, BacklinksKind, backlinksVersion)
	if err != nil {
		return nil, fmt.Errorf("service of backlinks: %w", err)
	}
	d := modelfile.NewDecoder(body)
	name, source := d.String("name"), d.String("settings")
	if err := d.End(); err != nil {
		return nil, fmt.Errorf("service of backlinks: %w", err)
	}
	return ParseBacklinks(name, source)
}

// BacklinkClient queries a service of backlinks. It is safe for concurrent use.
type BacklinkClient struct {
	*BacklinkService
	service poster
	queue   queue[string, []string]
}

// Client returns a client of the service. It makes no request by itself.
func (s *BacklinkService) Client(o Options) *BacklinkClient {
	c := &BacklinkClient{BacklinkService: s, service: newPoster(s.settings.address(), o)}
	c.queue = newQueue(s.name, s.settings.address(), o, c.send)
	return c
}

// Asks reports that a result requires a request.
func (c *BacklinkClient) Asks() bool { return true }

// Parents returns the pages that link to a page. It waits for twice the timeout at most; the error is a *Failure,
// or the end of ctx.
func (c *BacklinkClient) Parents(ctx context.Context, url string) ([]string, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, 2*c.settings.Timeout, &Failure{Timeout, "too many pages wait"})
	defer cancel()
	return c.queue.ask(ctx, url)
}

// send requests the backlinks of a page. The error is a *Failure.
func (c *BacklinkClient) send(pages []string) ([][]string, []string, error) {
	body, err := json.Marshal(map[string]any{"version": 1, "url": pages[0]})
	if err != nil {
		return nil, nil, &Failure{Rubbish, fmt.Sprintf("write the request: %v", err)}
	}
	b, failure := c.service.post(body)
	if failure != nil {
		return nil, nil, failure
	}
	var answer struct {
		Parents []string `json:"parents"`
	}
	if err := json.Unmarshal(b, &answer); err != nil {
		return nil, nil, &Failure{Rubbish, fmt.Sprintf("the answer is not the JSON it should be: %v", err)}
	}
	if answer.Parents == nil {
		return nil, nil, &Failure{Rubbish, "the answer has no parents"}
	}
	return [][]string{answer.Parents}, []string{""}, nil
}
