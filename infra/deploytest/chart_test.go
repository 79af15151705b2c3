package deploytest

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"

	"forager/internal/platform/pipeline"
)

const chartDir = "../helm/forager"

type object = map[string]any

// render returns the files of the chart by their names, with changes of the default values.
func render(t testing.TB, changes ...func(object)) (map[string]string, error) {
	t.Helper()
	c, err := loader.Load(chartDir)
	if err != nil {
		t.Fatal(err)
	}
	values := defaultValues(t)
	for _, change := range changes {
		change(values)
	}
	release := chartutil.ReleaseOptions{Name: "crawl", Namespace: "forager", Revision: 1, IsInstall: true}
	all, err := chartutil.ToRenderValues(c, values, release, chartutil.DefaultCapabilities)
	if err != nil {
		return nil, err
	}
	return engine.Render(c, all)
}

func mustRender(t testing.TB, changes ...func(object)) map[string]string {
	t.Helper()
	files, err := render(t, changes...)
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func defaultValues(t testing.TB) object {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(chartDir, "values.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var values object
	if err := yaml.Unmarshal(b, &values); err != nil {
		t.Fatal(err)
	}
	return values
}

// set changes the value at a path.
func set(value any, path ...string) func(object) {
	return func(o object) {
		for _, name := range path[:len(path)-1] {
			o = o[name].(object)
		}
		o[path[len(path)-1]] = value
	}
}

// everything switches on all that is optional.
var everything = []func(object){
	set(true, "autoscaling", "enabled"), set(true, "podMonitor", "enabled"), set(true, "kafka", "tls", "enabled"),
	set("scram-sha-512", "kafka", "sasl", "mechanism"), set("forager", "kafka", "sasl", "user"), set("kafka-login", "kafka", "sasl", "secret"),
	set("clickhouse-login", "clickhouse", "secret"), set([]any{"registry"}, "image", "pullSecrets"),
	set("fast", "storageClass"), set(object{"pool": "crawl"}, "nodeSelector"), set(object{"team": "search"}, "podAnnotations"),
	set([]any{object{"key": "crawl", "operator": "Exists"}}, "tolerations"),
	set([]any{object{"to": []any{object{"ipBlock": object{"cidr": "10.1.0.0/16"}}}}}, "networkPolicy", "extraEgress"),
}

// objects decodes rendered files.
func objects(t testing.TB, files map[string]string) (all []object) {
	t.Helper()
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if !strings.HasSuffix(name, ".yaml") {
			continue
		}
		for d := yaml.NewDecoder(strings.NewReader(files[name])); ; {
			var o object
			if err := d.Decode(&o); err == io.EOF {
				break
			} else if err != nil {
				t.Fatalf("%s: %v\n%s", name, err, files[name])
			}
			if o != nil {
				all = append(all, o)
			}
		}
	}
	return all
}

// at returns what is at a path of names and indices.
func at(v any, path ...any) any {
	for _, p := range path {
		switch p := p.(type) {
		case string:
			o, _ := v.(object)
			v = o[p]
		case int:
			l, _ := v.([]any)
			if p >= len(l) {
				return nil
			}
			v = l[p]
		}
	}
	return v
}

func component(o object) any { return at(o, "metadata", "labels", "app.kubernetes.io/component") }

// stages are the folders of stages.
func stages(t testing.TB) (names []string) {
	t.Helper()
	entries, err := os.ReadDir("../../stages")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if _, err := os.Stat(filepath.Join("../../stages", e.Name(), "main.go")); err == nil {
			names = append(names, e.Name())
		}
	}
	if len(names) < 9 {
		t.Fatalf("stages: %v", names)
	}
	return names
}

