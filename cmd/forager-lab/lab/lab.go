package lab

import (
	"context"
	"io"

	"forager/cmd/forager-lab/bench"
	"forager/cmd/forager-lab/demo"
	"forager/cmd/forager-lab/experiment"
	"forager/cmd/internal/cli"
)

// Commands is the whole command line of forager-lab.
type Commands struct {
	cli.Globals

	Experiment       experiment.Command            `cmd:"" help:"Crawl a frozen web in one process, with every ranker."`
	Bench            bench.Command                 `cmd:"" help:"Crawl webs at full speed; CPU, memory and latency of every process."`
	Demo             demo.Command                  `cmd:"" help:"Crawl a frozen web twice with every stage, soft focus and apprentice, and report both."`
	Soak             bench.SoakCommand             `cmd:"" help:"A long crawl of a synthetic web; rate, memory, open files and goroutines by tenths."`
	ServeSimweb      experiment.ServeSimwebCommand `cmd:"" name:"serve-simweb" help:"Serve synthetic webs, behind an HTTP proxy."`
	ExperimentSimweb experiment.SimwebCommand      `cmd:"" name:"experiment-simweb" help:"Compare rankers on synthetic webs, in this process."`
	BenchFloor       bench.FloorCommand            `cmd:"" hidden:"" help:"Fetch URLs and parse the pages, nothing else."`
}

// Run is the whole command, without the handling of the process.
func Run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	var c Commands
	return cli.Program{Name: "forager-lab", Description: "Experiments, benchmarks and synthetic webs for forager.", Commands: &c, Globals: &c.Globals}.Run(ctx, args, stdout, stderr)
}
