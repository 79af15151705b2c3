package deploytest

import (
	"debug/elf"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/compose-spec/compose-go/v2/cli"
	"github.com/compose-spec/compose-go/v2/types"
	"go.yaml.in/yaml/v3"

	"forager/internal/platform/pipeline"
)

func project(t testing.TB, env ...string) (*types.Project, error) {
	t.Helper()
	options, err := cli.NewProjectOptions([]string{"../compose.yaml"}, cli.WithEnv(env), cli.WithProfiles([]string{"*"}), cli.WithResolvedPaths(true))
	if err != nil {
		t.Fatal(err)
	}
	return options.LoadProject(t.Context())
}

// exampleEnv are the lines of compose/example.env.
func exampleEnv(t testing.TB) (lines []string) {
	t.Helper()
	for _, line := range strings.Split(read(t, "../compose/example.env"), "\n") {
		if line != "" && line[0] != '#' {
			lines = append(lines, line)
		}
	}
	return lines
}

func read(t testing.TB, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestComposeHasEveryStage compares the services with the folders of stages, and their memory with the pipeline file of the containers.
func TestComposeHasEveryStage(t *testing.T) {
	p, err := project(t, exampleEnv(t)...)
	if err != nil {
		t.Fatal(err)
	}
	cfg, err := pipeline.Load("../compose/pipeline.yaml")
	if err != nil {
		t.Fatal(err)
	}
	targets := read(t, "../compose/prometheus.yaml")
	want := append(stages(t), "clickhouse", "forager", "grafana", "kafka", "prometheus", "s3", "setup")
	slices.Sort(want)
	if got := p.ServiceNames(); !slices.Equal(slices.Sorted(slices.Values(got)), want) {
		t.Errorf("services %v, want %v", got, want)
	}
	for _, name := range stages(t) {
		s := p.Services[name]
		memory := cfg.Stages.Common(name).MemoryBytes
		if memory == 0 || int64(s.MemLimit) != memory/4*5 {
			t.Errorf("%s: a limit of %d bytes for memory_bytes %d", name, s.MemLimit, memory)
		}
		if !s.ReadOnly || !slices.Equal(s.CapDrop, []string{"ALL"}) || len(s.Volumes) != 1 || s.Volumes[0].Target != cfg.Data {
			t.Errorf("%s: read only %t, capabilities dropped %v, volumes %v", name, s.ReadOnly, s.CapDrop, s.Volumes)
		}
		if !strings.Contains(targets, "        - "+name+"\n") || !strings.HasSuffix(cfg.Stages.Common(name).Metrics, ":9100") {
			t.Errorf("%s is no target of Prometheus", name)
		}
		if _, web := s.Networks["web"]; web != (name == "fetch") {
			t.Errorf("%s reaches the web: %t", name, web)
		}
	}
}

// TestComposeAddresses checks that the pipeline file names services and variables of the containers.
func TestComposeAddresses(t *testing.T) {
	p, err := project(t, exampleEnv(t)...)
	if err != nil {
		t.Fatal(err)
	}
	cfg, err := pipeline.Load("../compose/pipeline.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, address := range append([]string{cfg.S3.Endpoint, cfg.ClickHouse.URL}, cfg.Kafka.Brokers...) {
		host, _, _ := strings.Cut(address[strings.LastIndex(address, "/")+1:], ":")
		if _, ok := p.Services[host]; !ok {
			t.Errorf("%s is the address of no service", address)
		}
	}
	for _, name := range []string{cfg.S3.AccessKeyEnv, cfg.S3.SecretKeyEnv, cfg.ClickHouse.PasswordEnv} {
		if v := p.Services["fetch"].Environment[name]; v == nil || *v == "" {
			t.Errorf("the containers have no %s", name)
		}
	}
	for i := range exampleEnv(t) { // each variable is required
		env := slices.Delete(exampleEnv(t), i, i+1)
		if _, err := project(t, env...); err == nil {
			t.Errorf("%v suffices", env)
		}
	}
	for name, c := range p.Configs {
		if _, err := os.Stat(c.File); err != nil {
			t.Errorf("config %s: %v", name, err)
		}
	}
}

// TestVersions checks that images are pinned, and have the versions with which the tests run.
func TestVersions(t *testing.T) {
	p, err := project(t, exampleEnv(t)...)
	if err != nil {
		t.Fatal(err)
	}
	pinned := regexp.MustCompile(`:v?[0-9]+(\.[0-9]+)+(-[a-z]+)?$`)
	for name, s := range p.Services {
		if !pinned.MatchString(s.Image) {
			t.Errorf("%s: image %s", name, s.Image)
		}
	}
	find := func(path, pattern string) string {
		m := regexp.MustCompile(pattern).FindStringSubmatch(read(t, path))
		if m == nil {
			t.Fatalf("no %s in %s", pattern, path)
		}
		return m[1]
	}
	for _, k := range [][2]string{
		{p.Services["kafka"].Image, "apache/kafka:" + find("../kafka/pom.xml", `<kafka.version>(.*)</kafka.version>`)},
		{p.Services["s3"].Image, "versity/versitygw:" + find("../../go.mod", `github.com/versity/versitygw (v\S+)`)},
		{p.Services["fetch"].Image, "forager:" + find("../helm/forager/Chart.yaml", `appVersion: "(.*)"`)},
	} {
		if k[0] != k[1] {
			t.Errorf("image %s, want %s", k[0], k[1])
		}
	}
}

// TestDockerfile checks that the image is pinned, runs as another user than root and has all that the build copies. It is not built here.
func TestDockerfile(t *testing.T) {
	ignored := strings.Split(strings.TrimSpace(read(t, "../Dockerfile.dockerignore")), "\n")
	var last, user string
	for _, line := range strings.Split(read(t, "../Dockerfile"), "\n") {
		word := strings.Fields(line)
		if len(word) == 0 {
			continue
		}
		switch word[0] {
		case "FROM":
			if !regexp.MustCompile(`^(scratch|\S+:[0-9]+\.[0-9]+\.[0-9]+\S*)$`).MatchString(word[1]) {
				t.Errorf("%s is not pinned", word[1])
			}
			last = word[1]
		case "USER":
			user = word[1]
		case "COPY":
			if strings.HasPrefix(word[1], "--") {
				continue
			}
			for _, source := range word[1 : len(word)-1] {
				if _, err := os.Stat(filepath.Join("../..", source)); err != nil || !slices.Contains(ignored, "!"+source) {
					t.Errorf("COPY %s: %v, or it is not in Dockerfile.dockerignore", source, err)
				}
			}
		}
	}
	if last != "scratch" || !regexp.MustCompile(`^[1-9][0-9]*:[1-9][0-9]*$`).MatchString(user) {
		t.Errorf("base %s, user %s", last, user)
	}
}

// TestProgramsAreStatic checks the programs of make build: those in the image need no dynamic linker.
func TestProgramsAreStatic(t *testing.T) {
	for _, name := range append(stages(t), "forager") {
		f, err := elf.Open(filepath.Join("../../build/bin", name))
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range f.Progs {
			if p.Type == elf.PT_INTERP {
				t.Errorf("%s needs a dynamic linker", name)
			}
		}
		f.Close()
	}
}

// TestComposeFiles parses what the services read.
func TestComposeFiles(t *testing.T) {
	for _, path := range []string{"../compose/grafana-datasources.yaml", "../compose/grafana-dashboards.yaml"} {
		var v object
		if err := yaml.Unmarshal([]byte(read(t, path)), &v); err != nil || fmt.Sprint(v["apiVersion"]) != "1" {
			t.Errorf("%s: %v", path, err)
		}
	}
}
