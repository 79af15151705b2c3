package schemas

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Found is a record of link.found in its role: a Verdict, Seeds, Replay, Retry, PeerLinks, PeerRedirect or PeerNote, which
// are views of the record. Each role is recognized by fields of the record, and here alone (docs/decisions/0212).
type Found interface {
	// Record returns the record itself.
	Record() *LinkFound
	// ID returns the id of the record; zero for a PeerNote.
	ID() ID
	// lacks returns what a record of the role needs and the record does not have.
	lacks() error
	// parts are the parts of LinkFound that the role may have.
	parts() part
}

// Roles of records that follow from a request or from what an operator asks for, sent to the shard that they are for.
type (
	// Verdict is the verdict on a request: its outcome, and of a delivered page the judgement and links.
	Verdict struct{ *LinkFound }
	// Seeds is a virtual page whose links are seeds.
	Seeds struct{ *LinkFound }
	// Replay asks for one more attempt at a request that a stage could not handle.
	Replay struct{ *LinkFound }
	// Retry asks for new tries of all URLs of a shard whose tries are used up.
	Retry struct{ *LinkFound }
)

// Roles of records that one shard sends to another.
type (
	// PeerLinks are the links of a page, or of seeds, that lead to hosts of the shard.
	PeerLinks struct{ *LinkFound }
	// PeerRedirect is one link that a redirect brought to a host of the shard.
	PeerRedirect struct{ *LinkFound }
	// PeerNote is a lease from shard 0, or a report to it.
	PeerNote struct{ *LinkFound }
)

// FoundIn returns a record in its role, unchecked; nil if the role is unknown.
func FoundIn(rec *LinkFound) Found {
	switch rec.GetRole() {
	case LinkRole_LINK_ROLE_VERDICT:
		switch rec.GetOutcome() {
		case Outcome_OUTCOME_SEEDS:
			return Seeds{rec}
		case Outcome_OUTCOME_REPLAY:
			return Replay{rec}
		case Outcome_OUTCOME_RETRY_FAILED:
			return Retry{rec}
		}
		return Verdict{rec}
	case LinkRole_LINK_ROLE_LINKS:
		if rec.GetMoved() != nil {
			return PeerRedirect{rec}
		}
		return PeerLinks{rec}
	case LinkRole_LINK_ROLE_NOTE:
		return PeerNote{rec}
	}
	return nil
}

// OpenFound returns a record in its role. It returns an error if the role is unknown, if the record lacks something that the role
// needs, or if it has something that the role may not have.
func OpenFound(rec *LinkFound) (Found, error) {
	found := FoundIn(rec)
	if found == nil {
		return nil, fmt.Errorf("unknown role %v", rec.GetRole())
	}
	if extra := rec.parts() &^ found.parts(); extra != 0 {
		return nil, fmt.Errorf("a %T may not have %v", found, extra)
	}
	if _, note := found.(PeerNote); !note {
		if _, err := ParseID(rec.GetId()); err != nil {
			return nil, err
		}
	}
	if err := found.lacks(); err != nil {
		return nil, fmt.Errorf("a %T of %q: %w", found, rec.GetUrl(), err)
	}
	return found, nil
}

// BetweenShards reports whether one shard sent the record to another; all others count in the spans of a crawl's status.
func BetweenShards(found Found) bool {
	switch found.(type) {
	case PeerLinks, PeerRedirect, PeerNote:
		return true
	}
	return false
}

// Record returns the record.
func (x *LinkFound) Record() *LinkFound { return x }

// ID returns the id of the record; zero if it has none.
func (x *LinkFound) ID() ID {
	id, _ := ParseID(x.GetId())
	return id
}

// part is a set of parts of LinkFound.
type part uint8

const (
	partAnswer    part = 1 << iota // what fetch reports of the request
	partURL                        // of the page, or of the request to be replayed
	partJudgement                  // with the leaf table
	partLinks
	partPeer // sender and depth
	partMoved
	partNote
	partReplay
)

var partNames = [...]string{"what belongs to a request", "a URL", "a judgement or leaf table", "links", "a sending shard or depth", "a moved link", "a note", "a request to be replayed"}

func (p part) String() string {
	var names []string
	for i, name := range partNames {
		if p&(1<<i) != 0 {
			names = append(names, name)
		}
	}
	return strings.Join(names, ", ")
}

// parts returns the parts that a record has.
func (x *LinkFound) parts() (has part) {
	for p, is := range [...]bool{
		len(x.GetRequest()) > 0 || x.GetDetail() != "" || x.GetStatus() != 0 || x.GetRedirect() != "" || x.GetNotBefore() != 0 ||
			x.GetFetchedAt() != 0 || x.GetFingerprint() != 0 || x.GetCut(),
		x.GetUrl() != "", x.GetJudgement() != nil || x.GetTable() != nil, len(x.GetLinks()) > 0, x.GetFrom() != 0 || x.GetDepth() != 0,
		x.GetMoved() != nil, x.GetNote() != nil, len(x.GetReplay()) > 0,
	} {
		if is {
			has |= 1 << p
		}
	}
	return has
}

