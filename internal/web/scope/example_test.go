package scope_test

import (
	"fmt"
	"log"

	"forager/internal/web/scope"
	"forager/schemas"
)

func ExampleScope_Check() {
	s, err := scope.New(&schemas.Scope{Hosts: []string{"example.org"}, MaxDepth: 3}, nil)
	if err != nil {
		log.Fatal(err)
	}
	for _, link := range []struct {
		url   string
		depth uint32
	}{
		{"http://www.example.org/", 1},
		{"http://example.com/", 1},
		{"http://example.org/a", 4},
		{"http://example.org/a/a/a/a/a/a/a/a", 2},
	} {
		fmt.Printf("%s %q\n", link.url, s.Check(link.url, link.depth))
	}
	// Output:
	// http://www.example.org/ ""
	// http://example.com/ "scope:hosts"
	// http://example.org/a "depth"
	// http://example.org/a/a/a/a/a/a/a/a "trap:repeats"
}
