package pipeline

import (
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// EventKinds are the kinds of events that webhooks can be sent.
var EventKinds = []string{EventFinished, EventStalled, EventHarvestBelow, EventDeadLetters}

// Kinds of events.
const (
	EventFinished     = "finished"
	EventStalled      = "stalled"
	EventHarvestBelow = "harvest-below"
	EventDeadLetters  = "dead-letters"
)

// Webhook is a receiver of events. At most one of Secret, SecretEnv and SecretFile is set; without one, requests have no signature.
type Webhook struct {
	URL          string   `yaml:"url"`
	Events       []string `yaml:"events,omitempty"`
	Crawls       string   `yaml:"crawls,omitempty"`
	HarvestBelow float64  `yaml:"harvest_below,omitempty"`
	Secret       string   `yaml:"secret,omitempty"`
	SecretEnv    string   `yaml:"secret_env,omitempty"`
	SecretFile   string   `yaml:"secret_file,omitempty"`
}

// Webhooks are receivers of events.
type Webhooks []Webhook

const (
	maxWebhooks = 16
	maxSecret   = 4 << 10 // bytes of a file with a secret
)

// Wanted describes a valid value, for messages about a wrong one.
func (Webhooks) Wanted() string {
	return "a list of receivers, such as [{url: 'https://hooks.example/forager', events: [finished, stalled]}]"
}

// String returns the list as the file may have it, without secrets.
func (list Webhooks) String() string {
	shown := slices.Clone(list)
	for i := range shown {
		if shown[i].Secret != "" {
			shown[i].Secret = hidden
		}
	}
	var n yaml.Node
	if n.Encode(shown) != nil { // of texts and numbers
		return "[]"
	}
	n.Style = yaml.FlowStyle
	b, _ := yaml.Marshal(&n)
	return strings.TrimSuffix(string(b), "\n")
}

// Host is the host of the receiver, for messages: the rest of its URL may be confidential.
func (w *Webhook) Host() string { return serviceHost(w.URL) }

// Accepts reports whether the receiver is sent events of a kind about a crawl, "" = none.
func (w *Webhook) Accepts(kind, crawl string) bool {
	matches := w.Crawls == ""
	if !matches {
		matches, _ = path.Match(w.Crawls, crawl) // the pattern was checked
	}
	return matches && (len(w.Events) == 0 || slices.Contains(w.Events, kind))
}

// Key returns the secret with which requests are signed, as it is now; empty = none.
func (w *Webhook) Key() (string, error) {
	if w.SecretEnv != "" {
		return Password(w.SecretEnv)
	}
	if w.SecretFile == "" {
		return w.Secret, nil
	}
	f, err := os.Open(w.SecretFile)
	if err != nil {
		return "", fmt.Errorf("secret_file: %w", err)
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxSecret+1))
	key := strings.TrimSpace(string(b))
	if err == nil && (key == "" || len(b) > maxSecret) {
		err = errors.New("it is empty, or larger than 4 KiB")
	}
	if err != nil {
		return "", fmt.Errorf("secret_file %s: %w", w.SecretFile, err)
	}
	return key, nil
}

func (k checks) webhooks(at string, list Webhooks) {
	if len(list) > maxWebhooks {
		k.Problem(at, "has %d receivers; %d are possible", len(list), maxWebhooks)
	}
	for i, w := range list {
		at := fmt.Sprintf("%s.%d", at, i+1)
		k.httpURL(at+".url", w.URL)
		if u, err := url.Parse(w.URL); err == nil && u.User != nil {
			k.Problem(at+".url", "has a user; give the receiver a secret")
		}
		for _, kind := range w.Events {
			if !slices.Contains(EventKinds, kind) {
				k.Problem(at+".events", "%q is not one of %s", kind, strings.Join(EventKinds, ", "))
			}
		}
		if _, err := path.Match(w.Crawls, ""); err != nil {
			k.Problem(at+".crawls", "%q is not a pattern, such as news-*", w.Crawls)
		}
		if !(w.HarvestBelow >= 0 && w.HarvestBelow <= 1) { // or no number
			k.Problem(at+".harvest_below", "is %g; it must lie between 0 and 1", w.HarvestBelow)
		}
		if named := slices.Contains(w.Events, EventHarvestBelow); named != (w.HarvestBelow > 0) && (named || len(w.Events) > 0) {
			k.Problem(at+".harvest_below", "belongs together with %s in events", EventHarvestBelow)
		}
		secrets := slices.DeleteFunc([]string{w.Secret, w.SecretEnv, w.SecretFile}, func(s string) bool { return s == "" })
		if len(secrets) > 1 {
			k.Problem(at+".secret", "give one of secret, secret_env and secret_file")
		}
	}
}
