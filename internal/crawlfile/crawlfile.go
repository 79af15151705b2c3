package crawlfile

import (
	"bufio"
	"bytes"
	"cmp"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"forager/internal/apprentice"
	"forager/internal/distill"
	"forager/internal/linkfeature"
	"forager/internal/strictyaml"
	"forager/internal/weburl"
	"forager/schemas"
)

// File is a crawl file as a user writes it.
type File struct {
	// Name of the crawl: 1–64 of a–z, 0–9, "-", "_".
	Name string `yaml:"name"`
	// Critic that judges it: a name ("schools", its newest version) or a version ("schools/1f0c…").
	Critic string `yaml:"critic"`
	// Focus topics, classes of the critic.
	Focus []string `yaml:"focus"`
	// Weights of focus topics, above 0 and at most 1, by name; 1 by default.
	Weights map[string]float64 `yaml:"weights"`
	// Bad are topics below focus topics that do not count.
	Bad []string `yaml:"bad"`
	// Shadows are critics, names or versions, that judge beside, for comparison; at most 2.
	Shadows []string `yaml:"shadows"`
	// Seeds are URLs; SeedsFile has one a line ("#" begins a comment). At least one in all.
	Seeds     []string `yaml:"seeds"`
	SeedsFile string   `yaml:"seeds_file"`
	Budget    struct {
		Pages    uint64 `yaml:"pages"`
		Requests uint64 `yaml:"requests"`
	} `yaml:"budget"`
	// Ranker is one of Rankers or of the names in Guides, or several with "+" between them: a mixture
	// of these.
	Ranker string `yaml:"ranker"`
	// RankerShadows are rankers, single ones, that place every URL fetched beside, for comparison; at most 4.
	RankerShadows []string `yaml:"ranker_shadows"`
	// Guides are published guides, names or versions, by the rankers that they are.
	Guides map[string]string `yaml:"guides"`
	// Expand is page where rankers by guides order pages and not links (2000 §3.3).
	Expand string `yaml:"expand"`
	// Backlinks names a published source of backlinks and says how many queries it may be asked; each is charged as a
	// request.
	Backlinks struct {
		Source string `yaml:"source"`
		Ration uint64 `yaml:"ration"`
	} `yaml:"backlinks"`
	// ContextGraph lets the crawl make its context graph anew, of what it fetches itself: behind every RebuildEvery pages, and the
	// first one as soon as Bootstrap targets are met, until when it goes breadth first.
	ContextGraph struct {
		RebuildEvery uint64 `yaml:"rebuild_every"`
		Bootstrap    uint64 `yaml:"bootstrap"`
	} `yaml:"context_graph"`
	// LabelsFromURLs says that what the crawl is judged by follows from URLs: then neither its critic nor
	// its guides, nor the features that its apprentice learns from, may read them.
	LabelsFromURLs bool `yaml:"labels_from_urls"`
	Scope          struct {
		Hosts    []string `yaml:"hosts"`
		Prefixes []string `yaml:"prefixes"`
		// URLList is a file of URLs, one a line: only these are fetched.
		URLList  string `yaml:"url_list"`
		MaxDepth uint32 `yaml:"max_depth"`
		HostCap  uint32 `yaml:"host_cap"`
	} `yaml:"scope"`
	Window      uint32 `yaml:"window"`
	HostWindow  uint32 `yaml:"host_window"`
	MaxAttempts uint32 `yaml:"max_attempts"`
	// Shards of the frontier, 1–256; more than one for crawls that one process cannot keep up with.
	Shards     uint32 `yaml:"shards"`
	Politeness struct {
		// Delay between two requests to a host; 1s by default.
		Delay time.Duration `yaml:"delay"`
		// Contact is an e-mail address or URL at which the crawl's owner can be reached.
		Contact      string `yaml:"contact"`
		IgnoreRobots bool   `yaml:"ignore_robots"`
	} `yaml:"politeness"`
	Learning struct {
		DMax        uint32 `yaml:"d_max"`
		SwitchPages uint64 `yaml:"switch_pages"`
		// RefitPages is the number of pages between two models; 0 = a fortieth of the budget, 10 to 100, or a 200th if that is
		// more. From 20,000 pages on it is a tenth of the pages, if that is more.
		RefitPages uint64 `yaml:"refit_pages"`
		Sync       bool   `yaml:"sync"`
		// Prior is the version of an apprentice model to begin with.
		Prior  string `yaml:"prior"`
		Pairs  string `yaml:"pairs"`  // both, forward
		Topics string `yaml:"topics"` // none, top2, all
		// Features are families of features, and Active is the least |R(u) − R(v)| that trains.
		Features []string `yaml:"features"`
		Active   float64  `yaml:"active"`
		// Learner is bayes or logistic; Logistic sets up the latter. Count is raw, normalised or binary, and Smooth how often
		// counts are spread over offsets.
		Learner  string `yaml:"learner"`
		Count    string `yaml:"count"`
		Smooth   uint32 `yaml:"smooth"`
		Logistic struct {
			Rate float64 `yaml:"rate"`
			L1   float64 `yaml:"l1"`
			L2   float64 `yaml:"l2"`
		} `yaml:"logistic"`
	} `yaml:"learning"`
	// Distiller ranks hubs and authorities where the ranker raises what hubs link to.
	Distiller struct {
		// Every is the number of pages between two rankings; 0 = a tenth of the budget, at most 500. From 20,000 pages on
		// it is a tenth of the pages, if that is more.
		Every uint64 `yaml:"every"`
		// Sites between which links count: domain (registrable) or host.
		Sites string `yaml:"sites"`
		// Relevance from which a page can be an authority; Hubs is how many are marked.
		Relevance float64 `yaml:"relevance"`
		Hubs      uint32  `yaml:"hubs"`
	} `yaml:"distiller"`
	Leaves     string `yaml:"leaves"` // compact, paper
	RandomSeed uint64 `yaml:"random_seed"`
}

