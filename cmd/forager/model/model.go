package model

// Command is the commands below "forager models".
type Command struct {
	List modelsList `cmd:"" help:"Which models there are."`
	Show modelsShow `cmd:"" help:"What a model is and has learned."`
	Use  modelsUse  `cmd:"" help:"Pin a crawl to one of its models, for example an older one."`
}
