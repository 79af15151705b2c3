// Package root is the command line of forager, parsed by kong: each field of Commands is a command or
// a group of commands, and a type with a Run method implements one. Run receives a cli.Session.
package root
