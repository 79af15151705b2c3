package audit

import (
	"fmt"

	"forager/schemas"
)

// hubs checks the rankings in the topic: the ranked pages are pages of the crawl with the R of their verdicts,
// each once, ordered by score, and the first hubs are marked.
func (j *judge) hubs() {
	var pages uint64
	for _, s := range j.Statuses {
		pages = max(pages, s.GetPages())
	}
	j.each(kindRanking).all(func(e entry) {
		id, h := e.id(), new(schemas.HubRanked)
		j.decode(e.value, h)
		name := fmt.Sprintf("the hubs of shard %d behind %d pages", h.GetShard(), h.GetPages())
		if schemas.HubsID(j.Crawl, h.GetShard(), h.GetPages()) != id {
			j.problem("%s have another's id", name)
		}
		if j.finished() && !j.Running && h.GetPages() > pages {
			j.problem("%s: no shard has delivered more than %d", name, pages)
		}
		if len(h.GetRaised())%len(schemas.ID{}) != 0 {
			j.problem("%s raise %d bytes, which are no ids", name, len(h.GetRaised()))
		}
		j.ranked(name+": hub", h.GetHubs())
		j.ranked(name+": authority", h.GetAuthorities())
	})
}

// ranked checks one of the two lists of a ranking.
func (j *judge) ranked(name string, list []*schemas.RankedPage) {
	seen := make(map[string]bool, len(list))
	for i, p := range list {
		switch v := j.delivered(p.GetUrl()); {
		case v == nil:
			j.problem("%s %d is %s, which was not delivered", name, i+1, p.GetUrl())
		case v.GetJudgement().GetRaw() != p.GetRelevance():
			j.problem("%s %d, %s, has R = %g, the verdict on it has %g", name, i+1, p.GetUrl(), p.GetRelevance(), v.GetJudgement().GetRaw())
		case seen[p.GetUrl()]:
			j.problem("%s %d, %s, is listed twice", name, i+1, p.GetUrl())
		case i > 0 && list[i-1].GetScore() < p.GetScore():
			j.problem("%s %d, %s, has a higher score than the one before", name, i+1, p.GetUrl())
		case i > 0 && p.GetMarked() && !list[i-1].GetMarked():
			j.problem("%s %d, %s, is marked, and the one before is not", name, i+1, p.GetUrl())
		}
		seen[p.GetUrl()] = true
	}
}
