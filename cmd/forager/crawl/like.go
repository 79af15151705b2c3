package crawl

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/cespare/xxhash/v2"

	"forager/cmd/forager/critic"
	"forager/cmd/internal/cli"
	"forager/cmd/internal/crawls"
	"forager/internal/classify/pulearning"
	"forager/internal/crawl/crawlfile"
	"forager/internal/export"
	"forager/internal/operate"
	"forager/internal/page/dom"
	"forager/internal/platform/samples"
	"forager/internal/web/weburl"
)

// likeFlags describe a crawl by pages that are on topic only.
type likeFlags struct {
	Like       []string `help:"A page that is on topic, instead of a critic, topics and seeds; more may follow. Some ten are enough." placeholder:"URL" sep:"none"`
	LikeFile   string   `help:"A file with such pages, one URL a line (# begins a comment)." type:"existingfile"`
	Name       string   `help:"Name of the crawl and of its critic; with --like."`
	Pages      uint64   `help:"Pages to fetch in all, those that train the critic included; with --like." default:"1000"`
	Background int      `help:"Pages around the likes that are fetched to show what is not on topic; with --like." default:"150"`
	Ranker     string   `help:"What orders the frontier; with --like. By default link-value."`
	Contact    string   `help:"E-mail address or page at which site owners can reach you; goes into the User-Agent. With --like."`

	Delay *time.Duration `help:"Between two requests to a host; robots.txt may ask for more. By default 1s; with --like."`
}

const (
	// hostShare is the largest number of background pages of one host: with a pause of a second between
	// requests the background takes less than a minute.
	hostShare = 40
	// fewestBackground is the smallest number of background pages.
	fewestBackground = 20
)

// Liking is a crawl that starts from pages that are on topic.
type Liking struct {
	*likeFlags
	S *cli.Session
	cli.Parts
	crawl *crawlfile.Crawl
	likes []string

	politely crawls.FetchPoliteness
}

// LikeResult is the result of crawl start --like.
type LikeResult struct {
	Crawl string   `json:"crawl"`
	Seeds []string `json:"seeds"`
	// Failed are the likes without a page, by URL: the outcome.
	Failed map[string]string `json:"failed"`
	// Fetched is the number of pages fetched to train the critic; they count towards the budget.
	Fetched int                `json:"fetched"`
	Budget  uint64             `json:"budget"`
	Critic  string             `json:"critic"`
	Report  *pulearning.Report `json:"report"`
	// Critics are the versions that judged the crawl in turn, if it was watched.
	Critics []string        `json:"critics,omitempty"`
	Ended   *crawls.Summary `json:"ended,omitempty"`
}

// newLiking checks everything that can be checked before a page is fetched.
func newLiking(s *cli.Session, flags *likeFlags, args []string) (*Liking, error) {
	l := &Liking{likeFlags: flags, S: s}
	raw, file := slices.Clone(flags.Like), ""
	for _, a := range args {
		switch {
		case a == "":
		case strings.HasPrefix(a, "http://") || strings.HasPrefix(a, "https://"):
			raw = append(raw, a)
		case file != "":
			return nil, cli.Usagef("%s and %s: one crawl file at most", file, a)
		default:
			file = a
		}
	}
	if flags.LikeFile != "" {
		f, err := os.Open(flags.LikeFile)
		if err != nil {
			return nil, fmt.Errorf("--like-file: %w", err)
		}
		defer f.Close()
		lines, err := crawlfile.Lines(f)
		if err != nil {
			return nil, fmt.Errorf("--like-file: %w", err)
		}
		raw = append(raw, lines...)
	}
	var err error
	if l.likes, err = operate.CanonicalSeeds(raw); err != nil {
		return nil, cli.AsUsage(err)
	}
	if len(l.likes) < pulearning.Fewest {
		return nil, cli.Usagef("%d pages that are on topic, at least %d are needed and ten are better; give more with --like", len(l.likes), pulearning.Fewest)
	}
	if flags.Background < fewestBackground {
		return nil, cli.Usagef("--background is %d, at least %d pages are needed", flags.Background, fewestBackground)
	}
	l.crawl, err = crawlfile.Complete(file, l.complete)
	return l, err
}

// complete sets the values that follow from the likes and the command line.
func (l *Liking) complete(f *crawlfile.File) {
	f.Name = cmp.Or(l.Name, f.Name)
	f.Critic, f.Focus, f.Seeds, f.SeedsFile = f.Name, []string{f.Name}, l.likes, ""
	if f.Budget.Pages == 0 && f.Budget.Requests == 0 {
		f.Budget.Pages = l.Pages
	}
	f.Ranker = cmp.Or(l.Ranker, f.Ranker)
	f.Politeness.Contact = cmp.Or(l.Contact, f.Politeness.Contact)
	if l.Delay != nil {
		f.Politeness.Delay = *l.Delay
	}
	l.politely = crawls.FetchPoliteness{Contact: f.Politeness.Contact, Delay: f.Politeness.Delay}
}

