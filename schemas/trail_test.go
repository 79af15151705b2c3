package schemas_test

import (
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"forager/schemas"
)

func TestATrailNamesEveryPlaceInOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := rapid.SliceOf(rapid.Custom(func(t *rapid.T) schemas.Place {
			return schemas.Place{
				Topic:     rapid.SampledFrom([]string{schemas.TopicPageFetched, schemas.TopicPageParsed, schemas.TopicPageJudged}).Draw(t, "topic"),
				Partition: rapid.Uint32().Draw(t, "partition"), Offset: rapid.Int64Min(0).Draw(t, "offset"),
			}
		})).Draw(t, "places")
		first := map[string]string{schemas.HeaderCrawl: "c"}
		h := maps.Clone(first)
		for _, p := range want {
			before := maps.Clone(h)
			on := schemas.WithTrail(h, p)
			if !maps.Equal(h, before) {
				t.Fatalf("the record's own headers changed: %v", h)
			}
			h = on
		}
		got, err := schemas.ParseTrail(h[schemas.HeaderTrail])
		if err != nil || !slices.Equal(got, want) {
			t.Fatalf("%v (%v), want %v", got, err, want)
		}
		if delete(h, schemas.HeaderTrail); !maps.Equal(h, first) {
			t.Fatalf("other headers changed: %v", h)
		}
	})
}

func FuzzParseTrail(f *testing.F) {
	for _, s := range []string{"", "page.fetched/3/1207", "a/0/0 b/4294967295/9223372036854775807", "a//1", "a/1/-1", " ", "a/1/2 "} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		places, err := schemas.ParseTrail(s)
		if err != nil {
			return
		}
		h := map[string]string{}
		for _, p := range places {
			h = schemas.WithTrail(h, p)
		}
		again, err := schemas.ParseTrail(h[schemas.HeaderTrail])
		if err != nil || !slices.Equal(again, places) {
			t.Fatalf("%q: %v, written again %v (%v)", s, places, again, err)
		}
	})
}
