package crawlfile

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	"forager/internal/rank/distill"
	"forager/schemas"
)

// setting is one of a crawl file, with what becomes of it if it is changed while the crawl runs.
type setting struct {
	path string
	// value is the setting in a control record, as text.
	value func(*schemas.CrawlControl) string
	// set takes it from the control record of a crawl file; nil if it is refused, and why.
	set     func(to, from *schemas.CrawlControl)
	refused string
	// versions: words in the control record in force are versions, and in the file may be their names.
	versions bool
}

// Why settings are refused.
const (
	links     = "it decides which links count, and a rebuilt state must decide as before; start another crawl for another value"
	learned   = "the apprentice has learned with the former value; start another crawl for another one"
	wholeWork = "it holds for a whole crawl; start another one"
)

// settings are all settings of a crawl file but seeds, which no control record has.
var settings = []setting{
	refuse("name", func(c *schemas.CrawlControl) any { return c.GetCrawl() }, "a crawl keeps its name"),
	{"critic", text(func(c *schemas.CrawlControl) any { return c.GetCritic() }), func(to, from *schemas.CrawlControl) { to.Critic = from.Critic }, "", true},
	take("focus", func(c *schemas.CrawlControl) any { return c.GetFocus() }, func(to, from *schemas.CrawlControl) { to.Focus = from.Focus }),
	take("weights", func(c *schemas.CrawlControl) any { return c.GetWeights() }, func(to, from *schemas.CrawlControl) { to.Weights = from.Weights }),
	take("bad", func(c *schemas.CrawlControl) any { return c.GetBad() }, func(to, from *schemas.CrawlControl) { to.Bad = from.Bad }),
	take("forms", func(c *schemas.CrawlControl) any { return c.GetForms() }, func(to, from *schemas.CrawlControl) { to.Forms = from.Forms }),
	{"shadows", text(func(c *schemas.CrawlControl) any { return c.GetShadows() }), func(to, from *schemas.CrawlControl) { to.Shadows = from.Shadows }, "", true},
	take("budget.pages", func(c *schemas.CrawlControl) any { return c.GetBudget().GetPages() }, func(to, from *schemas.CrawlControl) { to.Budget.Pages = from.Budget.Pages }),
	take("budget.requests", func(c *schemas.CrawlControl) any { return c.GetBudget().GetRequests() }, func(to, from *schemas.CrawlControl) { to.Budget.Requests = from.Budget.Requests }),
	take("ranker", func(c *schemas.CrawlControl) any { return NameOf(c) }, setRanking),
	take("ranker_shadows", func(c *schemas.CrawlControl) any {
		var names []string
		for _, p := range c.GetRankerShadows() {
			names = append(names, p.GetName())
		}
		return names
	}, setShadows),
	{"guides", guidesText, func(to, from *schemas.CrawlControl) { setRanking(to, from); setShadows(to, from) }, "", true},
	refuse("expand", func(c *schemas.CrawlControl) any {
		for _, p := range c.GetPolicies() {
			if p.GetExpand() != schemas.Expand_EXPAND_LINK {
				return "page"
			}
		}
		return "link"
	}, wholeWork),
	refuse("backlinks.source", func(c *schemas.CrawlControl) any { return c.GetBacklinks().GetSource() }, wholeWork),
	refuse("backlinks.ration", func(c *schemas.CrawlControl) any { return c.GetBacklinks().GetRation() }, wholeWork),
	refuse("context_graph.rebuild_every", func(c *schemas.CrawlControl) any { return c.GetRenewal().GetEvery() }, wholeWork),
	refuse("context_graph.bootstrap", func(c *schemas.CrawlControl) any { return c.GetRenewal().GetBootstrap() }, wholeWork),
	refuse("labels_from_urls", func(c *schemas.CrawlControl) any { return c.GetLabelsFromUrls() }, wholeWork),
	exclude("urls", func(x *schemas.Excludes) *[]string { return &x.Urls }),
	exclude("hosts", func(x *schemas.Excludes) *[]string { return &x.Hosts }),
	exclude("domains", func(x *schemas.Excludes) *[]string { return &x.Domains }),
	exclude("prefixes", func(x *schemas.Excludes) *[]string { return &x.Prefixes }),
	exclude("content_types", func(x *schemas.Excludes) *[]string { return &x.ContentTypes }),
	exclude("languages", func(x *schemas.Excludes) *[]string { return &x.Languages }),
	priority("first", func(x *schemas.HostPriority) *[]string { return &x.First }),
	priority("last", func(x *schemas.HostPriority) *[]string { return &x.Last }),
	refuse("scope.hosts", func(c *schemas.CrawlControl) any { return c.GetScope().GetHosts() }, links+", or exclude hosts (exclude.hosts)"),
	refuse("scope.prefixes", func(c *schemas.CrawlControl) any { return c.GetScope().GetPrefixes() }, links+", or exclude URLs (exclude.prefixes)"),
	refuse("scope.url_list", func(c *schemas.CrawlControl) any { return c.GetScope().GetUrlList() }, links),
	refuse("scope.max_depth", func(c *schemas.CrawlControl) any { return c.GetScope().GetMaxDepth() }, links),
	refuse("scope.host_cap", func(c *schemas.CrawlControl) any { return c.GetScope().GetHostCap() }, links),
	take("window", func(c *schemas.CrawlControl) any { return c.GetWindow() }, func(to, from *schemas.CrawlControl) { to.Window = from.Window }),
	take("host_window", func(c *schemas.CrawlControl) any { return c.GetHostWindow() }, func(to, from *schemas.CrawlControl) { to.HostWindow = from.HostWindow }),
	refuse("max_attempts", func(c *schemas.CrawlControl) any { return c.GetMaxAttempts() }, links),
	take("host_patience", func(c *schemas.CrawlControl) any { return fmt.Sprint(c.GetHostPatienceS(), "s") }, func(to, from *schemas.CrawlControl) { to.HostPatienceS = from.HostPatienceS }),
	refuse("shards", func(c *schemas.CrawlControl) any { return schemas.ShardsOf(c) }, "the frontier is divided by it; start another crawl for another value"),
	take("politeness.delay", func(c *schemas.CrawlControl) any { return fmt.Sprint(c.GetPoliteness().GetDelayMs(), "ms") }, func(to, from *schemas.CrawlControl) { to.Politeness.DelayMs = from.Politeness.DelayMs }),
	take("politeness.address_delay", func(c *schemas.CrawlControl) any { return fmt.Sprint(c.GetPoliteness().GetAddressDelayMs(), "ms") }, func(to, from *schemas.CrawlControl) { to.Politeness.AddressDelayMs = from.Politeness.AddressDelayMs }),
	take("politeness.network_delay", func(c *schemas.CrawlControl) any { return fmt.Sprint(c.GetPoliteness().GetNetworkDelayMs(), "ms") }, func(to, from *schemas.CrawlControl) { to.Politeness.NetworkDelayMs = from.Politeness.NetworkDelayMs }),
	take("politeness.contact", func(c *schemas.CrawlControl) any { return contactOf(c) }, func(to, from *schemas.CrawlControl) { to.Politeness.UserAgent = from.Politeness.UserAgent }),
	take("politeness.ignore_robots", func(c *schemas.CrawlControl) any { return c.GetPoliteness().GetIgnoreRobots() }, func(to, from *schemas.CrawlControl) { to.Politeness.IgnoreRobots = from.Politeness.IgnoreRobots }),
	refuse("learning.d_max", func(c *schemas.CrawlControl) any { return c.GetLearning().GetDMax() }, learned),
	take("learning.switch_pages", func(c *schemas.CrawlControl) any { return c.GetLearning().GetSwitchPages() }, func(to, from *schemas.CrawlControl) { to.Learning.SwitchPages = from.Learning.SwitchPages }),
	take("learning.refit_pages", func(c *schemas.CrawlControl) any { return c.GetLearning().GetRefitPages() }, func(to, from *schemas.CrawlControl) { to.Learning.RefitPages = from.Learning.RefitPages }),
	take("learning.sync", func(c *schemas.CrawlControl) any { return c.GetLearning().GetSync() }, func(to, from *schemas.CrawlControl) { to.Learning.Sync = from.Learning.Sync }),
	refuse("learning.prior", func(c *schemas.CrawlControl) any { return c.GetLearning().GetPrior() }, "the apprentice began with it; forager model pin ranks by another model"),
	refuse("learning.pairs", func(c *schemas.CrawlControl) any { return c.GetLearning().GetPairs() == schemas.Pairs_PAIRS_FORWARD }, learned),
	refuse("learning.topics", func(c *schemas.CrawlControl) any { return c.GetLearning().GetTopics() }, learned),
	refuse("learning.features", func(c *schemas.CrawlControl) any { return c.GetLearning().GetFeatures() }, learned),
	refuse("learning.active", func(c *schemas.CrawlControl) any { return c.GetLearning().GetActive() }, learned),
	refuse("learning.learner", func(c *schemas.CrawlControl) any {
		return max(c.GetLearning().GetLearner(), schemas.Learner_LEARNER_BAYES)
	}, learned),
	refuse("learning.count", func(c *schemas.CrawlControl) any { return c.GetLearning().GetCount() }, learned),
	refuse("learning.smooth", func(c *schemas.CrawlControl) any { return c.GetLearning().GetSmooth() }, learned),
	refuse("learning.logistic.rate", func(c *schemas.CrawlControl) any { return c.GetLearning().GetLogistic().GetRate() }, learned),
	refuse("learning.logistic.l1", func(c *schemas.CrawlControl) any { return c.GetLearning().GetLogistic().GetL1() }, learned),
	refuse("learning.logistic.l2", func(c *schemas.CrawlControl) any { return c.GetLearning().GetLogistic().GetL2() }, learned),
	distiller("every", func(d *schemas.Distiller) any { return d.GetEvery() }, func(to, from *schemas.Distiller) { to.Every = from.Every }),
	distiller("sites", func(d *schemas.Distiller) any { return d.GetByHost() }, func(to, from *schemas.Distiller) { to.ByHost = from.ByHost }),
	distiller("relevance", func(d *schemas.Distiller) any { return relevanceOf(d) }, func(to, from *schemas.Distiller) { to.Relevance = from.Relevance }),
	distiller("hubs", func(d *schemas.Distiller) any { return hubsOf(d) }, func(to, from *schemas.Distiller) { to.Hubs = from.Hubs }),
	refuse("leaves", func(c *schemas.CrawlControl) any { return c.GetLeaves() }, learned),
	refuse("random_seed", func(c *schemas.CrawlControl) any { return c.GetRandomSeed() }, wholeWork),
}

