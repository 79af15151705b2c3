// Package judging makes the judgement of one page: its relevance by the crawl's critic, and what guides, sources of backlinks
// and shadow critics add. Stage critic-score and the experiments run it.
//
//	control record, parsed page, Models → Judge.Page → schemas.Judgement
//
//	Critic.Judge   relevance, topics, and where the crawl reads them posteriors and the texts of links (Fields)
//	Judge.Guide    the words of the page for guides that are retrained, the scores of its links by guides, its backlinks
//	Judge.Page     both, the fallback of a critic that is a service, and the shadows
//
// Experiments call the first two, because a judgement by the critic is shared by all crawls of a task.
//
// The caller opens, caches and waits for models behind the interface Models, and decides in Judge.Failed what a failing
// model means: critic-score counts the failure and records it in the judgement, an experiment ends. A panic of a guide that
// is called in another goroutine is returned as an error.
package judging
