// Package guide has the commands below "forager guide", and localgraph: they train and publish guides
// and show the graph of links around known targets.
package guide
