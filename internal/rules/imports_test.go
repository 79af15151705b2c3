package rules

import (
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// machinery are the packages that use brokers, stores and processes. All other packages below internal are
// pure: they import schemas and other pure packages only, so that the same code runs in a stage, in a test and
// in an experiment.
var machinery = []string{
	"forager/internal/audit", "forager/internal/export", "forager/internal/monitor", "forager/internal/operate", "forager/internal/stream",
	"forager/internal/platform/analytics", "forager/internal/platform/process", "forager/internal/platform/stagemain", "forager/internal/platform/disk",
	"forager/internal/platform/objects", "forager/internal/platform/pipeline", "forager/internal/platform/registry",
	"forager/internal/platform/samples", "forager/internal/platform/segment",
}

// clients are libraries, each with the packages that may import it.
var clients = map[string][]string{
	"github.com/segmentio/kafka-go":          {"forager/internal/stream/kafka", "forager/internal/stream/streamtest"},
	"github.com/pierrec/lz4":                 {"forager/internal/stream/kafka"},
	"github.com/minio/minio-go/v7":           {"forager/internal/platform/objects"},
	"github.com/ClickHouse/clickhouse-go/v2": {"forager/internal/platform/analytics"},
	"github.com/cockroachdb/pebble/v2":       {"forager/internal/stream"},
	"github.com/twmb/franz-go/pkg/kfake":     {"forager/infra/local", "forager/internal/stream/streamtest"},
	"github.com/versity/versitygw":           {"forager/infra/local", "forager/internal/platform/objects/objectstest"},
	"github.com/ebitengine/purego":           {"forager/infra/local"},
	"github.com/parquet-go/parquet-go":       {"forager/internal/platform/archive", "forager/internal/lab/study"},
	"golang.org/x/net/html":                  {"forager/internal/page/dom", "forager/cmd/forager-lab/bench"},
	"github.com/nlnwa/whatwg-url":            {"forager/internal/web/weburl"},
	"github.com/blevesearch/snowballstem":    {"forager/internal/page/text"},
	"github.com/danielgtaylor/huma/v2":       {"forager/internal/monitor/api"},
	"github.com/prometheus/client_golang":    {"forager/internal/platform/process", "forager/internal/platform/stagemain", "forager/internal/stream", "forager/stages"},
}

type pkg struct {
	ImportPath string
	Imports    []string
	Deps       []string
}

// packages lists the module's packages, without their tests.
func packages(t *testing.T) []pkg {
	t.Helper()
	cmd := exec.Command("go", "list", "-deps=false", "-json=ImportPath,Imports,Deps", "forager/...")
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	var all []pkg
	for d := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p pkg
		if err := d.Decode(&p); err == io.EOF {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
	if len(all) < 20 {
		t.Fatalf("go list has %d packages only", len(all))
	}
	return all
}

func under(path, folder string) bool { return path == folder || strings.HasPrefix(path, folder+"/") }

func TestPackagesThatComputeImportNoClients(t *testing.T) {
	pure := 0
	for _, p := range packages(t) {
		isMachinery := slices.ContainsFunc(machinery, func(m string) bool { return under(p.ImportPath, m) })
		if !under(p.ImportPath, "forager/internal") || isMachinery {
			continue
		}
		pure++
		for _, d := range p.Deps {
			if slices.ContainsFunc(machinery, func(m string) bool { return under(d, m) }) ||
				under(d, "forager/stages") || under(d, "forager/infra") || under(d, "forager/cmd") {
				t.Errorf("%s is pure and depends on %s", p.ImportPath, d)
			}
		}
	}
	if pure < 10 {
		t.Errorf("only %d pure packages seen", pure)
	}
}

func TestStagesImportSchemasAndInternalOnly(t *testing.T) {
	stages := 0
	for _, p := range packages(t) {
		if !under(p.ImportPath, "forager/stages") {
			continue
		}
		stages++
		for _, i := range p.Imports {
			if under(i, "forager") && !under(i, "forager/schemas") && !under(i, "forager/internal") {
				t.Errorf("%s imports %s", p.ImportPath, i)
			}
		}
	}
	if want, err := filepath.Glob("../../stages/*/main.go"); err != nil || stages < len(want) || len(want) < 7 {
		t.Errorf("%d packages seen for %d stages (%v)", stages, len(want), err)
	}
}

func TestInternalImportsNeitherStagesNorInfra(t *testing.T) {
	for _, p := range packages(t) {
		if !under(p.ImportPath, "forager/internal") && !under(p.ImportPath, "forager/schemas") {
			continue
		}
		for _, i := range p.Imports {
			if under(i, "forager/stages") || under(i, "forager/infra") || under(i, "forager/cmd") {
				t.Errorf("%s imports %s", p.ImportPath, i)
			}
		}
	}
}

// TestOnlyTheLaboratoryImportsIt: no package of the product imports one of the laboratory; their tests may. The demo crawls a synthetic web.
func TestOnlyTheLaboratoryImportsIt(t *testing.T) {
	laboratory := func(path string) bool { return isBelowAny(strings.TrimPrefix(path, "forager/"), laboratory) }
	inside := 0
	for _, p := range packages(t) {
		for _, i := range p.Imports {
			switch {
			case !laboratory(i):
			case laboratory(p.ImportPath):
				inside++
			case p.ImportPath == "forager/cmd/forager/demo" && i == "forager/infra/simweb":
			default:
				t.Errorf("%s imports %s", p.ImportPath, i)
			}
		}
	}
	if inside == 0 {
		t.Error("no import within the laboratory was seen")
	}
}

func TestEveryClientLibraryHasOneOwner(t *testing.T) {
	used := make(map[string]bool)
	for _, p := range packages(t) {
		for _, i := range p.Imports {
			for library, owners := range clients {
				if !under(i, library) {
					continue
				}
				used[library] = true
				if !slices.ContainsFunc(owners, func(o string) bool { return under(p.ImportPath, o) }) {
					t.Errorf("%s imports %s, which belongs to %s", p.ImportPath, i, strings.Join(owners, ", "))
				}
			}
		}
	}
	for library := range clients {
		if !used[library] {
			t.Errorf("no package imports %s: remove the rule", library)
		}
	}
}

// TestTheModuleRequiresWhatItImports: every module that go.mod requires directly is imported, including tests
// and build tags, and no other one is.
func TestTheModuleRequiresWhatItImports(t *testing.T) {
	out, err := exec.Command("go", "mod", "edit", "-json").Output()
	if err != nil {
		t.Fatalf("go mod edit: %v", err)
	}
	var mod struct {
		Require []struct {
			Path     string
			Indirect bool
		}
	}
	if err := json.Unmarshal(out, &mod); err != nil {
		t.Fatal(err)
	}
	const each = `{{range .Imports}}{{println .}}{{end}}{{range .TestImports}}{{println .}}{{end}}{{range .XTestImports}}{{println .}}{{end}}`
	if out, err = exec.Command("go", "list", "-tags", "webs,kafka,browser", "-f", each, "forager/...").Output(); err != nil {
		t.Fatalf("go list: %v", err)
	}
	imported := make(map[string]bool) // modules
	for _, path := range strings.Fields(string(out)) {
		module := ""
		for _, r := range mod.Require {
			if under(path, r.Path) && len(r.Path) > len(module) {
				module = r.Path
			}
		}
		imported[module] = true
	}
	for _, r := range mod.Require {
		if imported[r.Path] == r.Indirect {
			t.Errorf("go.mod has indirect: %t of %s, imported: %t; run go mod tidy", r.Indirect, r.Path, imported[r.Path])
		}
	}
}

// TestFewStagesDecodeTheRequest: only these stages decode the fetch request (docs/decisions/0030).
func TestFewStagesDecodeTheRequest(t *testing.T) {
	allowed := []string{"fetch", "prioritize", "critic-score", "load-clickhouse"}
	for _, path := range tracked(t) {
		parts := strings.Split(path, "/")
		if parts[0] != "stages" || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || slices.Contains(allowed, parts[1]) {
			continue
		}
		b, err := os.ReadFile(filepath.Join("../..", path))
		if err != nil {
			continue // deleted and not yet committed
		}
		if strings.Contains(string(b), "schemas.FetchRequest") {
			t.Errorf("%s decodes the fetch request", path)
		}
	}
}
