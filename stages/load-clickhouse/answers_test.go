package main

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"forager/schemas"
)

// answers are what the documented queries must return, computed over the records of the topics.
var answers = map[string]func(c *recount, crawl string) [][]any{
	"harvest": func(c *recount, _ string) (rows [][]any) {
		for _, crawl := range c.crawls() {
			all := c.delivered(crawl)
			for n := 50; n <= len(all); n += 50 {
				rows = append(rows, []any{crawl, n, round(mean(all[:n], gained), 4), round(mean(all[max(0, n-100):n], gained), 4)})
			}
		}
		return rows
	},
	"loss": func(c *recount, crawl string) (rows [][]any) {
		all := c.delivered(crawl)
		for n := 1; n <= len(all); n++ {
			if n*20/len(all) != (n-1)*20/len(all) {
				lost := float64(n) - sum(all[:n], gained)
				rows = append(rows, []any{n, round(lost, 2), round(lost/float64(n), 4)})
			}
		}
		return rows
	},
	"overview": func(c *recount, _ string) (rows [][]any) {
		for _, crawl := range c.crawls() {
			rows = append(rows, c.summed(crawl, func(_, _ string, s *sums) []any {
				return []any{crawl, s.requests, s.delivered, s.targets, s.harvest(4), round(float64(s.delivered)-s.relevance, 2), s.bytes, s.leaps, s.leapHarvest()}
			}, "total")...)
		}
		return rows
	},
	"breakdowns": func(c *recount, crawl string) [][]any {
		return order(c.summed(crawl, func(breakdown, key string, s *sums) []any {
			return []any{breakdown, key, s.requests, s.delivered, s.targets, s.harvest(4), s.leaps, s.leapHarvest()}
		}, "depth", "model", "outcome", "policy", "topic"), 1, 2)
	},
	"summed-minutes": func(c *recount, crawl string) [][]any {
		return order(c.summed(crawl, func(_, key string, s *sums) []any {
			at, _ := time.Parse(time.DateTime, key)
			return []any{at, s.requests, s.delivered, s.harvest(4), s.bytes, s.leaps}
		}, "minute"), 1)
	},
	"summed-hosts": func(c *recount, crawl string) [][]any {
		return most(order(c.summed(crawl, func(_, key string, s *sums) []any {
			return []any{key, s.requests, s.delivered, s.targets, round(s.relevance, 2), s.harvest(3), s.bytes}
		}, "host"), -5, 1), 50)
	},
	"minutes": func(c *recount, crawl string) [][]any {
		return order(each(c.applied(crawl), func(v verdict) time.Time { return v.at.Truncate(time.Minute) }, func(at time.Time, group []verdict) []any {
			pages := slices.DeleteFunc(slices.Clone(group), func(v verdict) bool { return v.M.Outcome != schemas.Outcome_OUTCOME_DELIVERED })
			return []any{at, len(group), len(pages), round(mean(pages, gained), 4)}
		}), 1)
	},
	"targets": func(c *recount, crawl string) (rows [][]any) {
		hits, pages := 0, 0
		for n, v := range c.applied(crawl) {
			if v.M.Outcome != schemas.Outcome_OUTCOME_DELIVERED {
				continue
			}
			if pages++; gained(v) < .5 {
				continue
			}
			hits++
			if s := strings.TrimRight(fmt.Sprint(hits), "0"); s == "1" || s == "2" || s == "5" {
				rows = append(rows, []any{hits, pages, n + 1, v.at})
			}
		}
		return rows
	},
	"depths": func(c *recount, crawl string) [][]any {
		return order(each(c.ended(crawl), func(f *fact) uint32 { return f.request.Depth }, func(depth uint32, group []*fact) []any {
			n, _, harvest := deliveries(group)
			return []any{depth, len(group), n, round(harvest, 4)}
		}), 1)
	},
	"topics": func(c *recount, crawl string) [][]any {
		return most(order(each(c.judged[crawl], func(f *fact) string { return f.judged.Judgement.Topics[0].Topic }, func(topic string, group []*fact) []any {
			return []any{topic, len(group), round(mean(group, judgedR), 4), round(mean(group, func(f *fact) float64 { return f.judged.Judgement.Topics[0].Tempered }), 4)}
		}), -2, 1), 50)
	},
	"languages": func(c *recount, crawl string) [][]any {
		return order(percent(each(c.judged[crawl], func(f *fact) string { return f.page.Language }, func(language string, group []*fact) []any {
			return []any{language, len(group), round(mean(group, judgedR), 4)}
		}), 1, all), -2, 1)
	},
	"hosts": func(c *recount, crawl string) [][]any {
		return most(order(each(c.facts[crawl], func(f *fact) string { return f.request.Host }, func(host string, group []*fact) []any {
			n, gain, harvest := deliveries(group)
			took := sum(group, func(f *fact) float64 {
				if f.delivered() {
					return float64(f.fetched.DurationMs)
				}
				return 0
			})
			return []any{host, len(group), n, round(gain, 2), round(harvest, 3), round(took/float64(max(n, 1)), 0)}
		}), -4, 1), 50)
	},
	"best": func(c *recount, crawl string) (rows [][]any) {
		for _, f := range c.ended(crawl) {
			if f.delivered() {
				rows = append(rows, []any{round(f.r(), 4), f.request.Url, f.page.Title, f.request.Depth, f.request.Policy, round(f.request.Score, 4), f.request.Via})
			}
		}
		return most(order(rows, -1, 2), 20)
	},
	"arms": func(c *recount, crawl string) [][]any {
		return order(each(c.ended(crawl), func(f *fact) string { return f.request.Policy }, func(policy string, group []*fact) []any {
			n, gain, harvest := deliveries(group)
			return []any{policy, len(group), n, round(harvest, 4), round(float64(n)-gain, 2), round(mean(group, func(f *fact) float64 { return f.request.Score }), 4)}
		}), 1)
	},
	"versions": func(c *recount, crawl string) [][]any {
		return order(each(c.ended(crawl), func(f *fact) string { return f.request.Model }, func(model string, group []*fact) []any {
			n, _, harvest := deliveries(group)
			ordinal := func(a, b *fact) int { return cmp.Compare(a.request.Ordinal, b.request.Ordinal) }
			return []any{model, slices.MinFunc(group, ordinal).request.Ordinal, slices.MaxFunc(group, ordinal).request.Ordinal, len(group), n, round(harvest, 4)}
		}), 2, 1)
	},
	"learned": learned,
	"promised": func(c *recount, crawl string) [][]any {
		type key struct {
			policy   string
			learned  int
			promised float64
		}
		return order(each(c.targets(crawl), func(l leap) key {
			k := key{policy: l.Policy, promised: math.Floor(min(max(l.Score, 0), .999)*10) / 10}
			if l.Model != "" {
				k.learned = 1
			}
			return k
		}, func(k key, group []leap) []any {
			return []any{k.policy, k.learned, k.promised, len(group), round(mean(group, target), 3)}
		}), 1, 2, 3)
	},
	"calibration": func(c *recount, crawl string) [][]any {
		return order(each(c.targets(crawl), func(l leap) [2]string { return [2]string{l.Policy, l.Model} }, func(k [2]string, group []leap) []any {
			gap := func(l leap) float64 { return l.Score - l.TargetRaw }
			bins := map[int]float64{}
			for _, l := range group {
				bins[min(9, int(l.Score*10))] += gap(l)
			}
			apart := 0.
			for _, g := range bins {
				apart += math.Abs(g)
			}
			return []any{k[0], k[1], len(group), round(mean(group, func(l leap) float64 { return gap(l) * gap(l) }), 4), round(mean(group, gap), 4), round(apart/float64(len(group)), 4)}
		}), 1, 2)
	},
	"locality": func(c *recount, crawl string) [][]any {
		return order(each(c.fromPages(crawl), func(l leap) float64 { return min(9, math.Floor(l.SourceRaw*10)) / 10 }, func(from float64, group []leap) []any {
			return []any{from, len(group), round(mean(group, target), 4), round(float64(count(group, hit))/float64(len(group)), 4)}
		}), 1)
	},
	"shadows": shadowQuarters,
	"models": func(c *recount, crawl string) (rows [][]any) {
		for _, m := range c.models[crawl] {
			rows = append(rows, []any{m.Version, m.Pages, m.Leaps, time.UnixMilli(m.CreatedAt).UTC(), m.Measures})
		}
		return order(rows, 2, 1)
	},
	"critics": func(c *recount, crawl string) [][]any {
		return order(each(c.judged[crawl], func(f *fact) string { return f.judged.Judgement.Critic }, func(critic string, group []*fact) []any {
			j := group[0].judged.Judgement
			return []any{critic, j.Marking, j.Degraded, len(group), round(mean(group, judgedR), 4), round(mean(group, func(f *fact) float64 { return f.judged.Judgement.Calibrated }), 4)}
		}), 2, 1, 3)
	},
	"hubs": func(c *recount, crawl string) [][]any {
		return most(order(each(c.fromPages(crawl), func(l leap) string { return l.U }, func(u string, group []leap) []any {
			return []any{u, group[0].SourceRaw, len(group), round(sum(group, target), 2), round(mean(group, target), 3)}
		}), -4, 1), 20)
	},
	"distilled": func(c *recount, crawl string) (rows [][]any) {
		newest := map[uint32]*schemas.HubRanked{}
		for _, h := range c.hubs[crawl] {
			if newest[h.Shard] == nil || newest[h.Shard].Pages < h.Pages {
				newest[h.Shard] = h
			}
		}
		for i := range 20 {
			for _, kind := range []string{"hub", "authority"} {
				for shard := range uint32(len(newest)) {
					list := newest[shard].Hubs
					if kind == "authority" {
						list = newest[shard].Authorities
					}
					if i < len(list) {
						rows = append(rows, []any{kind, i + 1, list[i].Url, round(list[i].Score, 4), round(list[i].Relevance, 4), list[i].Marked, newest[shard].Pages})
					}
				}
			}
		}
		slices.SortStableFunc(rows, func(a, b []any) int { return -cmp.Compare(a[0].(string), b[0].(string)) })
		return rows
	},
	"revisit": func(c *recount, crawl string) [][]any {
		type marked struct {
			*schemas.RankedPage
			pages uint64
		}
		var hubs []marked
		for _, h := range c.hubs[crawl] {
			for _, p := range h.Hubs {
				if p.Marked {
					hubs = append(hubs, marked{p, h.Pages})
				}
			}
		}
		return most(order(each(hubs, func(m marked) string { return m.Url }, func(url string, group []marked) []any {
			score, last := 0., group[0]
			for _, m := range group {
				score = max(score, m.Score)
				if m.pages > last.pages {
					last = m
				}
			}
			return []any{url, len(group), last.pages, round(score, 4), round(last.Relevance, 4)}
		}), -2, -4, 1), 100)
	},
	"sources": func(c *recount, crawl string) [][]any {
		return most(order(each(c.fromPages(crawl), func(l leap) string { return domainOf(l.U) }, func(host string, group []leap) []any {
			return []any{host, spread(group, func(l leap) string { return l.U }), len(group), count(group, hit), round(mean(group, target), 4)}
		}), -4, -3, 1), 50)
	},
	"seeds": func(c *recount, crawl string) (rows [][]any) {
		for _, v := range c.verdicts[crawl] {
			if v.M.Outcome != schemas.Outcome_OUTCOME_SEEDS {
				continue
			}
			for _, link := range v.M.Links {
				last := new(fact)
				var led []*fact
				for _, f := range c.facts[crawl] {
					if f.request.Url == link.Url && (last.request == nil || last.request.Attempt < f.request.Attempt) {
						last = f
					}
					if f.request.Via == link.Url && f.delivered() {
						led = append(led, f)
					}
				}
				_, _, harvest := deliveries(led)
				rows = append(rows, []any{link.Url, last.outcome(), round(last.r(), 4), len(led), round(harvest, 4)})
			}
		}
		return order(rows, -4, 1)
	},
	"outcomes": func(c *recount, _ string) (rows [][]any) {
		for _, crawl := range c.crawls() {
			rows = append(rows, each(c.applied(crawl), outcomeOf, func(o string, group []verdict) []any { return []any{crawl, o, len(group)} })...)
		}
		return order(percent(rows, 2, func(r []any) any { return r[0] }), 1, -3, 2)
	},
	"waste": func(c *recount, crawl string) [][]any {
		charged := slices.DeleteFunc(c.ended(crawl), func(f *fact) bool { return !schemas.Outcomes[f.verdict.M.Outcome].Request })
		return most(order(each(charged, func(f *fact) string { return f.request.Host }, func(host string, group []*fact) []any {
			n, gain, _ := deliveries(group)
			return []any{host, len(group), len(group) - n, count(group, func(f *fact) bool { return f.delivered() && f.r() < .5 }), round(float64(len(group))-gain, 2)}
		}), -5, 1), 50)
	},
	"trouble": func(c *recount, crawl string) [][]any {
		type key struct {
			outcome string
			status  uint32
			detail  string
		}
		troubled := slices.DeleteFunc(c.applied(crawl), func(v verdict) bool {
			o := v.M.Outcome
			return o == schemas.Outcome_OUTCOME_DELIVERED || o == schemas.Outcome_OUTCOME_REDIRECTED || o == schemas.Outcome_OUTCOME_DEFERRED ||
				o == schemas.Outcome_OUTCOME_ROBOTS_UNAVAILABLE || schemas.Outcomes[o].Unreachable != schemas.UnreachableNothing
		})
		return most(order(each(troubled, func(v verdict) key { return key{outcomeOf(v), v.M.Status, v.M.Detail} }, func(k key, group []verdict) []any {
			return []any{k.outcome, k.status, k.detail, len(group), slices.Min(urlsOf(group))}
		}), -4, 1, 2, 3), 50)
	},
	"refusals": func(c *recount, crawl string) [][]any {
		refused := slices.DeleteFunc(c.applied(crawl), func(v verdict) bool {
			return !slices.Contains([]string{"robots-disallowed", "robots-unavailable", "refused", "excluded", "not-html", "bad-redirect"}, outcomeOf(v))
		})
		return most(order(each(refused, func(v verdict) [2]string { return [2]string{outcomeOf(v), masked(v.M.Detail)} }, func(k [2]string, group []verdict) []any {
			return []any{k[0], k[1], len(group), spread(group, func(v verdict) string { return hostOf(v.M.Url) }), slices.Min(urlsOf(group))}
		}), -3, 1, 2), 50)
	},
	"refused-links": func(c *recount, crawl string) (rows [][]any) {
		newest, links := map[uint32]*schemas.CrawlStatus{}, map[string]uint64{}
		for _, s := range c.statuses[crawl] {
			if newest[s.Shard] == nil || newest[s.Shard].At < s.At {
				newest[s.Shard] = s
			}
		}
		for _, s := range newest {
			for reason, n := range s.Refused {
				links[reason] += n
			}
		}
		for reason, n := range links {
			rows = append(rows, []any{reason, n})
		}
		return order(percent(rows, 1, all), -2, 1)
	},
	"redirects": func(c *recount, crawl string) [][]any {
		redirected := slices.DeleteFunc(c.ended(crawl), func(f *fact) bool { return f.outcome() != "redirected" })
		return most(order(each(redirected, func(f *fact) [2]string { return [2]string{f.request.Host, domainOf(f.verdict.M.Redirect)} }, func(k [2]string, group []*fact) []any {
			return []any{k[0], k[1], len(group)}
		}), -3, 1, 2), 50)
	},
	"retries": func(c *recount, crawl string) [][]any {
		return order(each(c.ended(crawl), func(f *fact) uint32 { return f.request.Attempt }, func(attempt uint32, group []*fact) []any {
			n, _, _ := deliveries(group)
			return []any{attempt, len(group), n, round(100*float64(n)/float64(len(group)), 1)}
		}), 1)
	},
	"duplicates": func(c *recount, crawl string) [][]any {
		stored := slices.DeleteFunc(c.ended(crawl), func(f *fact) bool { return !f.delivered() || f.fetched.Digest == "" })
		return most(order(each(stored, func(f *fact) string { return f.fetched.Digest }, func(digest string, group []*fact) []any {
			if len(group) < 2 {
				return nil
			}
			return []any{digest, len(group), spread(group, func(f *fact) string { return f.request.Host }), sum(group, func(f *fact) float64 { return float64(f.fetched.Size) }),
				slices.MinFunc(group, func(a, b *fact) int { return strings.Compare(a.request.Url, b.request.Url) }).request.Url}
		}), -2, 1), 50)
	},
	"latency": func(c *recount, crawl string) [][]any {
		return order(each(c.ended(crawl), (*fact).outcome, func(o string, group []*fact) []any {
			var loop, fetch []float64
			for _, f := range group {
				loop = append(loop, float64(f.verdict.at.UnixMilli()-f.request.DispatchedAt))
				fetch = append(fetch, float64(f.fetched.FetchedAt-f.request.DispatchedAt+int64(f.fetched.DurationMs)))
			}
			return []any{o, len(group), quantile(loop, .5), quantile(loop, .95), quantile(fetch, .5)}
		}), -2, 1)
	},
	"gaps": gaps,
	"answers": func(c *recount, crawl string) [][]any {
		answered := slices.DeleteFunc(slices.Clone(c.fetched[crawl]), func(f *schemas.PageFetched) bool { return f.Status == 0 })
		return order(percent(each(answered, (*schemas.PageFetched).GetStatus, func(status uint32, group []*schemas.PageFetched) []any {
			return []any{status, len(group), round(mean(group, func(f *schemas.PageFetched) float64 { return float64(f.DurationMs) }), 0)}
		}), 1, all), 1)
	},
	"waiting": func(c *recount, crawl string) (rows [][]any) {
		for _, f := range c.facts[crawl] {
			if f.outcome() == "" {
				rows = append(rows, []any{f.request.Ordinal, f.request.Url, f.request.Attempt, time.UnixMilli(f.request.DispatchedAt).UTC(), ""})
			}
		}
		return most(order(rows, 4, 1), 50)
	},
	"progress": progressOf,
	"outages":  outagesOf,
	"overlap": func(c *recount, _ string) (rows [][]any) {
		urls := map[string]map[string]bool{}
		for _, crawl := range c.crawls() {
			urls[crawl] = map[string]bool{}
			for _, v := range c.delivered(crawl) {
				urls[crawl][v.M.Url] = true
			}
		}
		for i, one := range c.crawls() {
			for _, other := range c.crawls()[i+1:] {
				shared := 0
				for u := range urls[one] {
					if urls[other][u] {
						shared++
					}
				}
				if shared > 0 {
					rows = append(rows, []any{one, other, len(urls[one]), len(urls[other]), shared, round(float64(shared)/float64(len(urls[one])+len(urls[other])-shared), 4)})
				}
			}
		}
		return rows
	},
	"letters": func(c *recount, _ string) (rows [][]any) {
		at := map[string]int64{}
		for _, l := range c.letters {
			m := l.M
			rows = append(rows, []any{m.Stage, m.Topic, m.Partition, m.Offset, c.headers[m][schemas.HeaderCrawl], c.headers[m][schemas.HeaderURL], m.Tries, m.Error})
			at[fmt.Sprint(m.Offset)] = m.At
		}
		order(rows, 1, 2, 3, 4)
		slices.SortStableFunc(rows, func(a, b []any) int { return -cmp.Compare(at[fmt.Sprint(a[3])], at[fmt.Sprint(b[3])]) })
		return most(rows, 50)
	},
	"dead": func(c *recount, _ string) [][]any {
		return most(order(each(c.letters, func(l letter) [3]string {
			return [3]string{l.M.Stage, c.headers[l.M][schemas.HeaderCrawl], masked(l.M.Error)}
		}, func(k [3]string, group []letter) []any {
			last := slices.MaxFunc(group, func(a, b letter) int { return cmp.Compare(a.M.At, b.M.At) })
			return []any{k[0], k[1], k[2], len(group), time.UnixMilli(last.M.At).UTC()}
		}), -4, 1, 2, 3), 50)
	},
}

