package experiment

import (
	"reflect"
	"testing"

	"forager/cmd/forager/data"
	"forager/internal/platform/pipeline"
)

// TestDefaultAddressesOfWebs: a web can be served while the pipeline runs, each with its default addresses.
func TestDefaultAddressesOfWebs(t *testing.T) {
	cfg, err := pipeline.Load("../../../pipeline.yaml")
	if err != nil {
		t.Fatal(err)
	}
	used := map[string]bool{}
	for _, s := range cfg.Services() {
		used[s.Address] = true
	}
	if !used["127.0.0.1:18080"] {
		t.Errorf("the monitor is not among %v", used)
	}
	for _, command := range []reflect.Type{reflect.TypeFor[data.ServeWebCommand](), reflect.TypeFor[ServeSimwebCommand]()} {
		field, _ := command.FieldByName("Listen")
		address := field.Tag.Get("default")
		if address == "" || used[address] {
			t.Errorf("%s listens on %q, which must not be one of %v", command, address, used)
		}
		used[address] = true
	}
}
