package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
)

func main() {
	commands := map[string]func(args []string) error{
		"archive":    dumpArchive,
		"bayes":      dumpBayes,
		"clickhouse": queryFiles,
		"cosine":     dumpCosine,
		"critics":    dumpCritics,
		"distill":    dumpDistill,
		"leaves":     leaves,
		"positive":   dumpPositive,
		"resolve":    resolve,
		"robots":     dumpRobots,
		"segments":   segments,
		"speed":      dumpSpeed,
	}
	names := strings.Join(slices.Sorted(maps.Keys(commands)), ", ")
	if len(os.Args) < 2 || commands[os.Args[1]] == nil {
		fmt.Fprintf(os.Stderr, "usage: dump COMMAND [ARGUMENT …]\ncommands: %s\n", names)
		os.Exit(2)
	}
	if err := commands[os.Args[1]](os.Args[2:]); err != nil {
		fmt.Fprintf(os.Stderr, "dump %s: %v\n", os.Args[1], err)
		os.Exit(1)
	}
}

// writeJSON writes the result of a command.
func writeJSON(what any) error {
	w := bufio.NewWriter(os.Stdout)
	if err := json.NewEncoder(w).Encode(what); err != nil {
		return err
	}
	return w.Flush()
}