// run fetches, trains and starts the crawl.
func (l *Liking) run(watched bool) error {
	var err error
	if l.Parts, err = l.S.OpenParts(); err != nil {
		return err
	}
	name := l.crawl.Control.GetCrawl()
	if old, _ := l.Topics.Newest(name); old != nil {
		return fmt.Errorf("crawl %q exists already; a name is never used again, choose another (--name)", name)
	}
	r := &LikeResult{Crawl: name, Seeds: l.likes}
	set, err := l.gather(r)
	if err != nil {
		return err
	}
	if budget := l.crawl.Control.Budget; budget.GetPages() > 0 {
		if budget.Pages <= uint64(r.Fetched) {
			return fmt.Errorf("the pages that train the critic are %d, and the budget of %d leaves none for a crawl; raise --pages or lower --background", r.Fetched, budget.Pages)
		}
		budget.Pages -= uint64(r.Fetched)
		r.Budget = budget.Pages
	}
	p := &critic.LikedCritic{Parts: l.Parts, Name: name, Topic: name}
	m, report, err := p.Train(l.S, set)
	if err != nil {
		return err
	}
	r.Critic, r.Report = m.GetVersion(), report
	l.crawl.Control.Critic = m.GetVersion()
	if err := crawls.StartCrawl(l.S, l.Config, l.Topics, l.crawl, false); err != nil {
		return err
	}
	if watched {
		if err := l.Watch(p, set, r); err != nil {
			return err
		}
	}
	return l.S.Print(r, func(w io.Writer) { r.text(w) })
}

func (r *LikeResult) text(w io.Writer) {
	fmt.Fprintf(w, "%d pages that are on topic, %d around them; of these some %.0f %% are taken to be on topic, too\n", r.Report.Liked, r.Report.Background, 100*r.Report.Prior)
	fmt.Fprintf(w, "words for the topic:  %s\nwords against it:     %s\n", strings.Join(r.Report.For, " "), strings.Join(r.Report.Against, " "))
	if r.Report.Recall < .5 {
		fmt.Fprintf(w, "only %.0f %% of the likes are recognised by a critic trained on the others: more of them, or ones that are more alike, would help\n", 100*r.Report.Recall)
	}
	if similar := crawls.Resemblance(r.Report.Most); similar != "" {
		fmt.Fprintf(w, "warning: %s\nlikes of other sites or sections would help; so do answers on pages of the crawl:  forager critic mark %s --ask 20, then forager critic retrain %s\n", similar, r.Crawl, r.Crawl)
	}
	if r.Ended == nil {
		fmt.Fprintf(w, "started %s with critic %s; %d more pages (%d were fetched for the critic)\n", r.Crawl, r.Critic, r.Budget, r.Fetched)
		fmt.Fprintf(w, "follow it:           forager crawl watch %s\nteach it as it goes: forager critic retrain %s --crawl %s --use\n", r.Crawl, r.Crawl, r.Crawl)
		return
	}
	fmt.Fprintf(w, "%s has finished: %s; %d pages; its critic was trained once and %d times again\nsee it:  forager report %s\n",
		r.Crawl, r.Ended.Reason, r.Ended.Pages, len(r.Critics), r.Crawl)
	r.Ended.PrintHarvest(w)
	fmt.Fprintf(w, "find more pages like these:  forager critic expand %s\n", r.Crawl)
}

// likedPage is a fetched page with its links.
type likedPage struct {
	samples.Sample
	Links []string
}

func readLiked(p *export.Page, label samples.Label) (*likedPage, error) {
	parsed, err := dom.Parse(p.Body, p.ContentType, p.URL, dom.Settings{})
	if err != nil {
		return nil, fmt.Errorf("page %s: %w", p.URL, err)
	}
	out := &likedPage{Sample: samples.Sample{URL: p.URL, Label: label, Text: dom.Text(p.Body, p.ContentType)}}
	for _, link := range parsed.GetLinks() {
		if !link.GetNofollow() && !parsed.GetNofollow() {
			out.Links = append(out.Links, link.GetUrl())
		}
	}
	return out, nil
}

