package operate

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"forager/internal/classify/httpmodel"
	"forager/internal/classify/pagerules"
	"forager/internal/classify/taxonomy"
	"forager/internal/crawl/crawlfile"
	"forager/internal/platform/objects"
	"forager/internal/platform/pipeline"
	"forager/internal/platform/registry"
	"forager/internal/stream/streamtest"
	"forager/schemas"
)

// memory is an object store.
type memory map[string][]byte

func (m memory) Get(_ context.Context, key string) ([]byte, error) {
	if b, ok := m[key]; ok {
		return b, nil
	}
	return nil, objects.ErrNotFound
}

func (m memory) Put(_ context.Context, key string, r io.Reader, _ int64) error {
	b := new(bytes.Buffer)
	_, err := b.ReadFrom(r)
	m[key] = b.Bytes()
	return err
}

// published returns topics on a broker of their own, and a store with critics and guides: "words" and "others" know the classes A, A/B and Lists,
// "narrow" A alone, "reader" reads URLs; the guide "links" fits any critic, "fitted" that of words.
func published(t *testing.T) (*Topics, memory) {
	t.Helper()
	client, _ := streamtest.Dial(t, streamtest.Embedded(t).Config(), map[string]pipeline.Topic{
		schemas.TopicCrawlControl: {Partitions: 1, Compact: true, MaxMessageBytes: 1 << 20},
	})
	if _, err := client.Setup(streamtest.Within(t, time.Minute)); err != nil {
		t.Fatal(err)
	}
	b, store := New(client), make(memory)
	keep := func(m *schemas.ModelPublished, data []byte) string {
		if err := registry.Keep(t.Context(), store, m, data); err != nil {
			t.Fatal(err)
		}
		b.Note(m)
		return m.GetVersion()
	}
	version := make(map[string]string)
	for name, source := range map[string]string{
		"words": "A: text has \"one\"\n\nA/B: text has \"two\"\n\nLists: text has \"three\"\n", "others": "A: text has \"five\"\n\nA/B: text has \"two\"\n\nLists: text has \"three\"\n", "narrow": "A: text has \"one\"\n",
		"reader": "A: url has \"one\"\n\nA/B: text has \"two\"\n\nLists: text has \"three\"\n",
	} {
		r, err := pagerules.Parse(name, source)
		if err != nil {
			t.Fatal(err)
		}
		data := r.Marshal()
		version[name] = keep(registry.Critic(name, data, nil, time.Now()), data)
	}
	for name, critic := range map[string]string{"links": "", "fitted": version["words"]} {
		p, err := httpmodel.ParseLinks(name, "url: http://127.0.0.1:1/"+name+"\n")
		if err != nil {
			t.Fatal(err)
		}
		keep(registry.Guide(name, critic, p.Marshal(), time.Now()), p.Marshal())
	}
	return b, store
}

// crawling is a control record as a crawl begins with.
func crawling(t *testing.T, b *Topics, store registry.Store, name string, change func(*crawlfile.File)) *schemas.CrawlControl {
	t.Helper()
	c, err := crawlfile.Complete("", func(f *crawlfile.File) {
		f.Name, f.Critic, f.Focus, f.Seeds, f.Ranker = name, "words", []string{"A"}, []string{"http://a.example/"}, "soft-focus"
		f.Budget.Pages, f.Politeness.Contact = 100, "you@a.example"
		change(f)
	})
	if err == nil {
		err = Settle(t.Context(), b, store, nil, c.Control)
	}
	if err != nil {
		t.Fatal(err)
	}
	c.Control.Revision = 1
	return c.Control
}

