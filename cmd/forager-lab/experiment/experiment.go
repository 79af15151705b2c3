package experiment

// Command is the commands below "forager-lab experiment".
type Command struct {
	Compare experimentCompare `cmd:"" default:"withargs" help:"Compare rankers on the tasks of a file and print tables."`
	Run     experimentRun     `cmd:"" help:"Make the runs of a plan file, going on where they were stopped, and report on them."`
	Papers  experimentPapers  `cmd:"" help:"Repeat the measurements of the papers, and write their results next to those of this program."`
	Report  experimentReport  `cmd:"" help:"Print the report of a study, or write it as a page."`
}