type (
	verdict = placed[*schemas.LinkFound]
	letter  = placed[*schemas.DeadLetter]
	leap    = *schemas.LeapSettled
)

func gained(v verdict) float64   { return v.M.GetJudgement().GetRaw() }
func outcomeOf(v verdict) string { return schemas.OutcomeName(v.M.Outcome) }
func judgedR(f *fact) float64    { return f.judged.Judgement.Raw }
func target(l leap) float64      { return l.TargetRaw }
func hit(l leap) bool            { return l.TargetRaw >= .5 }
func urlsOf(all []verdict) (urls []string) {
	for _, v := range all {
		urls = append(urls, v.M.Url)
	}
	return urls
}

func learned(c *recount, crawl string) (rows [][]any) {
	var train []leap
	var targets []float64
	for _, l := range c.leaps[crawl] {
		if l.Trains {
			train = append(train, l)
			targets = append(targets, l.TargetRaw)
		}
	}
	slices.Sort(targets)
	at := float64(len(targets)-1) / 2
	low := int(at)
	cut := targets[low] + (at-float64(low))*(targets[min(low+1, len(targets)-1)]-targets[low])
	type feature struct {
		term   string
		offset int32
	}
	high := count(train, func(l leap) bool { return l.TargetRaw >= cut })
	found := map[feature][2]int{}
	for _, l := range train {
		seen := map[feature]bool{}
		for _, x := range l.Features {
			if f := (feature{x.Term, x.Offset}); !seen[f] {
				seen[f] = true
				n := found[f]
				if l.TargetRaw >= cut {
					n[0]++
				} else {
					n[1]++
				}
				found[f] = n
			}
		}
	}
	for f, n := range found {
		if n[0]+n[1] >= 5 {
			odds := math.Log(float64(n[0]+1)/float64(high+2)) - math.Log(float64(n[1]+1)/float64(len(train)-high+2))
			name := fmt.Sprint(f.offset)
			if f.offset == schemas.NoOffset {
				name = "none"
			}
			rows = append(rows, []any{f.term, name, n[0], n[1], round(odds, 2), math.Abs(round(odds, 2)), f.offset})
		}
	}
	rows = most(order(rows, -6, 1, 7), 50)
	for i := range rows {
		rows[i] = rows[i][:5]
	}
	return rows
}