// TestChartHasEveryStage compares chart, folders and the kinds of stages in their code: those with state are StatefulSets with a volume.
func TestChartHasEveryStage(t *testing.T) {
	want, scales := make(map[string]string), make(map[string]bool)
	for _, s := range stages(t) {
		want[s], scales[s] = "Deployment", s != "monitor" // which reads by no consumer group
		if strings.Contains(read(t, filepath.Join("../../stages", s, "main.go")), "stateful.Stage{") {
			want[s], scales[s] = "StatefulSet", false
		}
	}
	for _, scaled := range []bool{false, true} {
		got, budgets, scalers := make(map[string]string), make(map[string]bool), make(map[string]bool)
		for _, o := range objects(t, mustRender(t, set(scaled, "autoscaling", "enabled"))) {
			name, _ := component(o).(string)
			switch kind := o["kind"].(string); kind {
			case "Deployment", "StatefulSet":
				got[name] = kind
				if (at(o, "spec", "volumeClaimTemplates", 0) != nil) != (kind == "StatefulSet") {
					t.Errorf("%s: a %s with volumes %v", name, kind, at(o, "spec", "volumeClaimTemplates"))
				}
				if hasNumber := at(o, "spec", "replicas") != nil; hasNumber == (scaled && scales[name]) {
					t.Errorf("%s: replicas %v with autoscaling %t", name, at(o, "spec", "replicas"), scaled)
				}
			case "PodDisruptionBudget":
				budgets[name] = true
			case "ScaledObject":
				scalers[name] = true
			}
		}
		if !maps.Equal(got, want) {
			t.Errorf("workloads: %v, want %v", got, want)
		}
		for s := range want {
			if !budgets[s] || scalers[s] != (scaled && scales[s]) {
				t.Errorf("%s: budget %t, scaler %t", s, budgets[s], scalers[s])
			}
		}
	}
}

