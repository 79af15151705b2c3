package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"forager/internal/classify/critic"
	"forager/internal/classify/criticfile"
	"forager/internal/classify/httpmodel"
	"forager/internal/platform/modelfile"
	"forager/schemas"
)

func readCritic(file *modelfile.Mapped) (critic.Classifier, error) {
	return criticfile.OpenMapped(file, httpmodel.Options{})
}

func TestFolderFetchesOnceAndMendsItself(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "critics")
	model := trained(t, "chess", "go")
	sum := sha256.Sum256(model)
	digest := hex.EncodeToString(sum[:])
	fetches := 0
	open := func(digest string, data []byte) error {
		t.Helper()
		by, err := (&folder[critic.Classifier]{dir, readCritic}).open(t.Context(), digest, func(context.Context) ([]byte, error) {
			fetches++
			return data, nil
		})
		if err != nil {
			return err
		}
		if classes := by.Classes(); len(classes) != 2 || classes[0] != "chess" {
			t.Errorf("classes %v", classes)
		}
		return nil
	}
	want := func(n int) {
		t.Helper()
		if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 || fetches != n {
			t.Errorf("%d files, %v; %d fetches, want %d", len(entries), err, fetches, n)
		}
	}
	for range 3 {
		if err := open(digest, model); err != nil {
			t.Fatal(err)
		}
	}
	if err := open(digest[:12], nil); err != nil {
		t.Fatal(err)
	}
	want(1)

	path := filepath.Join(dir, digest)
	if err := os.Remove(path); err != nil { // others have it mapped: it is never written to
		t.Fatal(err)
	}
	if err := os.WriteFile(path, model[:len(model)/2], 0o600); err != nil {
		t.Fatal(err)
	}
	if err := open(digest, model); err != nil {
		t.Fatal(err)
	}
	want(2)

	if err := open(strings.Repeat("0", 64), model); err == nil || !strings.Contains(err.Error(), "its digest is "+digest) {
		t.Errorf("other bytes than wanted: %v", err)
	}
	want(3)
	gone := errors.New("connection refused")
	if _, err := (&folder[critic.Classifier]{dir, readCritic}).open(t.Context(), "no digest begins so", func(context.Context) ([]byte, error) { return nil, gone }); !errors.Is(err, gone) {
		t.Errorf("error %v", err)
	}
}

func TestFolderEvictsUnusedFiles(t *testing.T) {
	f := &folder[critic.Classifier]{t.TempDir(), readCritic}
	for name, age := range map[string]time.Duration{"old": forgotten + time.Hour, "new-123": forgotten + time.Hour, "young": time.Hour} {
		path, at := filepath.Join(f.path, name), time.Now().Add(-age)
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, at, at); err != nil {
			t.Fatal(err)
		}
	}
	f.sweep()
	if entries, err := os.ReadDir(f.path); err != nil || len(entries) != 1 || entries[0].Name() != "young" {
		t.Errorf("%v, %v", entries, err)
	}
}

// TestFullDiskIsWaitedFor: without disk space for its critic a page waits, as in every stage.
func TestFullDiskIsWaitedFor(t *testing.T) {
	w := newWorld(t)
	version := w.publish(t, "games", trained(t, "chess", "go"))
	w.control(t, "c", version, "chess")
	blocked := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(blocked, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	w.models.critics.folder.path = filepath.Join(blocked, "critics")
	if outs, err := w.stage.Apply(t.Context(), parsed(t, nil)); err == nil || len(outs) > 0 {
		t.Errorf("%d records, %v", len(outs), err)
	}
	w.models.critics.folder.path = t.TempDir()
	outs, err := w.stage.Apply(t.Context(), parsed(t, nil))
	if _, j := one(t, outs, err); j.Outcome != schemas.Outcome_OUTCOME_DELIVERED {
		t.Errorf("outcome %v", j.Outcome)
	}
}
