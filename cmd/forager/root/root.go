package root

import (
	"context"
	"io"

	"github.com/alecthomas/kong"

	"forager/cmd/forager/crawl"
	"forager/cmd/forager/critic"
	"forager/cmd/forager/data"
	"forager/cmd/forager/deadletter"
	"forager/cmd/forager/demo"
	"forager/cmd/forager/deploy"
	"forager/cmd/forager/guide"
	"forager/cmd/forager/model"
	"forager/cmd/forager/report"
	"forager/cmd/internal/cli"
)

// Commands is the whole command line.
type Commands struct {
	cli.Globals

	Doctor     deploy.DoctorCommand    `cmd:"" help:"Check the pipeline file and everything it points to."`
	Size       deploy.SizeCommand      `cmd:"" help:"Compute machines, partitions and bytes for a number of pages a month."`
	Conf       deploy.ConfigCommand    `cmd:"" name:"config" help:"Print the configuration in effect, with an explanation of each setting (--all)."`
	Setup      deploy.SetupCommand     `cmd:"" help:"Create topics, bucket and tables; report what differs."`
	Reload     deploy.ReloadCommand    `cmd:"" help:"Load ClickHouse's tables again from the topics."`
	Up         deploy.UpCommand        `cmd:"" help:"Start the embedded parts that are needed and all stages, as processes."`
	Supervise  deploy.SuperviseCommand `cmd:"" hidden:""`
	Down       deploy.DownCommand      `cmd:"" help:"Stop what up started."`
	Critic     critic.Command          `cmd:"" help:"Train, publish, correct and explain critics."`
	Guide      guide.Command           `cmd:"" help:"Train and publish guides: rankers that look at pages."`
	Localgraph guide.LocalgraphCommand `cmd:"" help:"Show the graph of links around known targets."`
	Crawl      crawl.Command           `cmd:"" help:"Start, watch, steer, stop and delete crawls."`
	Models     model.Command           `cmd:"" help:"List and inspect models; roll a crawl back to an older one."`
	Dead       deadletter.Command      `cmd:"" help:"List, show, replay and drop records that no stage could handle."`
	Report     report.Command          `cmd:"" help:"Harvest and loss of a crawl, what it learned, how it treated hosts."`
	Export     data.ExportCommand      `cmd:"" help:"Write the pages of a crawl as WARC, JSON Lines or URLs."`
	Rejudge    data.RejudgeCommand     `cmd:"" help:"Judge the stored pages of a crawl again, with another critic."`
	Query      data.QueryCommand       `cmd:"" help:"Query pages, links and models in ClickHouse."`
	Retrain    model.RetrainCommand    `cmd:"" help:"Train a crawl's apprentice again from the topics or the archive."`
	ServeWeb   data.ServeWebCommand    `cmd:"" help:"Serve a WARC file as a web, behind an HTTP proxy."`
	Verify     data.VerifyCommand      `cmd:"" help:"Audit a crawl from outside the stages."`
	Why        data.WhyCommand         `cmd:"" help:"Explain the state of a URL in a crawl, or what would be done with it."`
	Demo       demo.Command            `cmd:"" help:"Crawl a web twice, soft focus and apprentice, and report both."`
	Completion completionCommand       `cmd:"" help:"Completion of commands and names for a shell."`
	Complete   completeCommand         `cmd:"" hidden:""`

	Experiment       movedCommand `cmd:"" name:"experiment" passthrough:"" hidden:""`
	Bench            movedCommand `cmd:"" name:"bench" passthrough:"" hidden:""`
	Soak             movedCommand `cmd:"" name:"soak" passthrough:"" hidden:""`
	ServeSimweb      movedCommand `cmd:"" name:"serve-simweb" passthrough:"" hidden:""`
	ExperimentSimweb movedCommand `cmd:"" name:"experiment-simweb" passthrough:"" hidden:""`
	BenchFloor       movedCommand `cmd:"" name:"bench-floor" passthrough:"" hidden:""`
}

// movedCommand is the former name of a command of forager-lab.
type movedCommand struct {
	Args []string `arg:"" optional:""`
}

func (c *movedCommand) Run(k *kong.Context) error {
	return cli.Usagef("%[1]s is a command of forager-lab: forager-lab %[1]s", k.Selected().Name)
}

// Run is the whole command, without the handling of the process.
func Run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	var c Commands
	return cli.Program{Name: "forager", Description: "A focused crawler that learns which links lead to pages on the topic.", Commands: &c, Globals: &c.Globals}.Run(ctx, args, stdout, stderr)
}