// UserAgentProduct is the product token of every request; robots.txt files address it.
const UserAgentProduct = "Forager"

var crawlName = regexp.MustCompile(`^[a-z0-9][a-z0-9_-]{0,63}$`)

// defaults are what a crawl file need not say.
func defaults() *File {
	f := &File{Ranker: mixture, Leaves: "compact"}
	f.Politeness.Delay = time.Second
	f.Learning.DMax, f.Learning.Pairs, f.Learning.Topics, f.Learning.Learner = 5, "both", "none", "bayes"
	f.Learning.Count = "raw"
	f.Distiller.Sites, f.Distiller.Relevance, f.Distiller.Hubs = "domain", distill.Default.Relevance, uint32(distill.Default.Marked)
	logistic := apprentice.DefaultLogistic().Logistic
	f.Learning.Logistic.Rate, f.Learning.Logistic.L1, f.Learning.Logistic.L2 = logistic.Rate, logistic.L1, logistic.L2
	return f
}

// Crawl is a crawl file after its checks.
type Crawl struct {
	// Control lacks what only the pipeline knows: revision, the versions of critic and guides and the
	// object of the URL list.
	Control *schemas.CrawlControl
	// Seeds are canonical URLs, distinct, in the file's order.
	Seeds []string
	// URLList are the canonical URLs of scope.url_list; nil where there is none.
	URLList []string
}

// Load reads a crawl file. Files that it names are relative to its folder. What is wrong
// comes as *strictyaml.Error with every problem.
func Load(path string) (*Crawl, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read the crawl file: %w", err)
	}
	c, problems := Parse(b, filepath.Dir(path))
	if len(problems) > 0 {
		return nil, &strictyaml.Error{File: path, Problems: problems}
	}
	return c, nil
}

// Complete is Load for a file that may leave things out which somebody knows from elsewhere: complete
// sets them before anything is checked. Without a path everything is left out.
func Complete(path string, complete func(*File)) (*Crawl, error) {
	var b []byte
	if path != "" {
		var err error
		if b, err = os.ReadFile(path); err != nil {
			return nil, fmt.Errorf("read the crawl file: %w", err)
		}
	}
	c, problems := parse(b, filepath.Dir(path), complete)
	if len(problems) > 0 {
		return nil, &strictyaml.Error{File: cmp.Or(path, "the crawl"), Problems: problems}
	}
	return c, nil
}

