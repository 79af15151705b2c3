// Command forager is the operator's command. It checks and sets up a deployment, starts and
// stops the embedded parts and the stages on this machine, trains and publishes critics and
// guides, starts and controls crawls, reports on them, exports and verifies their pages, and
// runs experiments on stored and synthetic webs.
//
// Type commands (main.go) is the whole command line, parsed by kong: each field is a command or
// a group of commands, and a type with a Run method implements one. Run receives a session: the
// context, the streams for output, and access to the pipeline file. The main types that commands
// share are:
//
//   - books: the compacted topics (crawl.control, crawl.status, model.published), read to their
//     end and followed; openBooks and openCrawl return one
//   - stack and processes: the programs that up started and their supervisor, recorded below DATA/run
//   - console: standard output and standard error, with progress and escaped control characters
//   - sourceFlags, learnFlags: flags that name examples and how a critic is trained on them
//
// # Output
//
// Every command prints text, or one JSON document with --json. Progress goes to standard error,
// in place on a terminal and as lines elsewhere. Exit codes: 0 success, 1 failure (the last line
// names the cause and the remedy), 2 wrong usage.
//
// # How commands change a crawl
//
// A crawl is changed by records only: control records (revise.go), and virtual pages in
// link.found for seeds and for failed requests that are tried again (seeds.go, resume.go,
// dead.go). Each change of a control record has the next revision and is read back, so that of
// two operators the second gets an error. Commands that wait return when crawl.status shows the
// effect. See docs/decisions/0500; 0501 for crawl delete, 0502 for lists of URLs that serve as
// examples, 0503 for the background of critics trained on likes.
//
// # Files
//
// up.go, processes.go, supervise.go: programs on this machine. crawl.go, states.go, resume.go,
// ranker.go, remark.go, like.go, delete.go: crawls. critic*.go, mark.go, ontopic.go: critics.
// guide*.go, localgraph.go: guides. models.go, retrain.go, pin.go: models. report*.go, query.go,
// export.go, verify.go: results. dead.go, doctor.go, parked.go, outages.go, unreadable.go:
// faults. experiment*.go, study.go, papers.go: experiments in this process. demo.go, bench*.go,
// soak*.go: runs of the whole pipeline, with measurements.
package main
