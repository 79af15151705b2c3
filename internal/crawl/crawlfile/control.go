package crawlfile

import (
	"maps"
	"slices"
	"strings"
	"time"

	"forager/internal/platform/strictyaml"
	"forager/internal/rank/apprentice"
	"forager/internal/rank/distill"
	"forager/internal/rank/linkfeature"
	"forager/schemas"
)

// control is the record with the values that a file has literally; the others need checking first.
func (f *File) control() *schemas.CrawlControl {
	return &schemas.CrawlControl{
		Crawl: f.Name, State: schemas.CrawlState_CRAWL_STATE_RUNNING, Focus: f.Focus, Critic: f.Critic,
		Weights: f.Weights, Bad: f.Bad, Forms: f.Forms, Shadows: f.Shadows, LabelsFromUrls: f.LabelsFromURLs,
		Budget: &schemas.Budget{Pages: f.Budget.Pages, Requests: f.Budget.Requests},
		Scope: &schemas.Scope{
			Hosts: f.Scope.Hosts, Prefixes: f.Scope.Prefixes, MaxDepth: f.Scope.MaxDepth, HostCap: f.Scope.HostCap,
		},
		Window: f.Window, HostWindow: f.HostWindow, MaxAttempts: f.MaxAttempts, HostPatienceS: uint32(max(0, min(f.HostPatience, schemas.MaxHostPatience)) / time.Second), Shards: f.Shards, RandomSeed: f.RandomSeed,
		Politeness: f.politeness(),
		Learning: &schemas.Learning{
			DMax: f.Learning.DMax, SwitchPages: f.Learning.SwitchPages, RefitPages: f.Learning.RefitPages,
			Sync: f.Learning.Sync, Prior: f.Learning.Prior,
		},
	}
}

// check reports what is missing, and which numbers are out of range or contradict one another.
func (f *File) check(r *strictyaml.Report) {
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
	within(r, "politeness.address_delay", f.Politeness.AddressDelay)
	within(r, "politeness.network_delay", f.Politeness.NetworkDelay)
	if f.HostPatience < 0 || f.HostPatience > schemas.MaxHostPatience || f.HostPatience%time.Second != 0 {
		r.Problem("host_patience", "is %s; it must be a number of seconds, 366 days (8784h) at most", f.HostPatience)
	}
	if f.Shards > 256 {
		r.Problem("shards", "is %d; it must lie between 1 and 256", f.Shards)
	}
	if f.Shards > 1 && f.Learning.Sync {
		r.Problem("learning.sync", "waits for the models of a crawl of one shard, and shards is %d", f.Shards)
	}
	if f.Window > 0 && f.Window < f.Shards {
		r.Problem("window", "is %d; each of the %d shards needs one", f.Window, f.Shards)
	}
}

// rank sets the policies of a crawl, its shadows, and the settings of guides.
func (f *File) rank(r *strictyaml.Report, c *Crawl) {
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
}

// learn sets what the apprentice learns from, and how.
func (f *File) learn(r *strictyaml.Report, to *schemas.Learning) {
	if f.Learning.DMax > 100 {
		r.Problem("learning.d_max", "is %d; it must lie between 0 and 100", f.Learning.DMax)
	}
	choose(r, "learning.pairs", f.Learning.Pairs, &to.Pairs, Pairs)
	choose(r, "learning.topics", f.Learning.Topics, &to.Topics, Topics)
	choose(r, "learning.learner", f.Learning.Learner, &to.Learner, Learners)
	choose(r, "learning.count", f.Learning.Count, &to.Count, Countings)
	if families, err := linkfeature.FamiliesNamed(f.Learning.Features); err != nil {
		r.Problem("learning.features", "%v", err)
	} else {
		to.Features = families.List()
	}
	if to.Active = f.Learning.Active; !(f.Learning.Active >= 0 && f.Learning.Active <= 1) {
		r.Problem("learning.active", "is %v; it must lie between 0 and 1", f.Learning.Active)
	}
	if l := f.Learning.Logistic; to.Learner == schemas.Learner_LEARNER_LOGISTIC {
		to.Logistic = &schemas.Logistic{Rate: l.Rate, L1: l.L1, L2: l.L2}
		if _, err := apprentice.SettingsOf(to); err != nil {
			r.Problem("learning.logistic", "%v", err)
		}
	}
	to.Smooth = f.Learning.Smooth
	smoothed := &schemas.Learning{Learner: to.Learner, Features: to.Features, Smooth: to.Smooth}
	if _, err := apprentice.SettingsOf(smoothed); err != nil {
		r.Problem("learning.smooth", "%v", err)
	}
}

// distill sets the distiller of a control record; one without a distiller has the defaults.
func (f *File) distill(r *strictyaml.Report, ctl *schemas.CrawlControl) {
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

// polite reports what is wrong with the politeness settings.
func polite(r *strictyaml.Report, delay time.Duration, contact string) {
	within(r, "politeness.delay", delay)
	if contact == "" {
		r.Problem("politeness.contact", "is missing; give an e-mail address or a page: site owners must be able to reach you")
	} else if strings.ContainsAny(contact, "()\r\n") {
		r.Problem("politeness.contact", "must not contain parentheses or line breaks")
	}
}

// within reports a pause that is out of range.
func within(r *strictyaml.Report, path string, pause time.Duration) {
	if pause < 0 || pause > time.Hour {
		r.Problem(path, "is %s; it must lie between 0s and 1h", pause)
	}
}

func (f *File) politeness() *schemas.Politeness {
	p := politeness(f.Politeness.Delay, f.Politeness.Contact, f.Politeness.IgnoreRobots)
	p.AddressDelayMs = uint32(max(0, f.Politeness.AddressDelay.Milliseconds()))
	p.NetworkDelayMs = uint32(max(0, f.Politeness.NetworkDelay.Milliseconds()))
	return p
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
// learning.count. Raw counts are the unspecified value.
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
