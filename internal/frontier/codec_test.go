package frontier

import (
	"bytes"
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"forager/internal/frontier/storage"
	"forager/internal/rank/policy"
	"forager/schemas"
)

// FuzzDecodeFlight decodes requests in flight, and arms of a mixture.
func FuzzDecodeFlight(f *testing.F) {
	f.Add(appendArm(nil, policy.Arm{Alpha: 2.5, Beta: 1, Chosen: 300, Credited: 2, Reward: 1.5}))
	for _, fl := range []*flight{{ordinal: 4, attempt: 1, at: 7}, {attempt: 2, asks: true, request: &schemas.FetchRequest{Url: "u"}}} {
		b, err := fl.append(nil)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if a, err := decodeArm(b); err == nil && !bytes.Equal(appendArm(nil, a), b) {
			t.Errorf("arm %x comes back as %x", b, appendArm(nil, a))
		}
		if fl, err := decodeFlight(b); err == nil {
			if _, err := fl.append(nil); err != nil {
				t.Errorf("flight %x: %v", b, err)
			}
		}
	})
}

func TestMemory(t *testing.T) { testStore(t, storage.NewMemory()) }

func TestLagging(t *testing.T) { testStore(t, newLagging()) }

// TestShipped checks that the stages' Store conforms to Store.
func TestShipped(t *testing.T) { testStore(t, shippedFor(t)) }

// testStore compares a store with a map.
func testStore(tb *testing.T, s storage.Store) {
	rapid.Check(tb, func(t *rapid.T) {
		commit(tb, s) // range deletions in a batch make it slow
		if err := s.DeleteRange([]byte{1}, []byte{0xff}); err != nil {
			t.Fatal(err)
		}
		want := map[string]string{}
		key := rapid.StringMatching(`[a-c]{1,3}`)
		for range rapid.IntRange(1, 50).Draw(t, "steps") {
			k, v := key.Draw(t, "key"), key.Draw(t, "value")
			var err error
			switch rapid.IntRange(0, 4).Draw(t, "op") {
			case 0, 1:
				err = s.Set([]byte(k), []byte(v))
				want[k] = v
			case 2:
				err = s.Delete([]byte(k))
				delete(want, k)
			case 3:
				to := key.Draw(t, "to")
				if k > to {
					k, to = to, k
				}
				err = s.DeleteRange([]byte(k), []byte(to))
				for x := range want {
					if x >= k && x < to {
						delete(want, x)
					}
				}
			}
			if err != nil {
				t.Fatal(err)
			}
			got, ok, err := s.Get([]byte(k))
			if w, has := want[k]; err != nil || ok != has || string(got) != w {
				t.Fatalf("get %s: %q %t %v, want %q %t", k, got, ok, err, w, has)
			}
		}
		commit(tb, s)
		var keys [][]byte
		for _, k := range slices.Sorted(maps.Keys(want)) {
			keys = append(keys, []byte(k), []byte(k+"-")) // the second one is not there
		}
		committed := map[string]string{}
		if err := s.ReadCommitted(keys, func(i int, value []byte) error {
			committed[string(keys[i])] = string(value)
			return nil
		}); err != nil || !maps.Equal(committed, want) {
			t.Fatalf("committed is %v, want %v (%v)", committed, want, err)
		}
		scan := s.Scan
		if rapid.Bool().Draw(t, "committed") {
			scan = s.ScanCommitted
		}
		from, to, most := key.Draw(t, "from"), key.Draw(t, "to"), rapid.IntRange(1, 9).Draw(t, "most")
		var got, expect []string
		err := scan([]byte(from), []byte(to), func(k, v []byte) (bool, error) {
			got = append(got, string(k)+"="+string(v))
			return len(got) < most, nil
		})
		if err != nil {
			t.Fatal(err)
		}
		for k, v := range want {
			if k >= from && k < to {
				expect = append(expect, k+"="+v)
			}
		}
		slices.Sort(expect)
		if expect = expect[:min(most, len(expect))]; !slices.Equal(got, expect) {
			t.Fatalf("scan %s–%s: %v, want %v", from, to, got, expect)
		}
	})
}
