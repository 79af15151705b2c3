package strictyaml

import (
	"fmt"
	"testing"
)

func TestBytesHaveUnits(t *testing.T) {
	for text, want := range map[string]int64{"64MiB": 64 << 20, "3 GiB": 3 << 30, "1KiB": 1 << 10, "0MiB": 0, "2TiB": 2 << 40, "77": 77, "1e6": 1_000_000} {
		var v struct {
			Size int64 `yaml:"size"`
		}
		if p := Decode(fmt.Appendf(nil, "size: %s", text), &v).Problems(); len(p) > 0 || v.Size != want {
			t.Errorf("%s: %d, want %d: %v", text, v.Size, want, p)
		}
	}
	for _, text := range []string{"-1MiB", "1.5GiB", "MiB", "9999999999TiB", "8388608TiB", "1MB", "[1]"} {
		var v struct {
			Size int64 `yaml:"size"`
		}
		if p := Decode(fmt.Appendf(nil, "size: %s", text), &v).Problems(); len(p) != 1 {
			t.Errorf("%s is read as %d: %v", text, v.Size, p)
		}
	}
}

func FuzzBytes(f *testing.F) {
	f.Add(int64(0))
	f.Add(int64(3 << 30))
	f.Add(int64(1<<62 + 1))
	f.Fuzz(func(t *testing.T, n int64) {
		var v struct {
			Size int64 `yaml:"size"`
		}
		if p := Decode([]byte("size: "+FormatBytes(n)), &v).Problems(); n >= 0 && (len(p) > 0 || v.Size != n) {
			t.Errorf("%d is written as %s and read as %d: %v", n, FormatBytes(n), v.Size, p)
		}
	})
}