// gather fetches the likes, then pages around them: two thirds of the background are targets of likes, the rest targets of those.
func (l *Liking) gather(r *LikeResult) ([]samples.Sample, error) {
	fmt.Fprintf(l.S.Stderr, "fetching %d pages that are on topic\n", len(l.likes))
	liked, failed, err := l.fetch(l.likes, samples.Liked)
	if err != nil {
		return nil, err
	}
	r.Failed = make(map[string]string)
	var failures []error
	for _, f := range failed {
		r.Failed[f.URL] = f.Outcome
		failures = append(failures, fmt.Errorf("%s: %s", f.URL, strings.TrimSpace(f.Outcome+" "+f.Detail)))
	}
	if len(liked) < pulearning.Fewest {
		return nil, fmt.Errorf("only %d of %d likes are pages that can be read, at least %d are needed:\n%w", len(liked), len(l.likes), pulearning.Fewest, errors.Join(failures...))
	}
	if len(failed) > 0 {
		fmt.Fprintf(l.S.Stderr, "left out, as they gave no page:\n%v\n", errors.Join(failures...))
	}
	known := make(map[string]bool)
	for _, u := range l.likes {
		known[u] = true
	}
	var all []samples.Sample
	for _, p := range liked {
		known[p.URL] = true
		all = append(all, p.Sample)
	}
	hosts, from := make(map[string]int), liked
	for _, most := range []int{l.Background * 2 / 3, l.Background} {
		urls := around(from, known, hosts, most-(len(all)-len(liked)))
		if len(urls) == 0 {
			continue
		}
		fmt.Fprintf(l.S.Stderr, "fetching %d pages around them, as background\n", len(urls))
		met, _, err := l.fetch(urls, samples.Background)
		if err != nil {
			return nil, err
		}
		for _, p := range met {
			all = append(all, p.Sample)
		}
		from = met
	}
	if n := len(all) - len(liked); n < fewestBackground {
		return nil, fmt.Errorf("only %d pages around the likes could be fetched, at least %d are needed to learn what is not on topic; give more likes, on other hosts", n, fewestBackground)
	}
	r.Fetched = len(all)
	return all, nil
}

// fetch fetches URLs as a crawl of their own and returns the pages, each once.
func (l *Liking) fetch(urls []string, label samples.Label) (pages []*likedPage, failed []crawls.Unfetched, err error) {
	list, err := crawls.FetchList(l.S, l.Parts, urls, l.politely)
	if err != nil {
		return nil, nil, err
	}
	failed, err = list.Pages(l.S, func(p crawls.FetchedPage) error {
		page, err := readLiked(&p.Page, label)
		if err == nil && !slices.ContainsFunc(pages, func(o *likedPage) bool { return o.URL == page.URL }) {
			pages = append(pages, page)
		}
		return err
	})
	return pages, failed, err
}

// around chooses at most n links of pages, from each page in turn, in a pseudo-random, reproducible order.
// Known links are left out, and a host gets hostShare links at most. known and hosts are updated.
func around(pages []*likedPage, known map[string]bool, hosts map[string]int, n int) (urls []string) {
	queues := make([][]string, 0, len(pages))
	for _, p := range pages {
		links := slices.Clone(p.Links)
		slices.SortFunc(links, func(a, b string) int {
			return cmp.Or(cmp.Compare(xxhash.Sum64String(a), xxhash.Sum64String(b)), cmp.Compare(a, b))
		})
		queues = append(queues, links)
	}
	for len(queues) > 0 && len(urls) < n {
		left := queues[:0]
		for _, q := range queues {
			for len(q) > 0 && len(urls) < n {
				u := q[0]
				q = q[1:]
				if host := weburl.Host(u); !known[u] && hosts[host] < hostShare {
					known[u] = true
					hosts[host]++
					urls = append(urls, u)
					break
				}
			}
			if len(q) > 0 {
				left = append(left, q)
			}
		}
		queues = left
	}
	return urls
}

// RetrainAt is the number of pages of the crawl at which its critic is trained again for the first time; then
// at twice as many, and so on.
const RetrainAt = 100

// Watch follows the crawl until it has finished. At 100, 200, 400 … pages its pages become background, and the
// crawl continues with a critic that was trained again.
func (l *Liking) Watch(p *critic.LikedCritic, set []samples.Sample, r *LikeResult) error {
	next := uint64(RetrainAt)
	x, err := crawls.FollowWith(l.S, l.Topics, r.Crawl, func(x crawls.Summary) error {
		if x.Pages < next || x.Reason != "" {
			return nil
		}
		for next <= x.Pages {
			next *= 2
		}
		m, report, err := p.Retrain(l.S, set, r.Crawl)
		if err != nil {
			fmt.Fprintf(l.S.Stderr, "the critic stays as it is: %v\n", err)
			return l.S.Err()
		}
		if operate.Ended(l.Topics.Status(r.Crawl)) {
			return nil // the crawl finished before; the version is for later crawls
		}
		switch err := p.Use(l.S, r.Crawl, m); {
		case errors.Is(err, operate.ErrRefused): // it was stopped, or has rankers that only fit another critic
			fmt.Fprintf(l.S.Stderr, "the critic stays as it is: %v\n", err)
			return nil
		case err != nil:
			return err
		}
		r.Critics, r.Report = append(r.Critics, m.GetVersion()), report
		fmt.Fprintf(l.S.Stderr, "from here on critic %s judges, trained with %d pages of background (%.0f %% on topic)\n", m.GetVersion(), report.Background, 100*report.Prior)
		return nil
	})
	if err != nil {
		return err
	}
	r.Ended = &x
	x.Judge(l.S, l.Config, l.Topics)
	return nil
}
