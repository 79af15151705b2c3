// Command lint checks packages with staticcheck and errcheck, as a tool of go vet: the go command then runs it
// package by package, with the types that the compiler wrote, and caches the packages without findings. The
// module infra/tools keeps what linters and gotestsum need out of the project's. The rules of revive are in
// revive.toml.
package main
