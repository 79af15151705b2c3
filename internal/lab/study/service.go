package study

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"forager/internal/classify/httpmodel"
	"forager/internal/lab/experiment"
	"forager/internal/lab/taskfile"
	"forager/internal/rank/guide"
	"forager/schemas"
)

// Service is a ranker that is an HTTP service: a predicate on links (package httpmodel).
type Service struct {
	// URL of the service. Requests have the parameters task and crawl, which differs between crawls.
	URL string `yaml:"url" json:"url"`
	// Access is what it reads; "" = AccessSeeds.
	Access experiment.Access `yaml:"access" json:"access"`
	// Timeout of a request; 0 = a minute.
	Timeout time.Duration `yaml:"timeout" json:"timeout"`
}

func (s Service) check(name string) error {
	switch {
	case experiment.KnowRanker(name) == nil, strings.ContainsAny(name, "@+ "):
		return fmt.Errorf("%q is the name of another ranker, or has @, + or a space", name)
	case s.Access != "" && !slices.Contains(experiment.Accesses, s.Access):
		return fmt.Errorf("access %q is none of %v", s.Access, experiment.Accesses)
	}
	_, err := s.guide(&experiment.Job{Task: new(taskfile.Task), Variant: &experiment.Variant{Name: name}})
	return err
}

// guide returns the ranker of one crawl. Where labels follow from URLs, none is sent.
func (s Service) guide(j *experiment.Job) (guide.Guide, error) {
	u, err := url.Parse(s.URL)
	if err != nil {
		return nil, err
	}
	query := u.Query()
	query.Set("task", j.Task.Name)
	query.Set("crawl", fmt.Sprintf("%s/%d/%d/%s", j.Task.Name, j.Draw, j.Seed, j.Variant.Name))
	u.RawQuery = query.Encode()
	send := "[url, title, description, language, text, anchor, judgement]"
	if j.Task.LabelsFromURL {
		send = strings.Replace(send, "url, ", "", 1)
	}
	p, err := httpmodel.ParseLinks(j.Variant.Name, fmt.Sprintf("url: %s\nsend: %s\nbatch: 1\nconcurrent: 1\ntimeout: %s\n", strconv.Quote(u.String()), send, cmp.Or(s.Timeout, time.Minute)))
	if err != nil {
		return nil, err
	}
	return p.Client(httpmodel.Options{}), nil
}

// Variant returns the service as a ranker to compare.
func (s Service) Variant(name string, learning *schemas.Learning) experiment.Variant {
	return experiment.Variant{Name: name, Ranker: name, Learning: learning, Access: cmp.Or(s.Access, experiment.AccessSeeds), Guide: s.guide}
}

// Variant returns the variant of a name: a service of the plan or another ranker (experiment.ParseVariant).
func (p *Plan) Variant(name string, learning *schemas.Learning) (experiment.Variant, error) {
	ranker, critic, under := strings.Cut(name, "@")
	s, ok := p.Services[ranker]
	switch {
	case !ok:
		return experiment.ParseVariant(name, learning)
	case s.check(ranker) != nil:
		return experiment.Variant{}, s.check(ranker)
	case under:
		return s.Variant(ranker, learning).Under(critic), experiment.KnowCritic(critic)
	}
	return s.Variant(ranker, learning), nil
}
