package model

// Command is the commands below "forager models".
type Command struct {
	List modelsList `cmd:"" help:"Which models there are."`
	Show modelsShow `cmd:"" help:"What a model is and has learned."`
	Use  modelsUse  `cmd:"" help:"Let a crawl rank by one of its models, an older one perhaps."`
}
