package storedpage

import (
	"bytes"
	"strings"
	"testing"
	"unsafe"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"
	"pgregory.net/rapid"

	"forager/schemas"
)

// TestPagesComeBack: pages are as they were, by the terms of the writer and by those read again, and equal terms are in memory once.
func TestPagesComeBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		terms := rapid.SliceOf(rapid.SampledFrom([]string{"", "a", "ab", "b", "世界", "é"}))
		var written, read Terms
		var file []byte
		var want []*schemas.Page
		var sections []Section
		for range rapid.IntRange(1, 5).Draw(t, "pages") {
			p := &schemas.Page{Url: "u", Terms: terms.Draw(t, "terms"), Tokens: []uint32{uint32(len(file))}, Links: []*schemas.Link{{Url: "v"}}}
			want = append(want, proto.CloneOf(p))
			page, err := Encode(p)
			if err != nil {
				t.Fatal(err)
			}
			body := written.Put(page)
			sections = append(sections, Section{At: int64(len(file)), Size: len(body)})
			file = append(file, body...)
		}
		for _, term := range written.List { // as from a file
			read.List = append(read.List, strings.Clone(term))
		}
		for _, all := range []*Terms{&written, &read} {
			at := make(map[string]*byte)
			for i, s := range sections {
				s.File, s.Terms = bytes.NewReader(file), all
				have, err := s.Page()
				if err != nil {
					t.Fatal(err)
				}
				if d := cmp.Diff(want[i], have, protocmp.Transform()); d != "" {
					t.Fatal(d)
				}
				for _, term := range have.GetTerms() {
					p := unsafe.StringData(term)
					if first, ok := at[term]; ok && first != p && term != "" {
						t.Fatalf("%q is in memory twice", term)
					}
					at[term] = p
				}
				s.Terms = new(Terms)
				if _, err := s.Page(); (err == nil) != (len(have.GetTerms()) == 0) {
					t.Fatalf("terms that are not there: %v", err)
				}
			}
		}
	})
}