func take(path string, value func(*schemas.CrawlControl) any, set func(to, from *schemas.CrawlControl)) setting {
	return setting{path: path, value: text(value), set: set}
}

func refuse(path string, value func(*schemas.CrawlControl) any, why string) setting {
	return setting{path: path, value: text(value), refused: why}
}

func exclude(name string, of func(*schemas.Excludes) *[]string) setting {
	return list("exclude."+name, func(c *schemas.CrawlControl) **schemas.Excludes { return &c.Excludes }, of)
}

func priority(name string, of func(*schemas.HostPriority) *[]string) setting {
	return list("priority."+name, func(c *schemas.CrawlControl) **schemas.HostPriority { return &c.Priority }, of)
}

// list is a setting that is a list of a message of the control record. A message whose lists are all empty is not set.
func list[M any, P interface {
	*M
	proto.Message
}](path string, in func(*schemas.CrawlControl) *P, of func(P) *[]string) setting {
	names := func(c *schemas.CrawlControl) []string {
		if *in(c) == nil {
			return nil
		}
		return *of(*in(c))
	}
	return take(path, func(c *schemas.CrawlControl) any { return names(c) }, func(to, from *schemas.CrawlControl) {
		if *in(to) == nil {
			*in(to) = new(M)
		}
		if *of(*in(to)) = names(from); proto.Equal(*in(to), P(new(M))) {
			*in(to) = nil
		}
	})
}

