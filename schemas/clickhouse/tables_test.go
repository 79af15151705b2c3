package clickhouse

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
)

// TestTablesOfVersion1: there is each column of testdata/001_tables.sql, as databases of the first version have it, in its order; columns may
// have come since, and comments have been reworded.
func TestTablesOfVersion1(t *testing.T) {
	b, err := os.ReadFile("testdata/001_tables.sql")
	if err != nil {
		t.Fatal(err)
	}
	now := make(map[string][]string)
	for _, table := range Tables() {
		now[table.Name] = lines(table.Create)
	}
	first := statements(string(b))
	if len(first) != 12 {
		t.Fatalf("%d statements", len(first))
	}
	for _, create := range first {
		name := strings.Fields(create)[5]
		have := now[name]
		for _, line := range lines(create) {
			for len(have) > 0 && have[0] != line {
				have = have[1:]
			}
			if len(have) == 0 {
				t.Errorf("%s: %s is missing, or at another place:\n%s", name, line, strings.Join(now[name], "\n"))
				break
			}
			have = have[1:]
		}
	}
}

var comment = regexp.MustCompile(` ?COMMENT '[^']*'`)

// lines returns those of a statement without comments, without blanks that mean nothing, and without commas at the ends.
func lines(statement string) (all []string) {
	for line := range strings.Lines(statement) {
		all = append(all, strings.TrimSuffix(strings.Join(strings.Fields(comment.ReplaceAllString(line, "")), " "), ","))
	}
	return all
}

func TestViewsNameTheColumns(t *testing.T) {
	requests := Views().Statements[0]
	for _, name := range columnsOf("requests_rows", "id", "crawl", "precedence") {
		if !strings.Contains(requests, fmt.Sprintf("argMax(%s, p) AS %s", name, name)) {
			t.Errorf("the view requests lacks %s:\n%s", name, requests)
		}
	}
}
