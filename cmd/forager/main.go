package main

import (
	"forager/cmd/forager/root"
	"forager/cmd/internal/cli"
)

func main() { cli.Execute("forager", root.Run) }
