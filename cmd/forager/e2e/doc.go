// Package e2e tests the commands with the whole pipeline: the embedded parts and the stages are the real
// processes, from build/bin. There is no code but tests, so that no package of commands depends on it.
package e2e
