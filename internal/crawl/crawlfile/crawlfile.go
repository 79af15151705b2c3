package crawlfile

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"forager/internal/platform/strictyaml"
	"forager/internal/rank/apprentice"
	"forager/internal/rank/distill"
	"forager/internal/web/scope"
	"forager/schemas"
)

// File is a crawl file as a user writes it.
type File struct {
	// Name of the crawl: 1–64 of a–z, 0–9, "-", "_".
	Name string `yaml:"name"`
	// Critic that judges its pages: a name ("schools", its newest version) or a version ("schools/1f0c…").
	Critic string `yaml:"critic"`
	// Focus topics, classes of the critic.
	Focus []string `yaml:"focus"`
	// Weights of focus topics, above 0 and at most 1, by name; 1 by default.
	Weights map[string]float64 `yaml:"weights"`
	// Bad are topics below focus topics that do not count.
	Bad []string `yaml:"bad"`
	// Forms are topics of the critic that name the form of a page and no subject (taxonomy.Marking).
	Forms []string `yaml:"forms"`
	// Shadows are critics, names or versions, that judge the pages for comparison only; at most 2.
	Shadows []string `yaml:"shadows"`
	// Seeds are URLs; SeedsFile has one in each line ("#" begins a comment). There must be at least one seed.
	Seeds     []string `yaml:"seeds"`
	SeedsFile string   `yaml:"seeds_file"`
	Budget    struct {
		Pages    uint64 `yaml:"pages"`
		Requests uint64 `yaml:"requests"`
	} `yaml:"budget"`
	// Ranker is one of Rankers or of the keys of Guides, or several with "+" between them: a mixture
	// of these. It is DefaultRanker if the file has none.
	Ranker string `yaml:"ranker"`
	// RankerShadows are single rankers that place every fetched URL for comparison only; at most 4.
	RankerShadows []string `yaml:"ranker_shadows"`
	// Guides are published guides, names or versions, by ranker.
	Guides map[string]string `yaml:"guides"`
	// Expand is "page" if rankers by guides order pages and not links (2000 §3.3).
	Expand string `yaml:"expand"`
	// Backlinks names a published source of backlinks and the number of queries that may be made; each is charged as a
	// request.
	Backlinks struct {
		Source string `yaml:"source"`
		Ration uint64 `yaml:"ration"`
	} `yaml:"backlinks"`
	// ContextGraph lets the crawl build its context graph from what it fetches itself: after every RebuildEvery
	// pages, and the first one as soon as Bootstrap targets are fetched; until then the crawl is breadth-first.
	ContextGraph struct {
		RebuildEvery uint64 `yaml:"rebuild_every"`
		Bootstrap    uint64 `yaml:"bootstrap"`
	} `yaml:"context_graph"`
	// LabelsFromURLs: the labels by which the crawl is evaluated follow from URLs, so neither its critic nor
	// its guides, nor the features of its apprentice, may use URLs.
	LabelsFromURLs bool `yaml:"labels_from_urls"`
	Scope          struct {
		Hosts    []string `yaml:"hosts"`
		Prefixes []string `yaml:"prefixes"`
		// URLList is a file of URLs, one in each line: only these are fetched.
		URLList  string `yaml:"url_list"`
		MaxDepth uint32 `yaml:"max_depth"`
		HostCap  uint32 `yaml:"host_cap"`
	} `yaml:"scope"`
	// Exclude are rules against URLs and pages (scope.Excludes); one that applies is enough, and comes before all others.
	Exclude struct {
		URLs         []string `yaml:"urls"` // regular expressions (RE2)
		Hosts        []string `yaml:"hosts"`
		Domains      []string `yaml:"domains"`
		Prefixes     []string `yaml:"prefixes"` // of URLs, or from "/" on of their paths
		ContentTypes []string `yaml:"content_types"`
		Languages    []string `yaml:"languages"`
	} `yaml:"exclude"`
	// Priority has hosts and domains whose URLs are requested before or after those of all others.
	Priority struct {
		First []string `yaml:"first"`
		Last  []string `yaml:"last"`
	} `yaml:"priority"`
	Window      uint32 `yaml:"window"`
	HostWindow  uint32 `yaml:"host_window"`
	MaxAttempts uint32 `yaml:"max_attempts"`
	// HostPatience is how long a host that cannot be connected to is tried again before its URLs count as failed, whole seconds;
	// 0 = 3h, at most 366 days.
	HostPatience time.Duration `yaml:"host_patience"`
	// Shards of the frontier, 1–256; more than one for crawls that one process cannot keep up with.
	Shards     uint32 `yaml:"shards"`
	Politeness struct {
		// Delay between two requests to a host; 1s by default.
		Delay time.Duration `yaml:"delay"`
		// AddressDelay and NetworkDelay are kept between two requests to an address, and to a /24 (IPv6: /48), whatever
		// their hosts; 0 = none.
		AddressDelay time.Duration `yaml:"address_delay"`
		NetworkDelay time.Duration `yaml:"network_delay"`
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
		// Features are families of features, Active is the least |R(u) − R(v)| of a leap that trains.
		Features []string `yaml:"features"`
		Active   float64  `yaml:"active"`
		// Learner is bayes or logistic; Logistic has the settings of the latter. Count is raw, normalised or binary, Smooth is how often
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
		// Relevance is the least of a page that can be an authority; Hubs is how many are marked.
		Relevance float64 `yaml:"relevance"`
		Hubs      uint32  `yaml:"hubs"`
	} `yaml:"distiller"`
	Leaves     string `yaml:"leaves"` // compact, paper
	RandomSeed uint64 `yaml:"random_seed"`
}

