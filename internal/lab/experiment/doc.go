// Package experiment crawls frozen webs in one process, without a broker, with the same pure
// rooms as the pipeline: dom, critic, linkfeature, apprentice, rank and frontier. The same
// task, draw and ranker give the same pages in the same order, on every machine and however
// many crawls run side by side.
//
// # What a task is
//
// A frozen web (a WARC file), the pages of it that may be fetched, the examples that train the
// critic, a focus class, seeds by draw, a budget in pages and the target pages, which carry
// human labels. Links out of the web are out of scope and are not fetched; redirects are
// followed and cost nothing. Pages on which the critic was trained cost budget but are not
// counted: not as targets and not in the harvest.
//
// # Rankers
//
// Those of the crawl file (crawlfile.Rankers), and what only an experiment can have:
//
//   - apprentice-topics: apprentice with the top classes of a page as features of its links
//   - apprentice-cocited: apprentice with R of the pages behind the links beside a link as features of it (2002 §3.8)
//   - apprentice-taught: apprentice-gated with a model trained on a finished soft-focus crawl
//     of the same task and draw (protocol P of 2002 §3.5; that crawl's pages are not charged)
//   - apprentice-recall: the same, held to the pages of that first crawl (2002 §3.6)
//   - apprentice-transferred: apprentice-gated with a model trained on the links among the pages of the web that are
//     out of scope (protocol T: of webkb-uni, the other universities)
//   - context-graph: the layer of u, then its likelihood (2000); the layers are learnt from the pages that train the critic,
//     and links are ordered one by one (expand: link)
//   - context-graph-pages: the same with pages in the order, each expanded wholly (2000 §3.3)
//   - context-graph-backlinks, -half, -fifth: context-graph, and a search engine that has all, half or a fifth of the
//     pages is asked for at most 20 parents of each target (2000 §3.3, Fig. 6). A query is charged as a request, and there are
//     Variant.Ration of them at most; compare by requests (Measures.RequestAUC)
//   - context-graph-rebuilt: context-graph, and every quarter of the budget a new guide of those lessons and the pages that the crawl
//     has fetched; those of which the critic says R ≥ 1/2 are targets (2000 §3.3)
//   - context-graph-bootstrapped: unfocused until ten such targets are met, then a context graph of the crawl's own pages and
//     links alone (2000 §5)
//   - focused-2000: the likelihood of u in layer 0, that paper's own comparator
//   - best-first-cosine: the largest cosine of u to a target among those pages (2008 §4.2)
//   - memm-marginal, memm-viterbi, memm-states: by a MEMM along the path to the link (2008); memm-marginal-words with words of
//     the page alone observed, memm-marginal-rest with everything else (its Fig. 4)
//   - fish-search, shark-search: crawlers that take a query of words, the 20 that speak most for the focus in the
//     critic (package shark)
//   - rennie-mccallum: the reward behind a link by the words around it, learnt from the pages that train the critic (Rennie &
//     McCallum 1999; package qvalue)
//   - oracle-labels knows the labels of the frontier: targets first, else soft focus
//   - oracle knows the whole web: it goes, again and again, the shortest path to the nearest
//     unvisited target (ties: first discovered; none reachable: soft focus)
//
// # Decisions
//
// 2026-11-21: a page of a task costs its budget when it is delivered (200, HTML), as in the
// pipeline; the denominators of harvest by label leave out pages that are not counted.
//
// 2026-11-21: every crawl begins with its seeds, those of the oracles too: they are part of
// what is compared, and an oracle that leaves them out is above 1 for a reason that no ranker
// could have.
//
// 2026-11-21: a redirect is followed when it is met, as in the pipeline: before that nobody
// knows that two links lead to one page. Only the oracles look through redirects.
//
// 2026-11-21: what stands at a URL is decided by package webarchive, and of two labels of one
// canonical URL the first counts, as there the first answer does.
//
// 2026-11-22: new graphs are built around pages that the critic judges on topic, not around those that the
// old guide places in layer 0 (2000 §3.3): a guide that learns from what it said itself drifts, and one that
// is bootstrapped has said nothing yet. A new guide is a new version, as in the pipeline: links of pages
// judged before it keep the scores of the old version (package rank), or, behind a bootstrap, lie behind all
// others by R of their pages until a page judged later links to the same URL.
//
// 2026-11-22: context-graph-bootstrapped is a crawl with a renewal as the pipeline has it (package renewal).
// It is worse than breadth first, and stays. On webkb-uni (2 draws, 12 tasks, mean AUC; breadth first .240,
// it .163) the first guide comes behind 79 of some 260 pages, with 10 targets of which 1.9 are targets by
// label, and layers of 12, 29, 22 and 24 pages; of the pages to come 47 % are in no layer. Each of these was
// changed by itself: targets by label give .169, by calibrated R .152, 30 targets .208 (it begins when most
// of the budget is spent), guides anew every 200 pages .164. What was found before the guide lies last, as it
// has not been asked about it: where that stands between layers and "other", as seeds do in the paper's
// queues, it is .180, with targets by label .201, and anew every 40 pages then .200. So graphs of a few pages
// that a critic takes for targets are the smaller part of it, and the larger one that a few hundred pages are
// no crawl to learn from and then go on with.
//
// 2026-11-22: what is kept of a parsed web (Cache) counts for one program only, by the digest of the executable: a
// number of the parser's version would have to be raised by whoever changes a comma in dom, answer or
// weburl, and who forgets it compares rankers on pages of yesterday.
package experiment
