// Package tagbandit is a ranker after the crawler SB-CLASSIFIER of Gauquier, Manolescu & Senellart (2025): links with similar
// tag paths form a group, groups are the arms of a sleeping bandit, and the reward of a group is that of the pages that
// it leads to. The next page is drawn from the group with the largest upper bound
//
//	mean reward + √(2 ln t / n)        t pages, n of them of the group; a group without a page comes first
//
// among those with an unvisited page. A page belongs to the group of the first link to it. A path is the bag of the pairs
// of elements that follow each other on it (schemas.Link.tag_path). It belongs to the group whose sum of paths has the
// largest cosine to it, if that is at least 0.75, or else to a new group.
//
// The paper rewards new links to files whose type follows from their URLs; here the reward is R(v) of the page, in [0,1],
// for which the bound is that of UCB1 (Auer, Cesa-Bianchi & Fischer 2002).
//
// # Drawing in a frontier
//
// The frontier orders URLs by scores and does not request the next one from a ranker. So a drawn page scores 1 until it is visited,
// and all others 0; then the next page is drawn. Where requests overlap, as many pages are drawn as there may be in
// flight, and the draws know less than those of a crawler that fetches a page at a time.
//
// A drawn page may not be fetched at once: its host waits, or other policies of a mixture choose. After ten verdicts on
// other pages the page drawn first is given up for another one, until every waiting page was drawn once. So a mixture does
// not use up the pages of the best group.
//
// Everything learned is in memory, without a bound: the ranker is a comparator for experiments.
package tagbandit
