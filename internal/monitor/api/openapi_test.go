package api

import (
	"bytes"
	"encoding/json"
	"flag"
	"net/http"
	"os"
	"testing"
)

var update = flag.Bool("update", false, "write openapi.json")

// TestTheDescriptionIsUpToDate compares openapi.json with what the program serves.
func TestTheDescriptionIsUpToDate(t *testing.T) {
	compact, err := json.Marshal(Register(http.NewServeMux(), nil))
	if err != nil {
		t.Fatal(err)
	}
	var got bytes.Buffer
	if err := json.Indent(&got, compact, "", "  "); err != nil {
		t.Fatal(err)
	}
	got.WriteByte('\n')
	if *update {
		if err := os.WriteFile("openapi.json", got.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile("openapi.json")
	if err != nil || !bytes.Equal(got.Bytes(), want) {
		t.Errorf("openapi.json is not what the program serves (%v): go test ./internal/monitor/api -update writes it", err)
	}
}
