package deadletter

// Command is the commands below "forager dead".
type Command struct {
	List   deadList   `cmd:"" help:"Which records no stage could handle."`
	Show   deadShow   `cmd:"" help:"A dead letter with its record."`
	Replay deadReplay `cmd:"" help:"Try the requests of dead letters again."`
	Drop   deadDrop   `cmd:"" help:"Remove dead letters from the list."`
}
