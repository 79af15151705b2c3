// Command forager-lab has the experiments, benchmarks and synthetic webs that are not needed to operate
// crawls.
package main