// TestEveryWayOfAChangeIsChecked: what crawl start refuses is refused by every function that changes a crawl, whether it runs or has
// finished, and no control record is written.
func TestEveryWayOfAChangeIsChecked(t *testing.T) {
	b, store := published(t)
	set := func(edits ...string) func(string) error {
		return func(crawl string) error {
			_, err := b.Change(t.Context(), store, crawl, 0, false, func(ctl *schemas.CrawlControl) (*crawlfile.Changed, error) { return crawlfile.Set(ctl, edits) })
			return err
		}
	}
	rejudge := func(change func(*schemas.CrawlControl) error) func(string) error {
		return func(crawl string) error {
			_, _, err := b.Rejudge(t.Context(), store, crawl, 0, change)
			return err
		}
	}
	rank := func(r Ranking) func(string) error {
		return func(crawl string) error {
			_, _, err := b.SwitchRanker(t.Context(), store, crawl, 0, r.Apply)
			return err
		}
	}
	plain := func(*crawlfile.File) {}
	fitted := func(f *crawlfile.File) {
		f.Ranker, f.Guides = "link-predicate", map[string]string{"link-predicate": "fitted"}
	}
	labelled := func(f *crawlfile.File) { f.LabelsFromURLs = true }
	renewed := func(f *crawlfile.File) { f.Ranker, f.ContextGraph.Bootstrap = "context-graph", 10 }
	for i, c := range []struct {
		file func(*crawlfile.File)
		way  func(crawl string) error
		want string
	}{
		{plain, set("forms=[Nothing]"), `"Nothing"`},
		{plain, set("forms=[A/B]"), "a form is no subject"},
		{plain, set("focus=[Nothing]"), `"Nothing"`},
		{plain, set("weights={B: 0.5}"), "is no focus topic"},
		{plain, set("weights={A: 2}"), "at most 1"},
		{plain, set("bad=[Nothing]"), `"Nothing"`},
		{plain, set("critic=nothing"), `no critic "nothing"`},
		{plain, set("shadows=[nothing]"), `no critic "nothing"`},
		{plain, set("shadows=[words]"), "judges the crawl already"},
		{plain, set("ranker=link-predicate", "guides={link-predicate: nothing}"), `no guide "nothing"`},
		{plain, set("ranker=nothing"), "nothing"},
		{plain, set("window=1000000"), "window 1000000 is above 100,000"},
		{plain, set("host_window=1000"), "host_window 1000 is above"},
		{func(f *crawlfile.File) { f.Forms = []string{"Lists"} }, set("critic=narrow"), `"Lists"`},
		{func(f *crawlfile.File) { f.Forms = []string{"Lists"} }, rejudge(UseCritics("narrow", nil, false)), `"Lists"`},
		{func(f *crawlfile.File) { f.Forms = []string{"Lists"} }, rejudge(UseCritics("", []string{"narrow"}, false)), `"Lists"`},
		{plain, rejudge(UseCritics("nothing", nil, false)), `no critic "nothing"`},
		{plain, rejudge(Refocus(taxonomy.Change{Good: []string{"Nothing"}})), `"Nothing"`},
		{plain, rejudge(Refocus(taxonomy.Change{Weights: map[string]float64{"A": 2}})), "at most 1"},
		{plain, rank(Ranking{Ranker: "link-predicate", Guides: map[string]string{"link-predicate": "nothing"}}), `no guide "nothing"`},
		{fitted, set("critic=others"), "was made for the critic words/"},
		{fitted, rejudge(UseCritics("others", nil, false)), "was made for the critic words/"},
		{labelled, set("critic=reader"), "reads URLs"},
		{labelled, rejudge(UseCritics("reader", nil, false)), "reads URLs"},
		{labelled, set("ranker=link-predicate", "guides={link-predicate: links}"), "reads URLs"},
		{labelled, rank(Ranking{Ranker: "link-predicate", Guides: map[string]string{"link-predicate": "links"}}), "reads URLs"},
		{renewed, set("ranker=soft-focus"), "context-graph is no ranker of soft-focus"},
		{renewed, rank(Ranking{Ranker: "soft-focus"}), "context-graph is no ranker of soft-focus"},
	} {
		for _, end := range []string{"", "pages"} {
			crawl := fmt.Sprintf("c%d%s", i, end)
			ctl := crawling(t, b, store, crawl, c.file)
			b.Note(ctl)
			if end != "" {
				b.Note(&schemas.CrawlStatus{Crawl: crawl, State: schemas.ShardState_SHARD_STATE_FINISHED, EndReason: end})
			}
			err := c.way(crawl)
			if want := c.want; err == nil || !strings.Contains(err.Error(), want) && (end == "" || !strings.Contains(err.Error(), "has finished")) {
				t.Errorf("number %d, finished: %q: %v, want %s", i, end, err, want)
			}
			if now, _ := b.Newest(crawl); now.GetRevision() != 1 {
				t.Errorf("number %d: revision %d is in force", i, now.GetRevision())
			}
		}
	}
	ctl := crawling(t, b, store, "good", plain)
	b.Note(ctl)
	for revision, way := range []func(string) error{
		set("forms=[Lists]"), set("window=100000"), rejudge(UseCritics("others", nil, false)), rejudge(Refocus(taxonomy.Change{Bad: []string{"A/B"}})),
		rank(Ranking{Ranker: "link-predicate", Guides: map[string]string{"link-predicate": "links"}}), set("ranker=hard-defer"),
	} {
		if err := way("good"); err != nil {
			t.Errorf("change %d of a crawl that can take it: %v", revision+1, err)
		} else if now, _ := b.Newest("good"); now.GetRevision() != uint64(revision+2) {
			t.Errorf("change %d has revision %d", revision+1, now.GetRevision())
		}
	}
}

// TestANameMeansTheNewestVersion: a setting names the newest version of a critic, also where another one of the same name is in force; the
// difference has the version, and there is none if that is in force.
func TestANameMeansTheNewestVersion(t *testing.T) {
	b, store := published(t)
	ctl := crawling(t, b, store, "c", func(*crawlfile.File) {})
	newest := ctl.GetCritic()
	ctl.Critic = "words/0123456789ab"
	b.Note(ctl)
	for _, k := range []struct {
		dry      bool
		differs  int
		revision uint64
	}{{true, 1, 1}, {false, 1, 2}, {true, 0, 2}, {false, 0, 2}} {
		x, err := b.Change(t.Context(), store, "c", 0, k.dry, func(ctl *schemas.CrawlControl) (*crawlfile.Changed, error) {
			return crawlfile.Set(ctl, []string{"critic=words"})
		})
		if err != nil || len(x.Differences) != k.differs || x.Revision != k.revision || k.differs > 0 && x.Differences[0].After != newest {
			t.Errorf("%+v: %v, %+v", k, err, x)
		}
	}
	if now, _ := b.Newest("c"); now.GetCritic() != newest || now.GetRevision() != 2 {
		t.Errorf("in force is %v", now)
	}
}

// TestSeedsThatAreExcluded are refused as in a crawl file.
func TestSeedsThatAreExcluded(t *testing.T) {
	ctl := &schemas.CrawlControl{Crawl: "c", Scope: new(schemas.Scope), Excludes: &schemas.Excludes{Hosts: []string{"b.example"}}}
	if err := InScope(t.Context(), nil, ctl, []string{"http://a.example/", "http://b.example/"}); err == nil || !strings.Contains(err.Error(), "exclude.hosts: b.example") || strings.Contains(err.Error(), "//a.") {
		t.Errorf("%v", err)
	}
}