// distiller is a setting of a crawl whose ranker raises what hubs link to; without one it counts for nothing.
func distiller(name string, value func(*schemas.Distiller) any, set func(to, from *schemas.Distiller)) setting {
	return take("distiller."+name, func(c *schemas.CrawlControl) any { return value(c.GetDistiller()) }, func(to, from *schemas.CrawlControl) {
		if to.Distiller == nil {
			to.Distiller = new(schemas.Distiller)
		}
		if from.Distiller != nil {
			set(to.Distiller, from.Distiller)
		}
	})
}

func relevanceOf(d *schemas.Distiller) float64 {
	if d.GetRelevance() == 0 {
		return distill.Default.Relevance
	}
	return d.GetRelevance()
}

func hubsOf(d *schemas.Distiller) uint32 {
	if d.GetHubs() == 0 {
		return uint32(distill.Default.Marked)
	}
	return d.GetHubs()
}

// setRanking takes policies, with the expansion of guides that remain, and begins a distiller that lacks pages of before.
func setRanking(to, from *schemas.CrawlControl) {
	raised, before := schemas.Raises(to), to.GetPolicies()
	to.Policies, to.Mixture = slices.Clone(from.GetPolicies()), from.GetMixture()
	for i, p := range to.Policies { // a guide that the crawl has made itself stays
		j := slices.IndexFunc(before, func(old *schemas.Policy) bool { return old.GetName() == p.GetName() && old.GetGuide() != "" })
		if j >= 0 && p.GetGuide() == "" {
			to.Policies[i] = before[j]
		}
	}
	if schemas.Raises(to) && !raised {
		if to.Distiller == nil {
			to.Distiller = proto.CloneOf(from.GetDistiller())
		}
		to.Distiller.Late = true
	}
}

func setShadows(to, from *schemas.CrawlControl) { to.RankerShadows = from.GetRankerShadows() }

func guidesText(c *schemas.CrawlControl) string {
	guides := guidesOf(c)
	list := make([]string, 0, len(guides))
	for _, name := range slices.Sorted(maps.Keys(guides)) {
		list = append(list, name+": "+guides[name])
	}
	return strings.Join(list, ", ")
}

// text makes a value readable: lists without brackets, so that none is empty.
func text(value func(*schemas.CrawlControl) any) func(*schemas.CrawlControl) string {
	return func(c *schemas.CrawlControl) string {
		switch v := value(c).(type) {
		case []string:
			return strings.Join(v, ", ")
		case map[string]float64:
			if len(v) == 0 {
				return ""
			}
			return fmt.Sprint(v)
		default:
			return fmt.Sprint(v)
		}
	}
}
