package guide

import "forager/cmd/internal/cli"

// Command is the commands below "forager guide".
type Command struct {
	Train     guideTrain     `cmd:"" help:"Train a guide on the local graph around known targets."`
	Rebuild   guideRebuild   `cmd:"" help:"Train a context graph on the pages of a running crawl, and switch the crawl to it."`
	Publish   guidePublish   `cmd:"" help:"Publish the file of a guide."`
	Predicate guidePredicate `cmd:"" help:"Publish a guide that is an HTTP service of your own."`
	Backlinks Backlinks      `cmd:"" help:"Publish a source of backlinks: a file of edges, or an HTTP service."`

	Query formerQuery `cmd:"" passthrough:"" hidden:""`
}

// formerQuery is a command of earlier versions.
type formerQuery struct {
	Args []string `arg:"" optional:""`
}

func (c *formerQuery) Run() error {
	return cli.Usagef("fish-search and shark-search are comparators of the laboratory: run them by forager-lab experiment")
}