// shadowQuarters places the requests of each shadow, the ones that it drops first, and cuts the list into four.
func shadowQuarters(c *recount, crawl string) (rows [][]any) {
	places := map[string][][]any{}
	seen := map[string]bool{}
	for _, l := range c.targets(crawl) {
		for _, s := range l.Shadows {
			if key := s.Policy + string(l.Request); !seen[key] {
				seen[key] = true
				dropped := 1
				if s.Dropped {
					dropped = 0
				}
				places[s.Policy] = append(places[s.Policy], []any{dropped, s.Tier, s.Score, fmt.Sprintf("%x", l.Request), l.TargetRaw, l.Score})
			}
		}
	}
	for policy, all := range places {
		order(all, 1, -2, 3, 4)
		for quarter, rest := range []int{3, 2, 1, 0} {
			group := all[:(len(all)+rest)/(rest+1)]
			all = all[len(group):]
			value := func(i int) float64 { return round(mean(group, func(r []any) float64 { return r[i].(float64) }), 3) }
			rows = append(rows, []any{policy, quarter + 1, len(group), value(4), value(2), value(5)})
		}
	}
	return order(rows, 1, 2)
}

func gaps(c *recount, crawl string) [][]any {
	sent := slices.DeleteFunc(slices.Clone(c.fetched[crawl]), func(f *schemas.PageFetched) bool {
		return f.Status == 0 && f.Outcome != schemas.Outcome_OUTCOME_TIMEOUT && f.Outcome != schemas.Outcome_OUTCOME_CONNECTION_FAILED
	})
	return most(order(each(sent, func(f *schemas.PageFetched) string { return hostOf(f.Url) }, func(host string, group []*schemas.PageFetched) []any {
		slices.SortFunc(group, func(a, b *schemas.PageFetched) int {
			return cmp.Or(cmp.Compare(a.FetchedAt, b.FetchedAt), strings.Compare(string(a.Id), string(b.Id)))
		})
		var pauses []float64
		free := int64(0)
		for i, f := range group {
			if i > 0 {
				pauses = append(pauses, float64(max(0, f.FetchedAt-free)))
			}
			free = max(free, f.FetchedAt+int64(f.DurationMs))
		}
		least, median := 0., 0.
		if len(pauses) > 0 {
			least, median = slices.Min(pauses), quantile(pauses, .5)
		}
		status := func(s uint32) int { return count(group, func(f *schemas.PageFetched) bool { return f.Status == s }) }
		return []any{host, len(group), len(pauses), least, median, status(429), status(503)}
	}), -2, 1), 50)
}

