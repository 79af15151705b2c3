package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
	kafkago "github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/sasl"
	"github.com/segmentio/kafka-go/sasl/plain"
	"github.com/segmentio/kafka-go/sasl/scram"

	"forager/internal/platform/pipeline"
)

// TestLogins starts the parts on a data folder that others can read, with a pipeline file that has the
// published keys, and tries every part without a password, with a wrong one, with the published one and with
// its own.
func TestLogins(t *testing.T) {
	broker, objects, tables := address(t), address(t), address(t)
	config := writeConfig(t, broker, "http://"+objects, "http://"+tables)
	data := load(t, config).Data
	old := filepath.Join(data, "state", "fetch", "old")
	if err := errors.Join(os.MkdirAll(filepath.Dir(old), 0o755), os.Chmod(data, 0o755), os.WriteFile(old, nil, 0o644)); err != nil {
		t.Fatal(err)
	}
	launch(t, "-config", config).until(t, "ready")
	cfg := load(t, config)
	logins := map[string]pipeline.Login{}
	for part, login := range map[string]func() (pipeline.Login, error){"kafka": cfg.Kafka.Login, "s3": cfg.S3.Login, "clickhouse": cfg.ClickHouse.Login} {
		l, err := login()
		if err != nil || len(l.Password) < 20 {
			t.Fatalf("%s: login %+v, %v", part, l, err)
		}
		logins[part] = l
	}
	for _, x := range []struct {
		name     string
		password func(part string) string
		ok       bool
	}{
		{"none", func(string) string { return "" }, false},
		{"wrong", func(string) string { return "wrong" }, false},
		{"published", func(string) string { return "forager-secret" }, false},
		{"another part's", func(part string) string {
			return logins[map[string]string{"kafka": "s3", "s3": "clickhouse", "clickhouse": "kafka"}[part]].Password
		}, false},
		{"own", func(part string) string { return logins[part].Password }, true},
	} {
		for part, try := range map[string]func(user, password string) error{
			"kafka":      func(user, password string) error { return tryKafka(t, broker, user, password) },
			"s3":         func(user, password string) error { return tryS3(t, objects, user, password) },
			"clickhouse": func(user, password string) error { return tryClickHouse(t, tables, user, password) },
		} {
			if err := try(logins[part].User, x.password(part)); (err == nil) != x.ok {
				t.Errorf("%s with %s password: %v", part, x.name, err)
			}
		}
	}
	if err := tryKafkaWith(t, broker, plain.Mechanism{Username: "forager", Password: logins["kafka"].Password}); err == nil {
		t.Error("Kafka takes the password as plain text")
	}
	closed := 0
	err := filepath.WalkDir(data, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err == nil && info.Mode()&fs.ModeSymlink == 0 {
			closed++
			if info.Mode().Perm()&0o077 != 0 {
				t.Errorf("%s: mode %v", path, info.Mode())
			}
		}
		return err
	})
	if err != nil || closed < 10 {
		t.Errorf("%d files, %v", closed, err)
	}
}

func tryKafka(t *testing.T, address, user, password string) error {
	if password == "" {
		return tryKafkaWith(t, address, nil)
	}
	m, err := scram.Mechanism(scram.SHA256, user, password)
	if err != nil {
		t.Fatal(err)
	}
	return tryKafkaWith(t, address, m)
}

func tryKafkaWith(t *testing.T, address string, m sasl.Mechanism) error {
	transport := &kafkago.Transport{SASL: m}
	defer transport.CloseIdleConnections()
	_, err := (&kafkago.Client{Addr: kafkago.TCP(address), Transport: transport}).Metadata(t.Context(), &kafkago.MetadataRequest{})
	return err
}

func tryS3(t *testing.T, address, user, password string) error {
	creds := credentials.NewStaticV4(user, password, "")
	if password == "forager-secret" {
		creds = credentials.NewStaticV4("forager", password, "")
	}
	c, err := minio.New(address, &minio.Options{Creds: creds, MaxRetries: 1})
	if err != nil {
		t.Fatal(err)
	}
	_, err = c.ListBuckets(context.WithoutCancel(t.Context()))
	return err
}

func tryClickHouse(t *testing.T, address, user, password string) error {
	req, err := http.NewRequestWithContext(t.Context(), "POST", "http://"+address+"/", strings.NewReader("SELECT 1"))
	if err != nil {
		t.Fatal(err)
	}
	req.SetBasicAuth(user, password)
	resp, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return errors.New(resp.Status)
	}
	return nil
}

// TestTheEngineStaysInItsFolder makes the engine evaluate text that the check of the statement does not see: it
// can open none of the operator's files, while what a crawl needs from its own tables works.
func TestTheEngineStaysInItsFolder(t *testing.T) {
	broker, objects, tables := address(t), address(t), address(t)
	config := writeConfig(t, broker, "http://"+objects, "http://"+tables)
	launch(t, "-config", config, "-parts", "clickhouse").until(t, "ready")
	ask := func(sql string) (int, string) {
		return get(t, config, "http://"+tables+"/?query="+url.QueryEscape(sql))
	}
	for _, sql := range []string{
		"CREATE DATABASE d", "CREATE TABLE d.t (n UInt64, s String) ENGINE = MergeTree ORDER BY n",
		"INSERT INTO d.t SELECT number, 'a' FROM numbers(10)", "INSERT INTO d.t VALUES (10, upper('b'))", "OPTIMIZE TABLE d.t FINAL",
		"ALTER TABLE d.t DETACH PARTITION ID 'all'", "ALTER TABLE d.t ATTACH PARTITION ID 'all'", "DETACH TABLE d.t", "ATTACH TABLE d.t", "RENAME TABLE d.t TO d.u",
	} {
		if code, body := ask(sql); code != http.StatusOK {
			t.Errorf("%s: %d %s", sql, code, body)
		}
	}
	if _, body := ask("SELECT count(), max(s) FROM d.u"); body != "11\ta\n" {
		t.Errorf("rows: %s", body)
	}
	dir, secrets := t.TempDir(), load(t, config).SecretsDir()
	secret := filepath.Join(dir, "secret.txt")
	if err := os.WriteFile(secret, []byte("do-not-read-me"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{secret, config, filepath.Join(secrets, "clickhouse.json"), "/proc/self/environ", "/etc/passwd"} {
		for _, sql := range []string{
			"INSERT INTO d.u FORMAT Values (1, file('%s'))",
			"SELECT * FROM format(JSONEachRow, 'n UInt64, s String DEFAULT file(''%s'')', '{\"n\": 1}')",
		} {
			if code, body := ask(fmt.Sprintf(sql, file)); code == http.StatusOK {
				t.Errorf("%s was read by %s: %.200s", file, sql, body)
			}
		}
	}
	if _, body := ask("SELECT count() FROM d.u"); body != "11\n" {
		t.Errorf("rows at the end: %s", body)
	}
}
