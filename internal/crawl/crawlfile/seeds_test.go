package crawlfile

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestSeedsOutsideTheScopeAreRefused: seeds that would never be fetched are problems of the file.
func TestSeedsOutsideTheScopeAreRefused(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "list"), []byte("http://a.example/x\nhttp://a.example/y\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct{ scope, seeds, expected string }{
		"host":     {"{hosts: [a.example]}", "[http://a.example/, http://b.example/]", "http://b.example/ is outside the scope (scope:hosts)"},
		"prefix":   {"{prefixes: [http://a.example/x/]}", "[http://a.example/x/1, http://a.example/y]", "http://a.example/y is outside the scope (scope:prefixes)"},
		"URL list": {"{url_list: list}", "[http://a.example/x, http://a.example/z]", "http://a.example/z is outside the scope (scope:url-list)"},
		"many":     {"{hosts: [a.example]}", "[" + strings.Repeat("http://b.example/%d, ", 12) + "http://a.example/]", "2 more are outside the scope"},
		"within":   {"{hosts: [a.example], url_list: list}", "[http://a.example/x, http://A.example/y]", ""},
		"no scope": {"{max_depth: 3}", "[http://a.example/x]", ""},
	} {
		for i := 0; strings.Contains(c.seeds, "%d"); i++ {
			c.seeds = strings.Replace(c.seeds, "%d", fmt.Sprint(i), 1)
		}
		path := filepath.Join(dir, "crawl.yaml")
		file := fmt.Sprintf("name: x\ncritic: c\nfocus: [A]\nseeds: %s\nscope: %s\nbudget: {pages: 10}\npoliteness: {contact: a@b.example}\n", c.seeds, c.scope)
		if err := os.WriteFile(path, []byte(file), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := Load(path)
		if c.expected == "" && err != nil || c.expected != "" && (err == nil || !strings.Contains(err.Error(), c.expected)) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
