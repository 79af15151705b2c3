package storage

import (
	"bytes"
	"encoding/binary"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// TestMemory compares a Memory with a map, also where keys lose and get values.
func TestMemory(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m, want := NewMemory(), make(map[string]string)
		key := rapid.StringN(0, 2, 2)
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			k := key.Draw(t, "key")
			switch rapid.IntRange(0, 9).Draw(t, "operation") {
			case 0:
				_ = m.Delete([]byte(k))
				delete(want, k)
			case 1:
				to := key.Draw(t, "to")
				_ = m.DeleteRange([]byte(k), []byte(to))
				maps.DeleteFunc(want, func(x, _ string) bool { return x >= k && x < to })
			case 2:
				m = m.Clone()
			default:
				want[k] = rapid.SampledFrom([]string{"", "", "v", "another"}).Draw(t, "value")
				_ = m.Set([]byte(k), []byte(want[k]))
			}
			value, known := want[k]
			if v, ok, _ := m.Get([]byte(k)); ok != known || string(v) != value {
				t.Fatalf("%q is %q, %t, want %q, %t", k, v, ok, value, known)
			}
		}
		var keys []string
		_ = m.Scan(nil, []byte("\xff\xff\xff"), func(k, v []byte) (bool, error) {
			if keys = append(keys, string(k)); string(v) != want[string(k)] {
				t.Fatalf("%q has %q, want %q", k, v, want[string(k)])
			}
			return true, nil
		})
		if !slices.Equal(keys, slices.Sorted(maps.Keys(want))) {
			t.Fatalf("keys %q, want those of %q", keys, want)
		}
	})
}

// BenchmarkMemory moves keys without values, as queues do, among 60,000.
func BenchmarkMemory(b *testing.B) {
	m, r := NewMemory(), rand.New(rand.NewPCG(1, 1))
	key := func(n uint64) []byte {
		return binary.BigEndian.AppendUint64(bytes.Repeat([]byte("prefix"), 5), n*0x9E3779B97F4A7C15)
	}
	const held = 60_000
	for n := range uint64(held) {
		_ = m.Set(key(n), nil)
	}
	next := uint64(held)
	for b.Loop() {
		_ = m.Delete(key(next - 1 - r.Uint64N(held)))
		_ = m.Set(key(next), nil)
		next++
	}
}
