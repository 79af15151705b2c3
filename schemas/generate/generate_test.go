package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"forager/schemas/column"
)

// TestAFieldIsAddedInOnePlace adds fields to copies of the .proto files and builds what uses the rows, with the files generated from
// the copies in place of those in the tree.
func TestAFieldIsAddedInOnePlace(t *testing.T) {
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("..")); err != nil {
		t.Fatal(err)
	}
	for file, changes := range map[string][2]string{
		"page_fetched.proto": {"  uint32 duration_ms = 18;\n", `    column: {name: "duration_ms"}` + "\n"},
		"leap_settled.proto": {"  bool forward = 19;\n", `    column: {name: "boundary"}` + "\n"},
	} {
		path := filepath.Join(dir, file)
		b, err := os.ReadFile(path)
		if err != nil || !strings.Contains(string(b), changes[0]) || !strings.Contains(string(b), changes[1]) {
			t.Fatalf("%s has no %q (%v)", file, changes, err)
		}
		s := strings.Replace(string(b), changes[0], changes[0]+"  repeated int64 added_ms = 999;\n", 1)
		s = strings.Replace(s, changes[1], changes[1]+`    column: {name: "added_ms", comment: "x"}`+"\n", 1)
		if err := os.WriteFile(path, []byte(s), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	files, err := compile(dir, []string{"page_fetched.proto"})
	if err != nil {
		t.Fatal(err)
	}
	tables, err := column.Tables(files)
	if err != nil {
		t.Fatal(err)
	}
	if last := tables[0].Columns[len(tables[0].Columns)-1]; last.Name != "added_ms" || last.Type != "Array(Int64)" {
		t.Errorf("the last column is %s %s", last.Name, last.Type)
	}
	all, err := written(dir)
	if err != nil {
		t.Fatal(err)
	}
	replaced := make(map[string]string)
	for name, content := range all {
		path, err := filepath.Abs(filepath.Join("..", name))
		if err != nil {
			t.Fatal(err)
		}
		replaced[path] = filepath.Join(t.TempDir(), "x.go")
		if err := os.WriteFile(replaced[path], content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for path, want := range map[string]string{
		"../internal/platform/analytics/rows.pb.go": `byRow("added_ms", `,
		"../internal/platform/archive/rows.pb.go":   "`parquet:\"added_ms,list\"`",
	} {
		if !strings.Contains(string(all[path]), want) {
			t.Errorf("%s lacks %s", path, want)
		}
	}
	overlay, err := json.Marshal(map[string]any{"Replace": replaced})
	if err != nil {
		t.Fatal(err)
	}
	list := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(list, overlay, 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("go", "build", "-overlay", list, "forager/internal/platform/analytics", "forager/internal/platform/archive").CombinedOutput()
	if err != nil {
		t.Errorf("build: %v\n%s", err, out)
	}
}
