package schemas

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
)

// storedFound calls f with records of link.found as the program before the types of roles wrote them: the role, a name, and the bytes.
func storedFound(t testing.TB, f func(role, name string, b []byte)) {
	t.Helper()
	text, err := os.ReadFile("testdata/v1/link.found.roles")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(line)
		b, err := hex.DecodeString(fields[2])
		if err != nil {
			t.Fatal(err)
		}
		f(fields[0], fields[1], b)
	}
}

func openBytes(b []byte) (Found, error) {
	rec := new(LinkFound)
	if err := proto.Unmarshal(b, rec); err != nil {
		return nil, err
	}
	return OpenFound(rec)
}

// TestStoredRoles: records that were stored before are read in their role, and written as they were.
func TestStoredRoles(t *testing.T) {
	seen := make(map[string]int)
	storedFound(t, func(role, name string, b []byte) {
		found, err := openBytes(b)
		if err != nil || fmt.Sprintf("%T", found) != "schemas."+role {
			t.Fatalf("%s: %T, %v", name, found, err)
		}
		seen[role]++
		again, err := proto.MarshalOptions{Deterministic: true}.Marshal(found.Record())
		if err != nil || !bytes.Equal(again, b) {
			t.Errorf("%s: written as %x, %v", name, again, err)
		}
		between := strings.HasPrefix(role, "Peer")
		if BetweenShards(found) != between || (found.ID() == ID{}) != (role == "PeerNote") {
			t.Errorf("%s: between shards %v, id %v", name, BetweenShards(found), found.ID())
		}
	})
	if len(seen) != 7 {
		t.Errorf("roles %v", seen)
	}
}

// TestRolesRefuse: no record is taken without what its role needs, or with a part of another role.
func TestRolesRefuse(t *testing.T) {
	extras := map[part]func(*LinkFound){
		partAnswer:    func(r *LinkFound) { r.Redirect = "http://a.example/" },
		partURL:       func(r *LinkFound) { r.Url = "http://a.example/" },
		partJudgement: func(r *LinkFound) { r.Judgement = new(Judgement) },
		partLinks:     func(r *LinkFound) { r.Links = []*Link{{Url: "http://a.example/"}} },
		partPeer:      func(r *LinkFound) { r.Depth = 3 },
		partMoved:     func(r *LinkFound) { r.Moved = new(MovedLink) },
		partNote:      func(r *LinkFound) { r.Note = new(ShardNote) },
		partReplay:    func(r *LinkFound) { r.Replay = ID{1}.Bytes() },
	}
	needs := map[string][]func(*LinkFound){
		"Verdict": {
			func(r *LinkFound) { r.Outcome = 99 }, func(r *LinkFound) { r.Outcome = 0 },
			func(r *LinkFound) { r.Outcome, r.Judgement = Outcome_OUTCOME_DELIVERED, nil },
			func(r *LinkFound) {
				r.Outcome, r.Judgement = Outcome_OUTCOME_DELIVERED, &Judgement{Tempered: 1.5}
			},
			func(r *LinkFound) { r.Links = append(r.Links, new(Link)) },
		},
		"Seeds":        {func(r *LinkFound) { r.Links = append(r.Links, new(Link)) }},
		"Replay":       {func(r *LinkFound) { r.Replay = r.Replay[1:] }},
		"PeerLinks":    {func(r *LinkFound) { r.Outcome = Outcome_OUTCOME_TIMEOUT }, func(r *LinkFound) { r.Links = append(r.Links, new(Link)) }},
		"PeerRedirect": {func(r *LinkFound) { r.Links = nil }, func(r *LinkFound) { r.Links = append(r.Links, r.Links[0]) }},
		"PeerNote": {
			func(r *LinkFound) { r.Note.Lease, r.Note.Report = nil, nil },
			func(r *LinkFound) { r.Note.Lease, r.Note.Report = new(ShardLease), new(ShardReport) },
			func(r *LinkFound) { r.From = 1 - min(1, r.From) },
		},
	}
	storedFound(t, func(role, name string, b []byte) {
		refused := func(what string, change func(*LinkFound)) {
			found, err := openBytes(b)
			if err != nil {
				t.Fatal(err)
			}
			change(found.Record())
			if found, err := OpenFound(found.Record()); err == nil {
				t.Errorf("%s with %s: taken as %T", name, what, found)
			}
		}
		found, err := openBytes(b)
		if err != nil {
			t.Fatal(err)
		}
		for p, change := range extras {
			// Links with a moved link are another role.
			if found.parts()&p == 0 && !(role == "PeerLinks" && p == partMoved) {
				refused(p.String(), change)
			}
		}
		for i, change := range needs[role] {
			refused(fmt.Sprintf("change %d", i), change)
		}
		refused("an unknown role", func(r *LinkFound) { r.Role = 3 })
		if role != "PeerNote" {
			refused("no id", func(r *LinkFound) { r.Id = nil })
		}
	})
}

// TestMadeRoles: what is made here is as it was stored.
func TestMadeRoles(t *testing.T) {
	stored := make(map[string]*LinkFound)
	storedFound(t, func(_, name string, b []byte) {
		stored[name] = new(LinkFound)
		if err := proto.Unmarshal(b, stored[name]); err != nil {
			t.Fatal(err)
		}
	})
	replay, err := ReplayOf(&FetchRequest{Id: ID{1}.Bytes(), Crawl: "c", Shard: 2, Url: "http://a.example/"}, time.Unix(1, 2))
	if err != nil {
		t.Fatal(err)
	}
	if found, err := OpenFound(replay); err != nil || found.(Replay).Request() != (ID{1}) || replay.GetShard() != 2 {
		t.Errorf("%v, %v", found, err)
	}
	if _, err := ReplayOf(&FetchRequest{Id: []byte{1}}, time.Unix(1, 2)); err == nil {
		t.Error("a request without a usable id is replayed")
	}
	note, retry := stored["peer-report"], stored["retry"]
	for name, made := range map[string]*LinkFound{
		"seeds":       SeedPage("late", []string{"http://h.example/3", "http://h.example/4"}),
		"retry":       RetryFailed(retry.GetCrawl(), retry.GetShard(), retryRevision(t, retry)),
		"peer-report": NoteTo(note.GetCrawl(), note.GetFrom(), note.GetShard(), note.GetNote()),
	} {
		if !proto.Equal(made, stored[name]) {
			t.Errorf("%s: %v, not %v", name, made, stored[name])
		}
	}
}

// retryRevision finds the revision of a control record that a stored retry names in its id.
func retryRevision(t *testing.T, rec *LinkFound) uint64 {
	for revision := range uint64(1000) {
		if RetryFailed(rec.GetCrawl(), rec.GetShard(), revision).ID() == rec.ID() {
			return revision
		}
	}
	t.Fatal("no revision")
	return 0
}
