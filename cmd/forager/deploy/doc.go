// Package deploy has the commands that check and set up a deployment and start and stop its programs on
// this machine. Programs that up started, and their supervisor, are recorded below DATA/run.
package deploy