// UserAgentProduct is the product token of every request, as matched against robots.txt.
const UserAgentProduct = "Forager"

var crawlName = regexp.MustCompile(`^[a-z0-9][a-z0-9_-]{0,63}$`)

// defaults returns the values that a crawl file may leave out.
func defaults() *File {
	f := &File{Ranker: DefaultRanker, Leaves: "compact"}
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
	// Control lacks what only the pipeline has: revision, the versions of critic and guides and the
	// object of the URL list.
	Control *schemas.CrawlControl
	// Seeds are canonical URLs, distinct, in the file's order.
	Seeds []string
	// URLList are the canonical URLs of scope.url_list; nil if there is none.
	URLList []string
}

// Load reads a crawl file. Files that it names are relative to its folder. If the file is wrong the error
// is a *strictyaml.Error with every problem.
func Load(path string) (*Crawl, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read the crawl file: %w", err)
	}
	return checked(path, b, below(path), func(*File) {})
}

// Parse reads the text of a crawl file that comes from another machine. It is a problem if it names files: those of this machine are not
// for its author. Other errors are those of Load.
func Parse(text []byte) (*Crawl, error) {
	refuse := func(string) ([]byte, error) {
		return nil, errors.New("names a file, which is not read for a crawl file that was sent; give the URLs in seeds, or start the crawl by the command")
	}
	return checked("the crawl file", text, refuse, func(*File) {})
}

// Complete is Load for a file that may leave out what the caller has from elsewhere: complete
// sets it before anything is checked. With an empty path there is no file.
func Complete(path string, complete func(*File)) (*Crawl, error) {
	var b []byte
	if path != "" {
		var err error
		if b, err = os.ReadFile(path); err != nil {
			return nil, fmt.Errorf("read the crawl file: %w", err)
		}
	}
	return checked(path, b, below(path), complete)
}

// checked is parse of the text of a file; its problems are the error.
func checked(path string, b []byte, read func(name string) ([]byte, error), complete func(*File)) (*Crawl, error) {
	c, problems := parse(b, read, complete)
	if len(problems) > 0 {
		return nil, &strictyaml.Error{File: cmp.Or(path, "the crawl"), Problems: problems}
	}
	return c, nil
}

// below reads the files that a crawl file names, relative to its folder.
func below(path string) func(name string) ([]byte, error) {
	return func(name string) ([]byte, error) {
		if !filepath.IsAbs(name) {
			name = filepath.Join(filepath.Dir(path), name)
		}
		return os.ReadFile(name)
	}
}

// parse reads the text of a crawl file, and with read the files that it names.
func parse(b []byte, read func(name string) ([]byte, error), complete func(*File)) (*Crawl, []strictyaml.Problem) {
	f := defaults()
	r := strictyaml.Decode(b, f)
	complete(f)
	c := &Crawl{Control: f.control()}
	f.convert(r, c)
	f.lists(r, read, c)
	return c, r.Problems()
}

// convert sets the rest of the control record, but for seeds and the URL list.
func (f *File) convert(r *strictyaml.Report, c *Crawl) {
	f.check(r)
	f.rank(r, c)
	f.learn(r, c.Control.Learning)
	f.distill(r, c.Control)
	choose(r, "leaves", f.Leaves, &c.Control.Leaves, map[string]schemas.LeafMode{
		"compact": schemas.LeafMode_LEAF_MODE_COMPACT, "paper": schemas.LeafMode_LEAF_MODE_PAPER,
	})
	canonicalScope(r, c.Control.Scope)
	f.excludes(r, c)
}

// excludes sets the rules against URLs and pages, and those for the order of hosts.
func (f *File) excludes(r *strictyaml.Report, c *Crawl) {
	x := &schemas.Excludes{
		Urls: f.Exclude.URLs, Hosts: f.Exclude.Hosts, Domains: f.Exclude.Domains, Prefixes: f.Exclude.Prefixes,
		ContentTypes: f.Exclude.ContentTypes, Languages: f.Exclude.Languages,
	}
	wrong := func(err error) {
		setting, why, _ := strings.Cut(err.Error(), ": ")
		r.Problem(setting, "%s", why)
	}
	rules, err := scope.NewExcludes(x)
	if err != nil {
		wrong(err)
	} else if rules != nil {
		c.Control.Excludes = x
	}
	priority := &schemas.HostPriority{First: f.Priority.First, Last: f.Priority.Last}
	if groups, err := scope.NewPriority(priority); err != nil {
		wrong(err)
	} else if groups != nil {
		c.Control.Priority = priority
	}
}
