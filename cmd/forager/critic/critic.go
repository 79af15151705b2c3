package critic

// Command is the commands below "forager critic".
type Command struct {
	Import    criticImport    `cmd:"" help:"Convert examples of any source to one file."`
	Taxonomy  criticTaxonomy  `cmd:"" help:"Show the tree of topics and the classes made of it, and pages that are alike."`
	Propose   criticPropose   `cmd:"" help:"Find the topics of a critic that fit a few examples best."`
	Train     criticTrain     `cmd:"" help:"Train a critic on example pages and publish it."`
	Evaluate  criticEvaluate  `cmd:"" help:"Measure by cross-validation how good a critic of these examples is."`
	Rules     criticRules     `cmd:"" help:"Publish a critic of keyword and regular-expression rules."`
	Predicate criticPredicate `cmd:"" help:"Publish a critic that asks an HTTP service."`
	Expand    criticExpand    `cmd:"" help:"Propose pages that are like the examples, to be confirmed one by one."`
	Mark      criticMark      `cmd:"" help:"Mark fetched pages as on topic or off topic."`
	Retrain   criticRetrain   `cmd:"" help:"Train a critic again, on marked pages and pages of a crawl."`
	Explain   criticExplain   `cmd:"" help:"Why a page gets its score from a critic."`
}
