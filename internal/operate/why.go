package operate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"forager/internal/frontier/why"
	"forager/internal/platform/analytics"
	"forager/internal/platform/pipeline"
	"forager/internal/web/weburl"
	"forager/schemas"
)

// Step is a URL on the path from a seed, and the link to the next one.
type Step struct {
	URL string `json:"url"`
	// Words of the link to the next URL, as the apprentice reads them, where they are known.
	Words string `json:"words,omitempty"`
}

// Explanation is what is known of a URL of a crawl.
type Explanation struct {
	// Asked is the URL as it was given, if its canonical form is another.
	Asked    string `json:"asked,omitempty"`
	Sentence string `json:"sentence"`
	why.Answer
	// Path leads from a seed to the URL. It is what ClickHouse has of it; Missing is what is not there.
	Path    []Step `json:"path,omitempty"`
	Missing string `json:"missing,omitempty"`
	// FoundOn are pages that link to a URL that the crawl does not know, as they are in ClickHouse.
	FoundOn []string `json:"found_on,omitempty"`
	// Page is the last request with what became of it; nil if there is none in ClickHouse.
	Page *analytics.SeenPage `json:"page,omitempty"`
}

// Explainer asks prioritize, and ClickHouse for what it does not keep.
type Explainer struct {
	Topics *Topics
	Config *pipeline.Config
	// DB may be nil: then there is no path.
	DB *analytics.DB
	// At are addresses of the metrics of prioritize, host:port; empty = those of the configuration, or of its replicas on this machine.
	At []string
}

const (
	mostLinkers = 20
	mostSteps   = 256
	// whyWithin bounds the time of a statement, and answerWithin that of a question to prioritize.
	whyWithin    = 10 * time.Second
	answerWithin = 30 * time.Second
)

// Why explains what became of a URL in a crawl, what would become of it, and why.
func (x Explainer) Why(ctx context.Context, crawl, raw string) (*Explanation, error) {
	if _, err := x.Topics.Control(crawl); err != nil {
		return nil, err
	}
	u, err := weburl.Parse(raw)
	if err != nil {
		return nil, reason{fmt.Errorf("%q is no URL that can be crawled: %w", raw, err), ErrRefused}
	}
	e := new(Explanation)
	if u.String() != raw {
		e.Asked = raw
	}
	if err := x.ask(ctx, e, crawl, u.String()); err != nil {
		return nil, err
	}
	if d := x.ofCrawl(crawl); d != nil && e.State != why.Final {
		e.Decisions = append(e.Decisions, *d)
	}
	e.Cause = why.CauseUnder(e.Cause, x.hold(crawl))
	e.Sentence = e.Answer.Sentence()
	if e.State == why.Unknown && x.DB != nil && e.Missing == "" {
		if len(e.FoundOn) == 0 {
			e.Sentence += "; no page that was fetched so far links to it"
		} else if d := e.Deciding(); d == nil || d.Passing() {
			e.Sentence += "; a page that links to it is in ClickHouse, and was not applied yet or led to it when its host was full"
		}
	}
	return e, nil
}

// hold is what all URLs of a crawl wait for; 0 if they do not.
func (x Explainer) hold(crawl string) (hold schemas.WaitCause) {
	for _, w := range x.Topics.Status(crawl).GetWaits() {
		if schemas.Holds(w.GetCause()) {
			hold = w.GetCause()
		}
	}
	return hold
}

// Queues asks the replicas of prioritize for the best and the oldest URLs in the queues of a crawl.
func (x Explainer) Queues(ctx context.Context, crawl string) (*why.Queues, error) {
	ctl, err := x.Topics.Control(crawl)
	if err != nil {
		return nil, err
	}
	all := &why.Queues{Exact: true, Best: []why.QueuedURL{}, Oldest: []why.QueuedURL{}}
	if err := askShards(ctx, x, ctl, http.MethodGet, why.QueuedPath, url.Values{}, all.Merge); err != nil {
		return nil, err
	}
	hold := x.hold(crawl)
	for _, list := range [][]why.QueuedURL{all.Best, all.Oldest} {
		for i := range list {
			list[i].Cause = why.CauseUnder(list[i].Cause, hold)
		}
	}
	return all, nil
}

// askShards asks the replicas of prioritize a question about each shard of a crawl.
func askShards[T any](ctx context.Context, x Explainer, ctl *schemas.CrawlControl, method, path string, form url.Values, merge func(*T)) error {
	form.Set("crawl", ctl.GetCrawl())
	for shard := range schemas.ShardsOf(ctl) {
		of := new(T)
		form.Set("shard", strconv.FormatUint(uint64(shard), 10))
		if err := x.askReplicas(ctx, ctl.GetCrawl(), method, path, form, of); err != nil {
			return err
		}
		merge(of)
	}
	return nil
}

