// Package memory is an object store in memory for tests that need no server. It follows the rules of package objects.
package memory
