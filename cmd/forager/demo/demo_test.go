package demo

import (
	"reflect"
	"strings"
	"testing"
)

func TestSettingOf(t *testing.T) {
	for text, want := range map[string]any{
		"stages.fetch.concurrency=8": 8, "stages.fetch.linger=20ms": "20ms", "kafka.brokers=[a, b]": []any{"a", "b"}, "data=": nil,
	} {
		x, err := SettingOf(text)
		name, _, _ := strings.Cut(text, "=")
		if err != nil || !reflect.DeepEqual(x.Value, want) || strings.Join(x.Path, ".") != name {
			t.Errorf("%s: %+v, %v", text, x, err)
		}
	}
	for _, text := range []string{"", "stages.fetch.concurrency", "=8", "data=[a"} {
		if x, err := SettingOf(text); err == nil {
			t.Errorf("%q is read as %+v", text, x)
		}
	}
}
