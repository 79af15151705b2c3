// Package tagbandit is the crawler SB-CLASSIFIER of Gauquier, Manolescu & Senellart (2025): links whose tag
// paths are alike form a group, groups are the arms of a sleeping bandit, and a page that a group has led to
// rewards it. The next page is drawn from the group of the largest upper bound
//
//	mean reward + √(2 ln t / n)        t pages, n of them of the group; a group without a page comes first
//
// among those with an unvisited page. A page is of the group of the first link to it. A path is the bag of
// the pairs of elements that follow each other on it (schemas.Link.tag_path); it is of the group whose sum of
// paths it has the largest cosine to, if that is 0.75 or more.
//
// # Decisions
//
// 2026-11-21: the paper rewards new links to files whose type their URLs tell; here the reward is R(v) of the
// page, in [0,1], for which the bound is that of UCB1 (Auer, Cesa-Bianchi & Fischer 2002).
//
// 2026-11-22: the frontier orders URLs and asks nobody which is next. So a page that is drawn scores 1, and
// all others 0, until it is visited; then the next is drawn. Where requests overlap as many are drawn as
// there may be in flight. Before all of them have answered the bandit knows less than one that fetches a page
// at a time.
//
// 2026-11-22: a page that is drawn may not be fetched: its host waits, or other policies of a mixture choose.
// After ten verdicts on other pages the one drawn first is given up for another, until no page waits that was
// not. It is drawn in vain at most then, and a mixture does not use up the pages of the best group.
package tagbandit
