// Package memory is an object store for tests that need one that answers, and no server: objects
// in a map, by the rules of package objects.
package memory