func progressOf(c *recount, crawl string) (rows [][]any) {
	statuses := slices.SortedFunc(slices.Values(c.statuses[crawl]), func(a, b *schemas.CrawlStatus) int { return cmp.Compare(a.At, b.At) })
	newest := map[uint32]*schemas.CrawlStatus{}
	for _, s := range statuses {
		newest[s.Shard] = s
		minute := time.UnixMilli(s.At).UTC().Truncate(time.Minute)
		var dispatched, pages, queued, flying uint64
		for _, n := range newest {
			dispatched, pages, queued, flying = dispatched+n.Dispatched, pages+n.Pages, queued+n.Queued, flying+n.InFlight
		}
		row := []any{minute, dispatched, pages, queued, flying, s.Activity}
		if n := len(rows); n > 0 && rows[n-1][0].(time.Time).Equal(minute) {
			rows[n-1] = row
		} else {
			rows = append(rows, row)
		}
	}
	return rows
}

func outagesOf(c *recount, crawl string) [][]any {
	type key struct {
		shard uint32
		since int64
	}
	statuses := slices.SortedFunc(slices.Values(c.statuses[crawl]), func(a, b *schemas.CrawlStatus) int { return cmp.Compare(a.At, b.At) })
	out := slices.DeleteFunc(slices.Clone(statuses), func(s *schemas.CrawlStatus) bool { return s.GetOutage().GetSince() == 0 })
	return order(each(out, func(s *schemas.CrawlStatus) key { return key{s.Shard, s.Outage.Since} }, func(k key, group []*schemas.CrawlStatus) []any {
		last := group[len(group)-1]
		until := last.At
		for _, s := range statuses {
			if s.Shard == k.shard && s.At > last.At {
				until = s.At
				break
			}
		}
		return []any{k.shard, time.UnixMilli(k.since).UTC(), time.UnixMilli(until).UTC(), last.Outage.Cause}
	}), 2, 1)
}
