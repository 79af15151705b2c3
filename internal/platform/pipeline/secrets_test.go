package pipeline

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// withSecrets loads a pipeline file that differs from the shipped one; the data folder stays.
func withSecrets(t *testing.T, dir string, replace ...string) *Config {
	t.Helper()
	b, err := os.ReadFile(shipped)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "pipeline.yaml")
	if err := os.WriteFile(path, []byte(strings.NewReplacer(replace...).Replace(string(b))), 0o644); err != nil {
		t.Fatal(err)
	}
	c, err := Load(path)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestShippedFileHasNoSecret(t *testing.T) {
	b, err := os.ReadFile(shipped)
	if err != nil {
		t.Fatal(err)
	}
	c, problems := parse(b)
	if len(problems) > 0 || c.S3.AccessKey+c.S3.SecretKey != "" {
		t.Errorf("%v, %+v", problems, c.S3)
	}
}

// TestLoginsOfEmbeddedParts are generated once, and shown to the loopback ports only that they were generated for.
func TestLoginsOfEmbeddedParts(t *testing.T) {
	dir := t.TempDir()
	c := withSecrets(t, dir)
	logins := func(c *Config) (all [3]Login) {
		t.Helper()
		for i, f := range []func() (Login, error){c.Kafka.Login, c.S3.Login, c.ClickHouse.Login} {
			var err error
			if all[i], err = f(); err != nil {
				t.Fatal(err)
			}
		}
		return all
	}
	if got := logins(c); got != [3]Login{2: {User: "default"}} {
		t.Errorf("before the parts were started: %+v", got)
	}
	late := Later(c.S3.Login)
	if l, err := late.Get(); err != nil || late.Known() {
		t.Errorf("before a key was made: %+v, %v", l, err)
	}
	var made [3]Login
	for i, part := range []string{"kafka", "s3", "clickhouse"} {
		for range 2 {
			l, err := c.MakeSecret(part)
			if err != nil || len(l.Password) < 20 || made[i] != (Login{}) && made[i] != l {
				t.Fatalf("%s: %+v, %v", part, l, err)
			}
			made[i] = l
		}
	}
	if l, err := late.Get(); err != nil || !late.Known() || l != made[1] {
		t.Errorf("looked up again: %+v, %v, want %+v", l, err, made[1])
	}
	if made[0].Mechanism != "scram-sha-256" || made[2].User != "default" || made[0].Password == made[1].Password {
		t.Errorf("%+v", made)
	}
	old := []string{"  bucket: forager\n", "  bucket: forager\n  access_key: forager\n  secret_key: forager-secret\n"}
	for name, same := range map[string][]string{"again": nil, "other spelling": {"127.0.0.1", "localhost"}, "published keys": old} {
		if got := logins(withSecrets(t, dir, same...)); got != made {
			t.Errorf("%s: %+v, want %+v", name, got, made)
		}
	}
	elsewhere := append(slices.Clone(old), "127.0.0.1:19", "192.0.2.1:19")
	for want, same := range map[string][]string{"": nil, "remove both lines": old, "192.0.2.1:19": elsewhere} {
		if got := withSecrets(t, dir, same...).S3.Outdated(); !strings.Contains(got, want) || (got == "") != (want == "") {
			t.Errorf("the warning about outdated keys is %q, want %q", got, want)
		}
	}
	t.Setenv("FORAGER_TEST_PASSWORD", "mine")
	for name, x := range map[string]struct {
		replace []string
		want    [3]Login
	}{
		"other ports": {[]string{"127.0.0.1:19", "127.0.0.1:29"}, [3]Login{2: {User: "default"}}},
		"elsewhere":   {[]string{"127.0.0.1:19", "192.0.2.1:19", "127.0.0.1:18", "192.0.2.1:18"}, [3]Login{2: {User: "default"}}},
		"own keys":    {[]string{"bucket: forager", "bucket: forager\n  access_key: a\n  secret_key: b"}, [3]Login{made[0], {User: "a", Password: "b"}, made[2]}},
		"environment": {[]string{
			"bucket: forager", "bucket: forager\n  access_key: a\n  secret_key_env: FORAGER_TEST_PASSWORD",
			"database: forager", "database: forager\n  user: ann\n  password_env: FORAGER_TEST_PASSWORD",
			"  partitions: 4 ", "  sasl: {mechanism: plain, user: ann, password_env: FORAGER_TEST_PASSWORD} ",
		}, [3]Login{{"plain", "ann", "mine"}, {User: "a", Password: "mine"}, {User: "ann", Password: "mine"}}},
	} {
		if got := logins(withSecrets(t, dir, x.replace...)); got[0] != x.want[0] || got[1] != x.want[1] || name != "other ports" && got[2] != x.want[2] {
			t.Errorf("%s: %+v, want %+v", name, got, x.want)
		}
	}
	// Started at other ports, the parts keep their passwords.
	moved := withSecrets(t, dir, "127.0.0.1:19", "127.0.0.1:29")
	for i, part := range []string{"kafka", "s3"} {
		if l, err := moved.MakeSecret(part); err != nil || l != made[i] {
			t.Errorf("%s at another port: %+v, %v", part, l, err)
		}
	}
	file := filepath.Join(c.SecretsDir(), "clickhouse.json")
	for what, spoil := range map[string]func() error{
		"can be read by other users": func() error { return os.Chmod(file, 0o644) },
		"holds no password":          func() error { return os.WriteFile(file, []byte("{}"), 0o600) },
	} {
		if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
			t.Fatal(info, err)
		}
		if err := spoil(); err != nil {
			t.Fatal(err)
		}
		if _, err := c.ClickHouse.Login(); err == nil || !strings.Contains(err.Error(), what) || !strings.Contains(err.Error(), file) {
			t.Errorf("want %q: %v", what, err)
		}
		if err := os.Remove(file); err != nil {
			t.Fatal(err)
		}
		if _, err := c.MakeSecret("clickhouse"); err != nil {
			t.Fatal(err)
		}
	}
}

// TestDataFolderIsClosed makes the data folder, and removes the permissions of one that others can read.
func TestDataFolderIsClosed(t *testing.T) {
	c := &Config{Data: filepath.Join(t.TempDir(), "a", "data")}
	state := filepath.Join(c.Data, "state", "x")
	mine := filepath.Join(c.Data, "mine")
	modes := func(want map[string]os.FileMode) {
		t.Helper()
		for path, mode := range want {
			if info, err := os.Stat(path); err != nil || info.Mode().Perm() != mode {
				t.Errorf("%s: %v, %v, want %o", path, info.Mode(), err, mode)
			}
		}
	}
	if err := c.MakeData(); err != nil {
		t.Fatal(err)
	}
	modes(map[string]os.FileMode{c.Data: 0o700})
	if err := os.Mkdir(filepath.Dir(state), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{state, mine} {
		if err := os.WriteFile(file, nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(c.Data, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(mine, filepath.Join(filepath.Dir(state), "link")); err != nil {
		t.Fatal(err)
	}
	if err := c.MakeData(); err != nil {
		t.Fatal(err)
	}
	modes(map[string]os.FileMode{c.Data: 0o700, filepath.Dir(state): 0o700, state: 0o600, mine: 0o644})
}
