package deploytest

import (
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/yannh/kubeconform/pkg/validator"
	"go.yaml.in/yaml/v3"
)

// Modules from which schemas are read; none of their code is used.
const (
	kubernetesSchemas = "sigs.k8s.io/kubectl-validate@v0.0.4" // OpenAPI 3 of Kubernetes
	kubernetesVersion = "1.30"
	kedaSchemas       = "github.com/kedacore/keda/v2@v2.21.0" // its CustomResourceDefinitions
)

// moduleDir returns the folder of a module, and downloads it if necessary.
func moduleDir(t testing.TB, module string) string {
	t.Helper()
	cmd := exec.Command("go", "mod", "download", "-json", module)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("download %s: %v\n%s", module, err, out)
	}
	var m struct{ Dir string }
	if err := json.Unmarshal(out, &m); err != nil {
		t.Fatal(err)
	}
	return m.Dir
}

// schemas writes the JSON Schemas of kinds into a folder, as kubeconform reads them: KIND-GROUP-VERSION.json, with the first word of the group.
func schemas(t testing.TB) (dir string) {
	t.Helper()
	dir = t.TempDir()
	write := func(name string, schema object) {
		b, err := json.Marshal(schema)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	builtin := filepath.Join(moduleDir(t, kubernetesSchemas), "pkg/openapiclient/builtins", kubernetesVersion)
	for _, file := range []string{"api/v1", "apis/apps/v1", "apis/batch/v1", "apis/policy/v1", "apis/networking.k8s.io/v1"} {
		b, err := os.ReadFile(filepath.Join(builtin, file+".json"))
		if err != nil {
			t.Fatal(err)
		}
		b = []byte(strings.ReplaceAll(string(b), "#/components/schemas/", "#/$defs/"))
		var doc struct {
			Components struct{ Schemas map[string]object }
		}
		if err := json.Unmarshal(b, &doc); err != nil {
			t.Fatal(err)
		}
		for _, s := range doc.Components.Schemas {
			strict(s)
		}
		for id, s := range doc.Components.Schemas {
			kinds, _ := s["x-kubernetes-group-version-kind"].([]any)
			for _, k := range kinds {
				group, _, _ := strings.Cut(at(k, "group").(string), ".")
				name := strings.ToLower(at(k, "kind").(string)) + strings.TrimSuffix("-"+group, "-") + "-" + at(k, "version").(string) + ".json"
				write(name, object{"$schema": "https://json-schema.org/draft/2020-12/schema", "$ref": "#/$defs/" + id, "$defs": doc.Components.Schemas})
			}
		}
	}
	keda := filepath.Join(moduleDir(t, kedaSchemas), "config/crd/bases")
	for _, kind := range []string{"ScaledObject", "TriggerAuthentication"} {
		b, err := os.ReadFile(filepath.Join(keda, "keda.sh_"+strings.ToLower(kind)+"s.yaml"))
		if err != nil {
			t.Fatal(err)
		}
		var crd object
		if err := yaml.Unmarshal(b, &crd); err != nil {
			t.Fatal(err)
		}
		schema := at(crd, "spec", "versions", 0, "schema", "openAPIV3Schema").(object)
		strict(schema)
		write(strings.ToLower(kind)+"-keda-v1alpha1.json", schema)
	}
	return dir
}

// isSet reports whether a property is true.
func isSet(s object, name string) bool {
	value, _ := s[name].(bool)
	return value
}

// strict turns an OpenAPI schema into a JSON Schema that refuses unknown properties.
func strict(s object) {
	if isSet(s, "x-kubernetes-int-or-string") || s["format"] == "int-or-string" {
		delete(s, "type")
		delete(s, "oneOf")
		s["anyOf"] = []any{object{"type": "integer"}, object{"type": "string"}}
	}
	if id, ok := s["description"].(string); ok && strings.HasPrefix(id, "Quantity is a fixed-point") {
		delete(s, "type")
		s["anyOf"] = []any{object{"type": "number"}, object{"type": "string"}}
	}
	delete(s, "default") // {} for fields that are required inside
	delete(s, "format")  // Kubernetes' own formats
	if _, ok := s["properties"].(object); ok && s["additionalProperties"] == nil && !isSet(s, "x-kubernetes-preserve-unknown-fields") {
		s["additionalProperties"] = false
	}
	for name, v := range s {
		switch v := v.(type) {
		case object:
			if name == "properties" {
				for _, p := range v {
					strict(p.(object))
				}
			} else {
				strict(v)
			}
		case []any:
			for _, x := range v {
				if o, ok := x.(object); ok {
					strict(o)
				}
			}
		}
	}
}

// TestChartConforms validates the rendered files against the schemas of Kubernetes and KEDA. There is none here of the PodMonitor.
func TestChartConforms(t *testing.T) {
	location := filepath.Join(schemas(t), "{{ .ResourceKind }}{{ .KindSuffix }}.json")
	v, err := validator.New([]string{location}, validator.Opts{Strict: true, SkipKinds: map[string]struct{}{"PodMonitor": {}}})
	if err != nil {
		t.Fatal(err)
	}
	validate := func(text string) (statuses []validator.Status, problems []string) {
		for _, r := range v.Validate("rendered", io.NopCloser(strings.NewReader(text))) {
			statuses = append(statuses, r.Status)
			if r.Err != nil {
				problems = append(problems, r.Err.Error())
			}
		}
		return statuses, problems
	}
	for _, changes := range [][]func(object){nil, everything} {
		valid := 0
		for name, text := range mustRender(t, changes...) {
			if !strings.HasSuffix(name, ".yaml") || strings.TrimSpace(text) == "" {
				continue
			}
			statuses, problems := validate(text)
			for _, p := range problems {
				t.Errorf("%s: %s", name, p)
			}
			for _, s := range statuses {
				if s == validator.Valid {
					valid++
				} else if s != validator.Empty && s != validator.Skipped {
					t.Errorf("%s: status %d", name, s)
				}
			}
		}
		if valid < 24 {
			t.Errorf("%d objects are valid", valid)
		}
	}
	// The schemas refuse what they should.
	text := mustRender(t)["forager/templates/stages.yaml"]
	for _, k := range [][2]string{
		{"readinessProbe:", "readynessProbe:"}, {"periodSeconds: 5", "periodSeconds: soon"}, {"  selector:\n", "  selectors:\n"}, {"containerPort: 9100", "hostPort: 9100"},
	} {
		if !strings.Contains(text, k[0]) {
			t.Fatalf("no %q", k[0])
		}
		if _, problems := validate(strings.Replace(text, k[0], k[1], 1)); len(problems) == 0 {
			t.Errorf("%q is valid", k[1])
		}
	}
}
