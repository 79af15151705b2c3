// Package critic has the commands below "forager critic": they train, publish, correct and explain
// critics.
package critic
