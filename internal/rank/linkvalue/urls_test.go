package linkvalue

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/cespare/xxhash/v2"
	"pgregory.net/rapid"

	"forager/internal/rank/policy"
	"forager/schemas"
)

func keysOf(parts []string) (keys []uint64) {
	for _, p := range parts {
		keys = append(keys, xxhash.Sum64String(p))
	}
	return keys
}

// TestPartsOfURLs compares with the parts that are listed.
func TestPartsOfURLs(t *testing.T) {
	for _, c := range []struct {
		url                string
		directories, words []string
	}{
		{"http://a.test/", []string{"a.test/"}, nil},
		{"https://a.test:8080/People/~smith/", []string{"a.test:8080/", "a.test:8080/People/", "a.test:8080/People/~smith/"}, []string{"~", "smith"}},
		{"http://a.test/index.php?title=Main_Page", []string{"a.test/", "a.test/index.php?"}, []string{"index", "php", "title", "main", "page"}},
		{"http://a.test/x?u=b/c-12x3", []string{"a.test/", "a.test/x?", "a.test/x?u=b/"}, []string{"c", "#", "x", "#"}},
		{"http://a.test/M%C3%BCll%20%2F%zz%C", []string{"a.test/"}, []string{"m\xc3\xbcll", "zz", "c"}},
		{"http://a.test/" + strings.Repeat("/", 20) + "x", slices.Collect(func(yield func(string) bool) {
			for i := range mostOfURL {
				yield("a.test/" + strings.Repeat("/", i))
			}
		}), []string{"x"}},
		{"http://a.test/" + strings.Repeat("x", 100) + strings.Repeat(".y", 20), []string{"a.test/"}, slices.Concat([]string{strings.Repeat("x", mostOfWord)}, slices.Repeat([]string{"y"}, mostOfURL-1))},
		{"", nil, nil},
		{"a", nil, nil},
	} {
		if got, want := slices.Collect(directories(c.url)), keysOf(c.directories); !slices.Equal(got, want) {
			t.Errorf("the directories of %s are %d, want those of %q", c.url, got, c.directories)
		}
		if got, want := slices.Collect(words(c.url)), keysOf(c.words); !slices.Equal(got, want) {
			t.Errorf("the words of %s are %d, want those of %q", c.url, got, c.words)
		}
	}
}

// page is one that was fetched.
type page struct {
	url string
	r   float64
}

// sumOf returns the number of pages of which in is a part, and the sum of their R.
func sumOf(pages []page, in func(url string) int) (n, sum float64) {
	for _, p := range pages {
		n += float64(in(p.url))
		sum += float64(in(p.url)) * p.r
	}
	return n, sum
}

var wordOf = regexp.MustCompile(`[a-z]+|[0-9]+|~`)

// listedWords are those of a URL of ASCII letters.
func listedWords(url string) []string {
	url = strings.TrimSuffix(url, "/")
	all := wordOf.FindAllString(strings.ToLower(url[strings.LastIndex(url, "/")+1:]), -1)
	for i, w := range all {
		if w[0] >= '0' && w[0] <= '9' {
			all[i] = "#"
		}
	}
	return all
}

// TestExpectsWhatPartsHad compares what is expected of a URL with the same computed from the list of all pages.
func TestExpectsWhatPartsHad(t *testing.T) {
	url := rapid.StringMatching(`[ab](/[ABc]{1,2}[_~1]?[12]?){0,4}[/?]?`)
	rapid.Check(t, func(t *rapid.T) {
		p, mean := newParts(), rapid.Float64Range(.01, .99).Draw(t, "mean")
		var pages []page
		for range rapid.IntRange(0, 40).Draw(t, "pages") {
			x := page{"http://" + url.Draw(t, "url"), rapid.Float64Range(0, 1).Draw(t, "R")}
			pages = append(pages, x)
			p.words(x.url, mean, 0) // what is known of words changes
			p.add(x.url, x.r)
			p.words(x.url, rapid.SampledFrom([]float64{mean, .5}).Draw(t, "another mean"), 0)
		}
		v := "http://" + url.Draw(t, "v")
		y := mean
		for i := len("http://"); i < len(v); i++ {
			if v[i] != '/' && v[i] != '?' {
				continue
			}
			n, sum := sumOf(pages, func(url string) int {
				if strings.HasPrefix(url, v[:i+1]) {
					return 1
				}
				return 0
			})
			as := n / (1 + n/mostOfDirectory) // pages
			if n > 0 {
				y = (directoryPrior*y + as*sum/n) / (directoryPrior + as)
			}
		}
		odds := func(p float64) float64 { return math.Log(max(p, .005) / (1 - min(p, .995))) }
		differ := func(got, sum float64) bool {
			return math.Abs(got-sum/(1+math.Abs(sum))) > 1e-3 // sums are of float32
		}
		if got, want := p.path(v, mean, logit(mean)), (odds(y)-odds(mean))/4; differ(got, want) {
			t.Fatalf("the directories of %s have %v, want that of %v", v, got, want)
		}
		var sum float64
		all := []string(nil)
		if strings.Contains(strings.TrimSuffix(v[len("http://"):], "/"), "/") {
			all = listedWords(v)
		}
		for _, w := range all {
			n, of := sumOf(pages, func(url string) (times int) {
				if !strings.Contains(strings.TrimSuffix(url[len("http://"):], "/"), "/") {
					return 0
				}
				for _, o := range listedWords(url) {
					if o == w {
						times++
					}
				}
				return times
			})
			sum += (odds((wordPrior*mean+of)/(wordPrior+n)) - odds(mean)) / 4
		}
		if got, want := p.words(v, mean, logit(mean)), sum/math.Sqrt(max(1, float64(len(all)))); differ(got, want) {
			t.Fatalf("the words of %s have %v, want that of %v", v, got, want)
		}
	})
}

