// Package oracle is rankers of experiments that read what no crawler can: a ladder of ceilings, by what each reads. All fetch the seeds
// first, and pages without a score of their own in the order in which they were found; none reads R.
//
//	Web → Labels | Hubs | Paths → Oracle: entry → score, page fetched → URLs to be scored again
package oracle
