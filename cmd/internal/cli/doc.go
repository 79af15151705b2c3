// Package cli is what the commands of forager and forager-lab share: a Session with the streams for
// output, the console with its line of progress, exit codes and errors of usage, and Topics, the
// compacted topics (crawl.control, crawl.status, model.published) as they are now.
//
// A crawl is changed by records only. Each change of a control record (operate.Topics.Update) has the next
// revision and is read back, so that of two operators the second gets an error. Commands that wait
// return when crawl.status shows the effect. See docs/decisions/0500.
package cli
