// Package rank says where a URL belongs in the frontier: what a ranker thinks of one link
// (u,v), what a gate on u does to that link, and how the several links that point at one v
// combine into v's place.
//
// A policy (schemas.Policy) = ranker + gate + combination + the posterior it reads. Places are
// ordered by tier ↑, failed tries ↑, score ↓, first discovery ↑; tries and discovery are the
// frontier's to know.
//
// A mixture (Mixture) follows several policies over one frontier: before each dispatch it draws, by
// Thompson sampling, the one whose best URL is fetched.
//
// Everything is a left fold over the links of v in the order of their discovery (Policy.Add),
// so a place that grows link by link is bit for bit the place computed from all links at once.
//
// # Decisions
//
// 2026-11-21: links that a gate defers form a tier of their own per link, not per URL: a URL
// lies in the best tier of its links, and only links of that tier combine into its score. So
// drop and defer see the same scores for what passes the gate, and a URL that moves up forgets
// what links of the lower tier promised.
//
// 2026-11-21: a seed is placed by its seed link alone (tier 0; score 1, which no link exceeds),
// whatever else points at it: seeds are always fetched (1999), and combining would push a seed
// down for being linked to. Under unfocused it scores 0 like everything else.
//
// 2026-11-21: unfocused, random and the rankers of experiments combine by maximum (or stay
// frozen, or count): their scores are no probabilities, so log-odds and noisy-or mean nothing there.
//
// 2026-11-21: a guide's scores are any finite numbers, so under it seeds have a tier of their own before
// all links, and links of which it said nothing one behind them, in the order of R(u): a guide that
// fails costs its own order and no more. A URL leaves that tier with the first link that has guidance, and what
// links without promised is forgotten, as with those that a gate deferred.
//
// 2026-11-22: what a version of a guide said of a link stands under another version of the same name until
// that one has been asked: a guide that is trained anew under way would else begin with nothing but the pages
// to come. Of webkb-uni's crawls by a context graph that is made anew three times the mean area under targets
// is .265 so, and .211 where all is forgotten (.263 with the first graph kept; 8 crawls). Who wants an order
// of another kind publishes it under another name.
//
// 2026-11-22: a policy of Expand_EXPAND_PAGE orders pages (2000 §3.3): once one link of a page was chosen the
// page's other links form a tier before all. Seeds are placed at score 0, as guides with layers score what is
// of none below it; so the second of several seeds waits until no page of a layer is left, as in the paper,
// unless a link to it is found that scores more.
//
// 2026-11-21: the mean of log-odds goes back through the logistic function, so that every
// combined score of the built-in rankers lies in [0,1]. So does a count n, as n/(n + 1).
package rank
