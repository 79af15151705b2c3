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
// Those of the crawl file (crawlfile.Rankers), and what only an experiment can have: variants, which docs/experiments.md describes.
package experiment
