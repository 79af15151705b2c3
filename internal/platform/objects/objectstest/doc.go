// Package objectstest runs an S3 server for tests: the gateway that the embedded parts use. The server runs in a process
// of its own, because it changes the working directory, cannot run twice in one process, and tests kill and restart it.
package objectstest