// ask fills an explanation in.
func (x Explainer) ask(ctx context.Context, e *Explanation, crawl, canonical string) error {
	a, err := x.answer(ctx, crawl, canonical, 1)
	if err != nil {
		return err
	}
	var redirects []string
	for range mostSteps {
		if a.State != why.Elsewhere {
			break
		}
		redirects = append(redirects, a.Redirects...)
		if a, err = x.answer(ctx, crawl, redirects[len(redirects)-1], a.Depth); err != nil {
			return err
		}
	}
	e.Answer = *a
	e.URL, e.Redirects = canonical, append(redirects, a.Redirects...)
	if x.DB == nil {
		e.Missing = "ClickHouse was not asked"
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, 3*whyWithin)
	defer cancel()
	if err := x.look(analytics.Bounded(ctx, whyWithin, 10_000), e); err != nil {
		e.Missing = "ClickHouse: " + err.Error()
	}
	return nil
}

// about is the URL that the answer describes.
func (e *Explanation) about() string {
	if n := len(e.Redirects); n > 0 {
		return e.Redirects[n-1]
	}
	return e.URL
}

// look adds what ClickHouse has.
func (x Explainer) look(ctx context.Context, e *Explanation) error {
	from, known := "", false
	switch {
	case e.State == why.Unknown:
		linkers, err := x.trail(e).Linkers(ctx, e.about(), mostLinkers)
		if err != nil || len(linkers) == 0 {
			return err
		}
		for _, l := range linkers {
			e.FoundOn = append(e.FoundOn, l.URL)
		}
		depth := uint32(0)
		if first := linkers[0]; first.Requested {
			depth = first.Depth + 1
		}
		if depth != e.Depth {
			a, err := x.answer(ctx, e.Crawl, e.about(), depth)
			if err != nil {
				return err
			}
			e.State, e.Depth, e.Decisions = a.State, depth, a.Decisions
		}
		from, known = linkers[0].URL, true
	case e.Attempts > 0:
		pages, err := x.DB.SeenPages(ctx, e.Crawl, e.about(), 0, 0, 1)
		if err != nil {
			return err
		}
		if len(pages) > 0 {
			e.Page = &pages[0]
			from, known = pages[0].Via, true
		}
	default:
		if at := slices.IndexFunc(e.Links, func(l why.Link) bool { return l.Best }); at >= 0 {
			from, known = e.Links[at].From, true
		} else if len(e.Links) > 0 {
			from, known = e.Links[0].From, true
		}
	}
	if !known {
		e.Missing = "the request is not in ClickHouse (yet): rows are loaded some seconds later"
		return nil
	}
	return x.path(ctx, e, from)
}

func (x Explainer) trail(e *Explanation) analytics.Trail {
	return analytics.Trail{DB: x.DB, Crawl: e.Crawl}
}

// path adds the path from a seed to the URL, whose page before it is from; empty = it is a seed.
func (x Explainer) path(ctx context.Context, e *Explanation, from string) error {
	e.Path = []Step{{URL: e.about()}}
	for from != "" && len(e.Path) < mostSteps {
		e.Path = append(e.Path, Step{URL: from})
		via, ok, err := x.trail(e).Via(ctx, from)
		if err != nil {
			return err
		}
		if !ok {
			e.Missing = "the request for " + from + " is not in ClickHouse"
			break
		}
		from = via
	}
	slices.Reverse(e.Path)
	leaps := make([]schemas.ID, len(e.Path)-1)
	for i := range leaps {
		leaps[i] = schemas.LeapID(e.Crawl, e.Path[i].URL, e.Path[i+1].URL)
	}
	words, err := x.trail(e).LinkWords(ctx, leaps)
	if err != nil {
		return err
	}
	for i, id := range leaps {
		e.Path[i].Words = strings.Join(words[id.String()], " ")
	}
	if n := len(e.Path); n > 1 && e.Path[n-2].Words == "" {
		for _, l := range e.Links {
			if l.From == e.Path[n-2].URL {
				e.Path[n-2].Words = l.Words
			}
		}
	}
	return nil
}

// ofCrawl is the decision on all URLs of a crawl that does not fetch any now; nil if it does.
func (x Explainer) ofCrawl(crawl string) *why.Decision {
	ctl, err := x.Topics.Control(crawl)
	st := x.Topics.Status(crawl)
	d := &why.Decision{Rule: why.RuleCrawl}
	switch {
	case err != nil:
		return nil
	case ctl.GetState() == schemas.CrawlState_CRAWL_STATE_STOPPED:
		d.Reason, d.Change = "the crawl was stopped", "forager crawl resume"
	case Ended(st):
		d.Reason, d.Change = "the crawl has finished: "+st.GetEndReason(), "forager crawl resume with a larger budget (--pages, --requests), further seeds, or --retry-failed"
	case st.GetDiskNeeded() > 0:
		d.Reason, d.Change = "all crawls are paused: "+st.GetActivity(), "free space on the disk, or lower disk.pause_below"
	case ctl.GetState() == schemas.CrawlState_CRAWL_STATE_PAUSED:
		d.Reason, d.Change = "the crawl is paused", "forager crawl resume"
	case st.GetOutage() != nil:
		d.Reason, d.Change = WaitingFor(st), "the network can be used again"
	default:
		return nil
	}
	return d
}

