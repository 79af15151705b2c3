package controls

import (
	"crypto/sha256"
	"fmt"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"forager/schemas"
)

// Check returns an error that names a field in which a later control record of a crawl differs from the one in force,
// although the field never changes during a crawl (docs/decisions/0010). It returns nil for a record that restores
// the one in force (Restored).
func Check(inForce, later *schemas.CrawlControl) error {
	if _, restored := Restored(later); restored {
		return nil
	}
	field := difference(fixed(inForce).ProtoReflect(), fixed(later).ProtoReflect())
	if field == "" {
		return nil
	}
	return fmt.Errorf("revision %d refused: %s never changes during a crawl, and revision %d stays in force; start another crawl for another value",
		later.GetRevision(), field, inForce.GetRevision())
}

// Restored reports whether a control record was written by prioritize because the one before it in the topic is not
// in force, and returns why that was refused; "" if it was not.
func Restored(ctl *schemas.CrawlControl) (refused string, ok bool) {
	r := ctl.GetRestored()
	return r.GetRefused(), r != nil && r.GetRevision() == ctl.GetRevision()
}

// Digest returns the digest of what never changes in a control record, 16 bytes.
func Digest(ctl *schemas.CrawlControl) ([]byte, error) {
	b, err := proto.MarshalOptions{Deterministic: true}.Marshal(fixed(ctl))
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(b)
	return sum[:16], nil
}

// fixed returns what never changes in a control record. A field that is added here must be empty in the records of
// earlier versions, so that their digests stay the same.
func fixed(ctl *schemas.CrawlControl) *schemas.CrawlControl {
	l := ctl.GetLearning()
	f := &schemas.CrawlControl{
		Scope: ctl.GetScope(), Shards: schemas.ShardsOf(ctl), MaxAttempts: ctl.GetMaxAttempts(),
		Learning: &schemas.Learning{
			DMax: l.GetDMax(), Pairs: l.GetPairs(), MaxPairsPerTarget: l.GetMaxPairsPerTarget(), Features: l.GetFeatures(), Active: l.GetActive(),
		},
	}
	if f.Scope == nil {
		f.Scope = new(schemas.Scope)
	}
	if ctl.GetRenewal() != nil {
		f.Renewal = new(schemas.Renewal)
	}
	return f
}

// difference returns the name of the first field in which two messages differ, "" if they do not.
func difference(a, b protoreflect.Message) string {
	fields := a.Descriptor().Fields()
	for i := range fields.Len() {
		f := fields.Get(i)
		if a.Has(f) == b.Has(f) && a.Get(f).Equal(b.Get(f)) {
			continue
		}
		if f.Message() != nil && a.Has(f) && b.Has(f) {
			return string(f.Name()) + "." + difference(a.Get(f).Message(), b.Get(f).Message())
		}
		return string(f.Name())
	}
	return ""
}
