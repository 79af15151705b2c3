// Package objectstest runs an S3 server for tests: the gateway that the embedded parts serve.
// It runs in a process of its own, because it changes the working folder, cannot run twice in
// one process, and is to be killed and started again.
package objectstest
