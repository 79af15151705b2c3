package report

import (
	"slices"
	"strings"
	"testing"

	"forager/schemas"
)

// TestNotesOfShards: a report notes what rankers lack if each shard learns by itself.
func TestNotesOfShards(t *testing.T) {
	ctl := &schemas.CrawlControl{
		Learning: &schemas.Learning{Features: []schemas.FeatureFamily{schemas.FeatureFamily_FEATURE_FAMILY_COCITATION}},
		Policies: []*schemas.Policy{{Name: "soft-focus"}, {Name: "distilled", Raise: true}},
	}
	if notes := shardNotes(ctl); notes != nil {
		t.Errorf("one shard: %q", notes)
	}
	ctl.Shards = 3
	var heads []string
	for _, note := range shardNotes(ctl) {
		head, rest, _ := strings.Cut(note, ": ")
		if heads = append(heads, head); !strings.Contains(rest, "of the 3 shards") {
			t.Errorf("%q", note)
		}
	}
	if !slices.Equal(heads, []string{"co-citation features", "distilled"}) {
		t.Errorf("notes on %q", heads)
	}
}
