package crawl

// Command is the commands below "forager crawl".
type Command struct {
	List   crawlList   `cmd:"" help:"List the crawls."`
	Start  crawlStart  `cmd:"" help:"Start the crawl that a crawl file describes."`
	Status crawlStatus `cmd:"" help:"Show the progress of crawls."`
	Watch  crawlWatch  `cmd:"" help:"Follow a crawl until it has finished."`
	Seeds  crawlSeeds  `cmd:"" help:"Give a crawl more seeds."`
	Pause  crawlPause  `cmd:"" help:"Pause a crawl; requests in flight end."`
	Resume crawlResume `cmd:"" help:"Continue a crawl that is paused or has finished."`
	Change crawlChange `cmd:"" help:"Change settings of a running crawl: exclude rules, budget, politeness and others."`
	Ranker Ranker      `cmd:"" help:"Change the ranker of a crawl."`
	Focus  crawlFocus  `cmd:"" help:"Mark topics of a running crawl good or bad, or change their weights."`
	Critic crawlCritic `cmd:"" help:"Change the critic of a running crawl, or add one for comparison."`
	Stop   crawlStop   `cmd:"" help:"Stop a crawl; requests that have begun end."`
	Delete crawlDelete `cmd:"" help:"Delete a finished crawl: its pages, rows, models and state."`
}