func (Verdict) parts() part      { return partAnswer | partURL | partJudgement | partLinks }
func (Seeds) parts() part        { return partLinks }
func (Replay) parts() part       { return partURL | partReplay }
func (Retry) parts() part        { return 0 }
func (PeerLinks) parts() part    { return partURL | partJudgement | partLinks | partPeer }
func (PeerRedirect) parts() part { return PeerLinks{}.parts() | partMoved }
func (PeerNote) parts() part     { return partPeer | partNote }

func (v Verdict) lacks() error {
	consequence, known := Outcomes[v.GetOutcome()]
	if !known {
		return fmt.Errorf("unknown outcome %v", v.GetOutcome())
	}
	if consequence.Page {
		return v.lacksJudgement()
	}
	return v.lacksURLs()
}

// lacksJudgement checks what a delivered page has.
func (x *LinkFound) lacksJudgement() error {
	j := x.GetJudgement()
	if j == nil || !probability(j.GetRaw()) || !probability(j.GetTempered()) || !probability(j.GetCalibrated()) {
		return fmt.Errorf("a delivered page needs a judgement of numbers in [0,1], not %v", j)
	}
	return x.lacksURLs()
}

func (x *LinkFound) lacksURLs() error {
	for i, l := range x.GetLinks() {
		if l.GetUrl() == "" {
			return fmt.Errorf("link %d has no URL", i)
		}
	}
	return nil
}

func probability(p float64) bool { return p >= 0 && p <= 1 } // false for NaN

func (s Seeds) lacks() error { return s.lacksURLs() }

func (r Replay) lacks() error {
	_, err := ParseID(r.GetReplay())
	return err
}

// Request returns the id of the request to be tried once more.
func (r Replay) Request() ID { return ID(r.GetReplay()) }

func (Retry) lacks() error { return nil }

func (p PeerLinks) lacks() error {
	switch p.GetOutcome() {
	case Outcome_OUTCOME_SEEDS:
		return p.lacksURLs()
	case Outcome_OUTCOME_DELIVERED:
		return p.lacksJudgement()
	}
	return fmt.Errorf("links of a page with the outcome %v", p.GetOutcome())
}

func (p PeerRedirect) lacks() error {
	if len(p.GetLinks()) != 1 {
		return fmt.Errorf("a redirect brings %d links, not one", len(p.GetLinks()))
	}
	return PeerLinks(p).lacks()
}

// Link returns the link, whose URL is the target of the redirect.
func (p PeerRedirect) Link() *Link { return p.GetLinks()[0] }

func (n PeerNote) lacks() error {
	lease, report := n.GetNote().GetLease() != nil, n.GetNote().GetReport() != nil
	if lease == report || report != (n.GetFrom() != 0) {
		return errors.New("a note is a lease of shard 0 or a report to it")
	}
	return nil
}

// SeedPage returns the record that begins a crawl: Seeds whose links are canonical URLs. Its id is a function of the list, so that
// the same list counts once.
func SeedPage(crawl string, seeds []string) *LinkFound {
	sum := sha256.Sum256([]byte(strings.Join(seeds, "\n")))
	id := RequestID(crawl, "seeds:"+hex.EncodeToString(sum[:]), 0)
	r := &LinkFound{Id: id.Bytes(), Crawl: crawl, Outcome: Outcome_OUTCOME_SEEDS}
	for i, u := range seeds {
		r.Links = append(r.Links, &Link{Url: u, Position: uint32(i)})
	}
	return r
}

// ReplayOf returns the Replay of a request. What asks again at another time counts as another record.
func ReplayOf(request *FetchRequest, at time.Time) (*LinkFound, error) {
	id, err := ParseID(request.GetId())
	if err != nil {
		return nil, err
	}
	own := RequestID(request.GetCrawl(), fmt.Sprintf("replay:%s:%d", id, at.UnixNano()), 0)
	return &LinkFound{
		Id: own.Bytes(), Crawl: request.GetCrawl(), Shard: request.GetShard(), Url: request.GetUrl(), Outcome: Outcome_OUTCOME_REPLAY, Replay: id.Bytes(),
	}, nil
}

// RetryFailed returns the Retry of a shard; one revision of a control record gives one at most.
func RetryFailed(crawl string, shard uint32, revision uint64) *LinkFound {
	id := makeID("retry failed", crawl, strconv.FormatUint(uint64(shard), 10), strconv.FormatUint(revision, 10))
	return &LinkFound{Id: id.Bytes(), Crawl: crawl, Shard: shard, Outcome: Outcome_OUTCOME_RETRY_FAILED}
}

// NoteTo returns the PeerNote from one shard to another.
func NoteTo(crawl string, from, to uint32, note *ShardNote) *LinkFound {
	return &LinkFound{Crawl: crawl, Shard: to, From: from, Role: LinkRole_LINK_ROLE_NOTE, Note: note}
}

// LinksID is the id of the PeerLinks to a shard that the page of a request (or of seeds) has.
func LinksID(page ID, to uint32) ID {
	return makeID("links", string(page[:]), strconv.FormatUint(uint64(to), 10))
}

// MovedID is the id of the PeerRedirect of a link of u to a target.
func MovedID(crawl, u, target string, l *MovedLink) ID {
	return makeID("moved", crawl, u, target, l.GetNamed(), l.GetBy(),
		strconv.FormatUint(uint64(l.GetMoves()), 10), strconv.FormatUint(l.GetClock(), 10))
}
