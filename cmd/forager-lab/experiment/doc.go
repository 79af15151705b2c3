// Package experiment has the commands that run crawls in this process, on stored and on synthetic webs:
// experiment, experiment-simweb and serve-simweb.
package experiment