// Parse reads the text of a crawl file; dir is the folder that the files it names lie in.
func Parse(b []byte, dir string) (*Crawl, []strictyaml.Problem) {
	return parse(b, dir, func(*File) {})
}

func parse(b []byte, dir string, complete func(*File)) (*Crawl, []strictyaml.Problem) {
	f := defaults()
	r := strictyaml.Decode(b, f)
	complete(f)
	c := &Crawl{Control: &schemas.CrawlControl{
		Crawl: f.Name, State: schemas.CrawlState_CRAWL_STATE_RUNNING, Focus: f.Focus, Critic: f.Critic,
		Weights: f.Weights, Bad: f.Bad, Shadows: f.Shadows, LabelsFromUrls: f.LabelsFromURLs,
		Budget: &schemas.Budget{Pages: f.Budget.Pages, Requests: f.Budget.Requests},
		Scope: &schemas.Scope{
			Hosts: f.Scope.Hosts, Prefixes: f.Scope.Prefixes, MaxDepth: f.Scope.MaxDepth, HostCap: f.Scope.HostCap,
		},
		Window: f.Window, HostWindow: f.HostWindow, MaxAttempts: f.MaxAttempts, Shards: f.Shards, RandomSeed: f.RandomSeed,
		Politeness: politeness(f.Politeness.Delay, f.Politeness.Contact, f.Politeness.IgnoreRobots),
		Learning: &schemas.Learning{
			DMax: f.Learning.DMax, SwitchPages: f.Learning.SwitchPages, RefitPages: f.Learning.RefitPages,
			Sync: f.Learning.Sync, Prior: f.Learning.Prior,
		},
	}}
	if !crawlName.MatchString(f.Name) {
		r.Problem("name", "%q is not a name of 1–64 of a–z, 0–9, \"-\" and \"_\"", f.Name)
	}
	if f.Critic == "" {
		r.Problem("critic", "is missing; name the critic that judges the pages (forager critic train makes one)")
	}
	if len(f.Focus) == 0 {
		r.Problem("focus", "is missing; name at least one topic of the critic")
	}
	if f.Budget.Pages == 0 && f.Budget.Requests == 0 {
		r.Problem("budget", "is missing; set budget.pages, budget.requests or both")
	}
	polite(r, f.Politeness.Delay, f.Politeness.Contact)
	if f.Shards > 256 {
		r.Problem("shards", "is %d; it must lie between 1 and 256", f.Shards)
	}
	if f.Shards > 1 && f.Learning.Sync {
		r.Problem("learning.sync", "waits for the models of a crawl of one shard, and shards is %d", f.Shards)
	}
	if f.Window > 0 && f.Window < f.Shards {
		r.Problem("window", "is %d; each of the %d shards needs one", f.Window, f.Shards)
	}
	if f.Learning.DMax > 100 {
		r.Problem("learning.d_max", "is %d; it must lie between 0 and 100", f.Learning.DMax)
	}
	ofShadows := func(name, _ string) bool { return slices.Contains(f.RankerShadows, name) }
	leading := maps.Clone(f.Guides)
	maps.DeleteFunc(leading, ofShadows)
	f.begin(r, &leading)
	if ranking, err := RankBy(f.Ranker, leading); err != nil {
		r.Problem("ranker", "%v", err)
	} else {
		c.Control.Policies, c.Control.Mixture = ranking.Policies, ranking.Mixture
		c.guided(r, f)
		c.renewed(r, f)
	}
	var err error
	if c.Control.RankerShadows, err = Shadows(f.RankerShadows, f.Guides, c.Control.Policies); err != nil {
		r.Problem("ranker_shadows", "%v", err)
	}
	choose(r, "learning.pairs", f.Learning.Pairs, &c.Control.Learning.Pairs, Pairs)
	choose(r, "learning.topics", f.Learning.Topics, &c.Control.Learning.Topics, Topics)
	choose(r, "learning.learner", f.Learning.Learner, &c.Control.Learning.Learner, Learners)
	choose(r, "learning.count", f.Learning.Count, &c.Control.Learning.Count, Countings)
	if families, err := linkfeature.FamiliesNamed(f.Learning.Features); err != nil {
		r.Problem("learning.features", "%v", err)
	} else {
		c.Control.Learning.Features = families.List()
	}
	if c.Control.Learning.Active = f.Learning.Active; !(f.Learning.Active >= 0 && f.Learning.Active <= 1) {
		r.Problem("learning.active", "is %v; it must lie between 0 and 1", f.Learning.Active)
	}
	if l := f.Learning.Logistic; c.Control.Learning.Learner == schemas.Learner_LEARNER_LOGISTIC {
		c.Control.Learning.Logistic = &schemas.Logistic{Rate: l.Rate, L1: l.L1, L2: l.L2}
		if _, err := apprentice.SettingsOf(c.Control.Learning); err != nil {
			r.Problem("learning.logistic", "%v", err)
		}
	}
	c.Control.Learning.Smooth = f.Learning.Smooth
	smoothed := &schemas.Learning{Learner: c.Control.Learning.Learner, Features: c.Control.Learning.Features, Smooth: f.Learning.Smooth}
	if _, err := apprentice.SettingsOf(smoothed); err != nil {
		r.Problem("learning.smooth", "%v", err)
	}
	f.distiller(r, c.Control)
	choose(r, "leaves", f.Leaves, &c.Control.Leaves, map[string]schemas.LeafMode{
		"compact": schemas.LeafMode_LEAF_MODE_COMPACT, "paper": schemas.LeafMode_LEAF_MODE_PAPER,
	})
	canonicalPrefixes(r, c.Control.Scope)
	seeds := f.Seeds
	if f.SeedsFile != "" {
		seeds = append(seeds, lines(r, "seeds_file", dir, f.SeedsFile)...)
	}
	c.Seeds = canonical(r, "seeds", seeds)
	if len(seeds) == 0 {
		r.Problem("seeds", "is missing; give at least one URL")
	}
	if f.Scope.URLList != "" {
		c.URLList = canonical(r, "scope.url_list", lines(r, "scope.url_list", dir, f.Scope.URLList))
	}
	return c, r.Problems()
}

