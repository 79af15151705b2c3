package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"forager/internal/classify/critic"
	"forager/internal/classify/predicate"
	"forager/internal/rank/guides"
)

// TestGuideQuery: the words with most weight for a focus become a guide's file, reproducibly.
func TestGuideQuery(t *testing.T) {
	dir := t.TempDir()
	var examples critic.Examples
	for url, page := range map[string]string{"http://h/1": "cat dog cat", "http://h/2": "dog cat"} {
		if err := examples.AddText(url, []string{"pets"}, page); err != nil {
			t.Fatal(err)
		}
	}
	if err := examples.AddText("http://h/3", []string{"farm"}, "cow grass"); err != nil {
		t.Fatal(err)
	}
	m, _, err := critic.Train(t.Context(), &examples, critic.Settings{Exact: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "pets.critic"), m.Marshal(), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, kind := range []string{"fish-search", "shark-search"} {
		args := "guide query " + kind + " $pets.critic --focus pets -o $" + kind
		out, problem, code := said(t, dir, args)
		if code != exitOK || !strings.Contains(out, kind+" for cat dog\n") {
			t.Fatalf("exit %d: %s%s", code, out, problem)
		}
		b, err := os.ReadFile(filepath.Join(dir, kind))
		if err != nil {
			t.Fatal(err)
		}
		g, err := guides.Open(b, predicate.Options{})
		if err != nil || guides.Ranker(g) != kind {
			t.Errorf("%s: %v, %v", kind, g, err)
		}
		if _, problem, code := said(t, dir, args); code == exitOK {
			t.Errorf("it was written over: %s", problem)
		}
		if _, problem, code := said(t, dir, args+" --force"); code != exitOK {
			t.Errorf("--force: %s", problem)
		}
		again, err := os.ReadFile(filepath.Join(dir, kind))
		if err != nil || !bytes.Equal(again, b) {
			t.Errorf("another file the second time (%v)", err)
		}
	}
	for want, args := range map[string]string{
		"wolves":    "$pets.critic --focus wolves -o $new",
		"not a mod": "$fish-search --focus pets -o $new",
		"--focus":   "$pets.critic -o $new",
	} {
		if _, problem, code := said(t, dir, "guide query fish-search "+args); code == exitOK || !strings.Contains(problem, strings.TrimPrefix(want, "not a mod")) {
			t.Errorf("%s: exit %d, %s", args, code, problem)
		}
	}
}