// TestFollowsDirectories: of the links of one page, those into directories whose pages were relevant come first, then those into others, also for
// directories that are alike in their words only.
func TestFollowsDirectories(t *testing.T) {
	r := New(true)
	home := &schemas.LinkFound{Url: "http://a.test/", Outcome: schemas.Outcome_OUTCOME_DELIVERED, Judgement: &schemas.Judgement{Raw: .1, Calibrated: .1}}
	url := func(directory string, i int, word string) string {
		return fmt.Sprintf("http://a.test/%s/%s%d", directory, word, i)
	}
	for i := range 60 {
		for _, d := range []string{"courses", "papers"} {
			home.Links = append(home.Links, &schemas.Link{Url: url(d, i, "p")}, &schemas.Link{Url: url(d, i, "syllabus")})
		}
	}
	r.Observe(home)
	for i := range 20 {
		for _, d := range []string{"courses", "papers"} {
			for _, word := range []string{"p", "syllabus"} {
				relevance := float64(0)
				if d == "courses" && word == "syllabus" || d == "courses" && i%2 == 0 || word == "syllabus" && i%4 == 0 {
					relevance = 1
				}
				r.Observe(&schemas.LinkFound{Url: url(d, i, word), Outcome: schemas.Outcome_OUTCOME_DELIVERED, Judgement: &schemas.Judgement{Raw: relevance, Calibrated: relevance}})
			}
		}
	}
	score := func(d, word string) float64 { return r.valueOf(r.waiting[url(d, 59, word)]) }
	if !(score("courses", "syllabus") > score("courses", "p") && score("courses", "p") > score("papers", "p") && score("papers", "syllabus") > score("papers", "p")) {
		t.Errorf("the values are %v, %v, %v and %v", score("courses", "syllabus"), score("courses", "p"), score("papers", "syllabus"), score("papers", "p"))
	}
	if got := r.Score("unknown", &policy.Source{Calibrated: 1}); got != unknownShare {
		t.Errorf("an unknown URL has the score %v", got)
	}
}

// TestPartsAreBounded: parts of URLs take no more than is counted, and that is bounded; those that came last are there.
func TestPartsAreBounded(t *testing.T) {
	before, p := heap(), newParts()
	n := 3 * mostParts
	for i := range n {
		p.add(fmt.Sprintf("http://%d.test/%d-a", i, i), 1)
		if i%(n/7) == 0 && (p.bytes() > 2*mostParts*partCost || heap()-before > p.bytes()+16<<10) {
			t.Fatalf("after %d URLs %d bytes are counted, %d taken", i, p.bytes(), heap()-before)
		}
	}
	for i := n - mostParts/2; i < n; i++ {
		if got := p.of(xxhash.Sum64String(fmt.Sprintf("%d.test/", i))); got != (tally{1, 1}) {
			t.Fatalf("host %d of %d has %v", i, n, got)
		}
	}
	if got := p.of(xxhash.Sum64String("a")); got.N != float32(n) {
		t.Errorf("a word of all %d URLs has %v", n, got)
	}
}

// TestReadsNoURLs: a ranker that must not read URLs gives the same values whatever they are.
func TestReadsNoURLs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		renamed := func(url string) string {
			if url == "" {
				return ""
			}
			return fmt.Sprintf("http://%d.test/", xxhash.Sum64String(url))
		}
		got, want := New(false), New(false)
		for i, rec := range crawl(t, 10, 60) {
			want.Observe(rec)
			rec.Url, rec.Redirect = renamed(rec.GetUrl()), renamed(rec.GetRedirect())
			for _, l := range rec.GetLinks() {
				l.Url = renamed(l.GetUrl())
			}
			got.Observe(rec)
			for v, w := range want.waiting {
				if x, y := got.valueOf(got.waiting[renamed(v)]), want.valueOf(w); x != y {
					t.Fatalf("record %d: %s has the value %v, and %v with another name", i, v, y, x)
				}
			}
		}
	})
}