// distiller sets what a file says of it; a control record that says nothing means the defaults.
func (f *File) distiller(r *strictyaml.Report, ctl *schemas.CrawlControl) {
	d := &schemas.Distiller{Every: f.Distiller.Every, Relevance: f.Distiller.Relevance, Hubs: f.Distiller.Hubs}
	choose(r, "distiller.sites", f.Distiller.Sites, &d.ByHost, map[string]bool{"domain": false, "host": true})
	if !(d.Relevance > 0 && d.Relevance <= 1) {
		r.Problem("distiller.relevance", "is %v; it must be above 0 and at most 1", d.Relevance)
	}
	if most := uint32(distill.Default.Top); d.Hubs == 0 || d.Hubs > most {
		r.Problem("distiller.hubs", "is %d; it must lie between 1 and %d", d.Hubs, most)
	}
	if schemas.Raises(ctl) {
		ctl.Distiller = d
	}
}

// polite says what is wrong with the politeness asked for.
func polite(r *strictyaml.Report, delay time.Duration, contact string) {
	if delay < 0 || delay > time.Hour {
		r.Problem("politeness.delay", "is %s; it must lie between 0s and 1h", delay)
	}
	if contact == "" {
		r.Problem("politeness.contact", "is missing; give an e-mail address or a page: site owners must be able to reach you")
	} else if strings.ContainsAny(contact, "()\r\n") {
		r.Problem("politeness.contact", "must not contain parentheses or line breaks")
	}
}

