package report

// Command is the commands below "forager report".
type Command struct {
	Show  ShowCommand  `cmd:"" default:"withargs" help:"Harvest and loss of a crawl, what it learned, where its data is."`
	Hosts HostsCommand `cmd:"" help:"How a crawl has treated its hosts: requests, pauses, refusals, waiting."`
}
