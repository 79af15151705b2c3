package taskfile

import (
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestTaskFilesAreDocumented: the example of docs/experiments.md is a task file, and its tables have the fields that a task file has.
func TestTaskFilesAreDocumented(t *testing.T) {
	b, err := os.ReadFile("../../../docs/experiments.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, ok := strings.Cut(string(b), "```json\n")
	example, _, closed := strings.Cut(rest, "```")
	if !ok || !closed {
		t.Fatal("there is no example")
	}
	file, err := read(strings.NewReader(example))
	if err != nil {
		t.Fatal(err)
	}
	task := file.Tasks[0]
	set := file.Critics[task.Critic]
	if task.Pages.LabelSuffix == "" || set.NotCounted.LabelWithoutSuffix == "" || len(set.Files) == 0 || len(task.Seeds) != 2 {
		t.Errorf("the example: %+v, %+v", task, set)
	}
	for title, of := range map[string]reflect.Type{"| field of a critic |": reflect.TypeFor[CriticSet](), "| field of a task |": reflect.TypeFor[Task]()} {
		_, table, ok := strings.Cut(string(b), title)
		if !ok {
			t.Fatalf("no table %q", title)
		}
		table, _, _ = strings.Cut(table, "\n\n")
		var documented, known []string
		for _, row := range regexp.MustCompile("(?m)^\\| (`[^|]+) \\|").FindAllStringSubmatch(table, -1) {
			for _, name := range strings.Split(row[1], ", ") {
				documented = append(documented, strings.Trim(name, "`"))
			}
		}
		for i := range of.NumField() {
			known = append(known, of.Field(i).Tag.Get("json"))
		}
		slices.Sort(documented)
		slices.Sort(known)
		if !slices.Equal(documented, known) {
			t.Errorf("%s documented %v, known %v", title, documented, known)
		}
	}
}