func politeness(delay time.Duration, owner string, ignoreRobots bool) *schemas.Politeness {
	return &schemas.Politeness{
		DelayMs: uint32(max(0, delay.Milliseconds())), IgnoreRobots: ignoreRobots,
		UserAgent: UserAgentProduct + "/1.0 (+" + contact(owner) + ")",
	}
}

// contact makes an e-mail address a mailto: URL.
func contact(s string) string {
	if strings.Contains(s, "@") && !strings.Contains(s, ":") {
		return "mailto:" + s
	}
	return s
}

// Pairs, Topics, Learners and Countings are the words for learning.pairs, learning.topics, learning.learner and
// learning.count. Raw counts need no setting.
var (
	Countings = map[string]schemas.Counting{
		"raw": schemas.Counting_COUNTING_UNSPECIFIED, "normalised": schemas.Counting_COUNTING_NORMALISED, "binary": schemas.Counting_COUNTING_BINARY,
	}
	Learners = map[string]schemas.Learner{
		"bayes": schemas.Learner_LEARNER_BAYES, "logistic": schemas.Learner_LEARNER_LOGISTIC,
	}

	Pairs  = map[string]schemas.Pairs{"both": schemas.Pairs_PAIRS_BOTH, "forward": schemas.Pairs_PAIRS_FORWARD}
	Topics = map[string]schemas.TopicFeatures{
		"none": schemas.TopicFeatures_TOPIC_FEATURES_NONE, "top2": schemas.TopicFeatures_TOPIC_FEATURES_TOP2,
		"all": schemas.TopicFeatures_TOPIC_FEATURES_ALL,
	}
)

func choose[E any](r *strictyaml.Report, path, word string, to *E, known map[string]E) {
	v, ok := known[word]
	if !ok {
		words := make([]string, 0, len(known))
		for w := range known {
			words = append(words, w)
		}
		slices.Sort(words)
		r.Problem(path, "%q is not one of %s", word, strings.Join(words, ", "))
		return
	}
	*to = v
}

// canonicalPrefixes brings scope prefixes into the form that URLs are compared in.
func canonicalPrefixes(r *strictyaml.Report, s *schemas.Scope) {
	for i, p := range s.Prefixes {
		u, err := weburl.Parse(p)
		if err != nil {
			r.Problem("scope.prefixes", "number %d: %v", i+1, err)
			continue
		}
		s.Prefixes[i] = u.String()
	}
	for i, h := range s.Hosts {
		u, err := weburl.Parse("http://" + h + "/")
		if err != nil {
			r.Problem("scope.hosts", "number %d: %q is not a host name", i+1, h)
			continue
		}
		s.Hosts[i] = u.Host()
	}
}

// canonical returns the distinct canonical forms and reports what is not a URL.
func canonical(r *strictyaml.Report, path string, raw []string) []string {
	seen := make(map[string]bool, len(raw))
	urls := make([]string, 0, len(raw))
	for i, s := range raw {
		u, err := weburl.Parse(s)
		if err != nil {
			r.Problem(path, "number %d: %v", i+1, err)
			continue
		}
		if c := u.String(); !seen[c] {
			seen[c] = true
			urls = append(urls, c)
		}
	}
	return urls
}

// lines reads a list file: one entry a line, "#" begins a comment line.
func lines(r *strictyaml.Report, path, dir, name string) []string {
	if !filepath.IsAbs(name) {
		name = filepath.Join(dir, name)
	}
	b, err := os.ReadFile(name)
	if err != nil {
		r.Problem(path, "%v", err)
		return nil
	}
	out, err := Lines(bytes.NewReader(b))
	if err != nil {
		r.Problem(path, "%s: %v", name, err)
	}
	return out
}

// Lines reads a list: one entry a line of at most 1 MiB, without the space around it; empty lines
// and those that begin with "#" are left out. With an error come the entries before it.
func Lines(r io.Reader) ([]string, error) {
	var out []string
	s := bufio.NewScanner(r)
	s.Buffer(nil, 1<<20)
	for s.Scan() {
		if l := strings.TrimSpace(s.Text()); l != "" && !strings.HasPrefix(l, "#") {
			out = append(out, l)
		}
	}
	return out, s.Err()
}
