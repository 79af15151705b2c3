package experiment

// Command is the commands below "forager-lab experiment".
type Command struct {
	Run    experimentRun    `cmd:"" help:"Make the runs of a plan file, going on where they were stopped, and report on them."`
	Bench  experimentBench  `cmd:"" default:"withargs" help:"Compare rankers on the tasks of files, also rankers of your own over HTTP, and print tables."`
	Papers experimentPapers `cmd:"" help:"Repeat the measurements of the papers, and write their results next to those of this program."`
	Report experimentReport `cmd:"" help:"Print the report of a study, or write it as a page."`
}
