// Package experiment crawls frozen webs in one process, without a broker, with the same packages as the pipeline: dom,
// judging, linkfeature, apprentice, policy and frontier. The same task, draw and ranker give the same pages in the same order,
// on every machine and however many crawls run side by side.
//
//	task file, webs → Prepare → Environment of each task → Bench.Run → Results (→ package tables)
//
// # Tasks
//
// A task (package taskfile) is a frozen web (a WARC file), the pages of it that may be fetched, the examples that train the critic, a focus
// class, seeds by draw, a budget in pages, and the target pages, which have human labels. Links out of the web are out of
// scope. What is charged and what is counted: decision 0440.
//
// A Computed web is made page by page while it is crawled (synthetic webs). A parsed web can be kept in a Cache, whose files
// are valid for one program (decision 0441).
//
// # Rankers
//
// Those of the crawl file (crawlfile.Rankers), and what only an experiment can have:
//
//   - apprentice-topics: apprentice with the top classes of a page as features of its links
//   - apprentice-cocited: apprentice with co-citation features (2002, §3.8)
//   - apprentice-taught: apprentice-gated with a model trained on a finished soft-focus crawl of the same task and draw
//     (protocol P of 2002, §3.5; that crawl's pages are not charged)
//   - apprentice-recall: the same, restricted to the pages of that first crawl (2002, §3.6)
//   - apprentice-transferred: apprentice-gated with a model trained on the links among the pages of the web that are out of
//     scope (protocol T; of webkb-uni, the other universities)
//   - context-graph: the layer of u, then its likelihood (2000); trained on the pages that train the critic; links are
//     ordered one by one (expand: link)
//   - context-graph-pages: the same with pages in the order, each expanded wholly (2000, §3.3)
//   - context-graph-backlinks, -half, -fifth: context-graph with a simulated search engine that has all, half or a fifth of
//     the pages; it is queried for at most 20 parents of each target (2000, §3.3, Fig. 6). A query is charged as a request,
//     at most Variant.Ration of the budget; compare by requests (Measures.RequestAUC)
//   - context-graph-rebuilt: context-graph, retrained every quarter of the budget on the pages that the crawl has fetched; targets are
//     those with R ≥ 1/2 (2000, §3.3)
//   - context-graph-bootstrapped: unfocused until ten such targets are found, then a context graph of the crawl's own pages
//     (2000, §5; package contextretrain)
//   - focused-2000, focused-2000-pages: the likelihood of u in layer 0, that paper's own comparator
//   - best-first-cosine: the largest cosine of u to a target among the training pages (2008, §4.2)
//   - memm-marginal, memm-viterbi, memm-states: a MEMM along the path to the link (2008); memm-marginal-words observes words
//     of the page alone, memm-marginal-rest everything else (its Fig. 4)
//   - fish-search, shark-search: queries of words, the 20 with the largest weights for the focus in the critic (package sharksearch)
//   - rennie-mccallum: the value of a link by the words around it (package qlearning), trained on the pages that train the critic
//   - oracle-labels: uses the labels of the frontier; targets first
//   - oracle-hubs: uses the number of unvisited targets among the links of each fetched page; the page with the largest share of them first
//   - oracle: uses the whole web; the shortest path to the nearest unvisited target
//
// Oracles take other pages in the order in which they were found.
package experiment