// TestChartPods checks what each pod must have.
func TestChartPods(t *testing.T) {
	chart, err := os.ReadFile(filepath.Join(chartDir, "Chart.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var meta struct {
		AppVersion string `yaml:"appVersion"`
	}
	if err := yaml.Unmarshal(chart, &meta); err != nil || meta.AppVersion == "" {
		t.Fatal(err)
	}
	n := 0
	for _, o := range objects(t, mustRender(t)) {
		pod := at(o, "spec", "template", "spec")
		if pod == nil {
			continue
		}
		n++
		c := at(pod, "containers", 0)
		if got := at(c, "image"); got != "forager:"+meta.AppVersion {
			t.Errorf("image %v, want the tag %s", got, meta.AppVersion)
		}
		for path, want := range map[string]any{"readOnlyRootFilesystem": true, "allowPrivilegeEscalation": false} {
			if got := at(c, "securityContext", path); got != want {
				t.Errorf("%v: %s is %v", component(o), path, got)
			}
		}
		if nonRoot, _ := at(pod, "securityContext", "runAsNonRoot").(bool); !nonRoot {
			t.Errorf("%v may run as root", component(o))
		}
		if o["kind"] == "Job" {
			continue
		}
		for probe, path := range map[string]string{"startupProbe": "/livez", "livenessProbe": "/livez", "readinessProbe": "/readyz"} {
			if got := at(c, probe, "httpGet", "path"); got != path {
				t.Errorf("%v: %s is %v", component(o), probe, got)
			}
		}
	}
	if n != len(stages(t))+1 {
		t.Errorf("%d pods, want one for each stage and the setup", n)
	}
}

// loadPipeline reads a pipeline file with the code of the stages.
func loadPipeline(t testing.TB, text string) *pipeline.Config {
	t.Helper()
	path := filepath.Join(t.TempDir(), "pipeline.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	cfg, err := pipeline.Load(path)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return cfg
}

func rendered(t testing.TB, changes ...func(object)) *pipeline.Config {
	t.Helper()
	for _, o := range objects(t, mustRender(t, changes...)) {
		if o["kind"] == "ConfigMap" {
			return loadPipeline(t, at(o, "data", "pipeline.yaml").(string))
		}
	}
	t.Fatal("no pipeline file")
	return nil
}

// TestChartMemory checks that the default budgets are those of the pipeline file, and that requests, limits, the soft limits of the
// processes and their caches follow one value.
func TestChartMemory(t *testing.T) {
	addresses := "kafka: {brokers: ['k:1']}\ns3: {endpoint: 'http://s:1'}\nclickhouse: {url: 'http://c:1'}\n"
	defaults := loadPipeline(t, addresses)
	cfg := rendered(t)
	for _, s := range stages(t) {
		if got, want := cfg.Stages.Common(s).MemoryBytes, defaults.Stages.Common(s).MemoryBytes; got != want {
			t.Errorf("%s: memory_bytes %d in the chart, by default %d", s, got, want)
		}
	}
	more := set(1000, "stages", "distill", "memoryMiB")
	if got := rendered(t, more).Stages.Common("distill").MemoryBytes; got != 1000<<20 {
		t.Errorf("memory_bytes %d", got)
	}
	if got, want := rendered(t, set(1536, "stages", "prioritize", "memoryMiB")).Stages.Prioritize.FrontierBytes, 2*defaults.Stages.Prioritize.FrontierBytes; got != want {
		t.Errorf("frontier_bytes %d with twice the memory, want %d", got, want)
	}
	for _, o := range objects(t, mustRender(t, more)) {
		if o["kind"] == "StatefulSet" && component(o) == "distill" {
			r := at(o, "spec", "template", "spec", "containers", 0, "resources")
			if at(r, "requests", "memory") != "1000Mi" || at(r, "limits", "memory") != "1250Mi" {
				t.Errorf("resources %v", r)
			}
		}
	}
}

// TestChartPipeline reads the rendered pipeline file with the code of the stages.
func TestChartPipeline(t *testing.T) {
	cfg := rendered(t, append(slices.Clone(everything), set(7, "partitions"), set(32, "stages", "fetch", "settings", "concurrency"))...)
	for _, k := range []struct{ what, got, want any }{
		{"brokers", strings.Join(cfg.Kafka.Brokers, ","), "kafka.kafka.svc:9092"},
		{"TLS", cfg.Kafka.TLS.Enabled, true},
		{"mechanism", cfg.Kafka.SASL.Mechanism, "scram-sha-512"},
		{"password of Kafka", cfg.Kafka.SASL.PasswordEnv, "KAFKA_PASSWORD"},
		{"access key", cfg.S3.AccessKeyEnv, "S3_ACCESS_KEY"},
		{"password of ClickHouse", cfg.ClickHouse.PasswordEnv, "CLICKHOUSE_PASSWORD"},
		{"partitions", cfg.Topics["page.fetched"].Partitions, 7},
		{"snapshots", cfg.Snapshots, pipeline.Snapshots{Every: 5 * time.Minute, Rate: 32 << 20}},
		{"concurrency", cfg.Stages.Fetch.Concurrency, 32},
		{"metrics", cfg.Stages.Distill.Metrics, "0.0.0.0:9100"},
		{"data", cfg.Data, "/var/lib/forager"},
	} {
		if k.got != k.want {
			t.Errorf("%s: %v, want %v", k.what, k.got, k.want)
		}
	}
}

// TestChartValues mutates each value: the rendered files must change, and the schema must describe the value and
// refuse one of another type.
func TestChartValues(t *testing.T) {
	base := mustRender(t, everything...)
	leaves := 0
	var walk func(path []string, v any)
	walk = func(path []string, v any) {
		if o, ok := v.(object); ok && len(o) > 0 {
			for _, name := range slices.Sorted(maps.Keys(o)) {
				walk(append(slices.Clone(path), name), o[name])
			}
			return
		}
		leaves++
		name := strings.Join(path, ".")
		files, err := render(t, append(slices.Clone(everything), set(mutate(t, name, v), path...))...)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		} else if maps.Equal(files, base) {
			t.Errorf("%s has no effect", name)
		}
		wrong := any("wrong")
		if _, text := v.(string); text {
			wrong = 7
		}
		if _, err := render(t, set(wrong, path...)); err == nil {
			t.Errorf("%s: the schema takes %v", name, wrong)
		}
	}
	values := defaultValues(t)
	for _, change := range everything {
		change(values)
	}
	walk(nil, values)
	if leaves < 80 {
		t.Errorf("%d values", leaves)
	}
	for _, path := range [][]string{{"surplus"}, {"stages", "surplus"}, {"kafka", "surplus"}, {"stages", "fetch", "storage"}} {
		if _, err := render(t, set("1", path...)); err == nil {
			t.Errorf("%v: the schema takes it", path)
		}
	}
	if _, err := render(t, set("plain", "kafka", "sasl", "mechanism")); err == nil {
		t.Error("the schema takes a login without a user and a secret")
	}
}

// mutate returns another valid value.
func mutate(t testing.TB, name string, v any) any {
	switch v := v.(type) {
	case bool:
		return !v
	case int:
		return v + 1
	case float64:
		return v / 2
	case object:
		return object{"disk": "fast"}
	case []any:
		switch v[0].(type) {
		case string:
			return append(slices.Clone(v), v[0].(string)[:1]+"x:9")
		default:
			return append(slices.Clone(v), object{"podSelector": object{}})
		}
	case string:
		choices := map[string]string{"image.pullPolicy": "Always", "kafka.sasl.mechanism": "plain"}
		switch last := name[strings.LastIndexByte(name, '.')+1:]; {
		case choices[name] != "":
			return choices[name]
		case last == "cpu":
			return "123m"
		case last == "storage":
			return "7Gi"
		case last == "retention", last == "pageRetention", last == "every", last == "sessionTimeout", last == "interval":
			return "17s"
		case strings.HasPrefix(v, "http://"):
			return "https://elsewhere.example"
		}
		return v + "x"
	}
	t.Fatalf("%s: a %s", name, reflect.TypeOf(v))
	return nil
}

// TestChartScalers checks what the stages scale by.
func TestChartScalers(t *testing.T) {
	n := 0
	for _, o := range objects(t, mustRender(t, everything...)) {
		if o["kind"] != "ScaledObject" {
			continue
		}
		n++
		trigger, stage := at(o, "spec", "triggers", 0), component(o).(string)
		if stage == "fetch" {
			query, _ := at(trigger, "metadata", "query").(string)
			if at(trigger, "type") != "prometheus" || !strings.Contains(query, "forager_fetch_slot_waiting_requests") || at(trigger, "metadata", "threshold") != "51" {
				t.Errorf("fetch scales by %v", trigger)
			}
			checkQuery(t, "the scaler of fetch", query)
			continue
		}
		if at(trigger, "type") != "kafka" || at(trigger, "metadata", "consumerGroup") != "forager."+stage || at(trigger, "metadata", "sasl") != "scram_sha512" {
			t.Errorf("%s scales by %v", stage, trigger)
		}
	}
	if n != 6 {
		t.Errorf("%d scalers", n)
	}
}

// TestChartNetwork checks the ports that the policy opens.
func TestChartNetwork(t *testing.T) {
	for _, o := range objects(t, mustRender(t, set("https://s3.example", "s3", "endpoint"), set("http://c.example:8124/", "clickhouse", "url"))) {
		if o["kind"] != "NetworkPolicy" || component(o) != "stages" {
			continue
		}
		got, err := json.Marshal(at(o, "spec", "egress", 1, "ports"))
		if err != nil {
			t.Fatal(err)
		}
		var want []string
		for _, port := range []int{443, 8124, 9092} {
			want = append(want, fmt.Sprintf(`{"port":%d,"protocol":"TCP"}`, port))
		}
		if string(got) != "["+strings.Join(want, ",")+"]" {
			t.Errorf("ports %s", got)
		}
		// The monitor asks prioritize about URLs, at the name of its service.
		const label = "app.kubernetes.io/component"
		from, to := at(o, "spec", "ingress", 1, "from", 0, "podSelector", "matchLabels", label), at(o, "spec", "egress", 2, "to", 0, "podSelector", "matchLabels", label)
		if from != "monitor" || to != "prioritize" {
			t.Errorf("from %v, to %v", from, to)
		}
		return
	}
	t.Error("no policy")
}
