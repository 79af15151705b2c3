package main

import (
	"forager/cmd/forager-lab/lab"
	"forager/cmd/internal/cli"
)

func main() { cli.Execute("forager-lab", lab.Run) }