// endpoint is where a replica of prioritize answers; the token may be empty.
type endpoint struct{ address, token string }

// endpoints returns those of all replicas; of those that do not run some are missing.
func (x Explainer) endpoints(ctx context.Context) (all []endpoint, err error) {
	for _, address := range x.At {
		all = append(all, endpoint{address: address})
	}
	conf := x.Config.Stages.Prioritize
	switch {
	case len(all) > 0:
		return all, nil
	case conf.Address != "":
		host, port, err := net.SplitHostPort(conf.Address)
		if err != nil {
			return nil, fmt.Errorf("stages.prioritize.address: %w", err)
		}
		ips, err := net.DefaultResolver.LookupHost(ctx, host)
		if err != nil {
			return nil, fmt.Errorf("stages.prioritize.address: %w", err)
		}
		for _, ip := range ips {
			all = append(all, endpoint{address: net.JoinHostPort(ip, port)})
		}
		return all, nil
	case conf.Metrics == "":
		for i := range max(1, conf.Replicas) {
			b, err := os.ReadFile(pipeline.AddressFile(x.Config.StateDir("prioritize"), i))
			if address, token, ok := strings.Cut(strings.TrimSpace(string(b)), " "); err == nil && ok {
				all = append(all, endpoint{address, token})
			}
		}
		return all, nil
	}
	for i := range max(1, conf.Replicas) {
		address, err := pipeline.ReplicaAddress(conf.Metrics, i)
		host, port, _ := net.SplitHostPort(address)
		if err != nil || port == "0" {
			return nil, fmt.Errorf("stages.prioritize.metrics is %q: the address at which prioritize answers is not known; give it (--at)", conf.Metrics)
		}
		if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
			host = "127.0.0.1"
		}
		all = append(all, endpoint{address: net.JoinHostPort(host, port)})
	}
	return all, nil
}

// mostAnswer bounds an answer of prioritize, bytes.
const mostAnswer = 4 << 20

// errNotHere: the process does not have the shard.
var errNotHere = errors.New("the process does not have it")

// answer asks for the state of a URL.
func (x Explainer) answer(ctx context.Context, crawl, canonical string, depth uint32) (*why.Answer, error) {
	a := new(why.Answer)
	query := url.Values{"crawl": {crawl}, "url": {canonical}, "depth": {strconv.FormatUint(uint64(depth), 10)}}
	if err := x.askReplicas(ctx, crawl, http.MethodGet, why.Path, query, a); err != nil {
		return nil, err
	}
	return a, nil
}

// askReplicas asks every replica of prioritize until one has the shard that the question is about, and decodes what it returns.
func (x Explainer) askReplicas(ctx context.Context, crawl, method, path string, form url.Values, to any) error {
	endpoints, err := x.endpoints(ctx)
	if err != nil {
		return err
	}
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: answerWithin}
	var failed error
	for _, e := range endpoints {
		err := e.ask(ctx, &client, method, path, form, to)
		switch {
		case err == nil:
			return nil
		case !errors.Is(err, errNotHere):
			failed = errors.Join(failed, err)
		}
	}
	switch {
	case len(endpoints) == 0:
		failed = errors.New("no replica of it runs on this machine")
	case failed == nil:
		return fmt.Errorf("no replica of prioritize has this part of crawl %s at the moment: partitions are being moved or restored; try again", crawl)
	}
	return fmt.Errorf("prioritize, which has the URLs of crawl %s, does not answer (forager up starts it; forager doctor finds the fault; --at gives its address where it runs elsewhere): %w", crawl, failed)
}

func (e endpoint) ask(ctx context.Context, client *http.Client, method, path string, form url.Values, to any) error {
	address, body := "http://"+e.address+path, form.Encode()
	if method == http.MethodGet {
		address, body = address+"?"+body, ""
	}
	r, err := http.NewRequestWithContext(ctx, method, address, strings.NewReader(body))
	if err != nil {
		return err
	}
	if method == http.MethodPost {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	if e.token != "" {
		r.Header.Set("Authorization", "Bearer "+e.token)
	}
	resp, err := client.Do(r)
	if err != nil {
		return errors.Unwrap(err) // without the address, which has the URL in it
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(io.LimitReader(resp.Body, mostAnswer))
	switch {
	case err != nil:
		return err
	case resp.StatusCode == http.StatusNotFound:
		return errNotHere
	case resp.StatusCode != http.StatusOK:
		return fmt.Errorf("%s: %s", resp.Status, strings.TrimSpace(string(b)))
	}
	return json.Unmarshal(b, to)
}
