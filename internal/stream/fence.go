package stream

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"forager/schemas"
)

// Fence says, for one partition of a decision log, which records are void. An owner announces
// itself in three kinds of records, told apart by their headers alone:
//
//   - its claim: owner, no id, no epoch (or epoch 0). Its epoch is the claim's offset + 1.
//   - its markers, one in each partition: owner, epoch, no id.
//   - its decisions: owner, epoch, id.
//
// A decision behind a marker of the same owner with a higher epoch is void: it was written by
// an older process that had lost the partition and did not know it yet.
//
// The zero Fence has seen no marker. A Fence is not safe for concurrent use.
type Fence struct{ epochs map[uint32]uint64 }

// Kind is what a record of a decision log is.
type Kind int

const (
	// Decision is a record to act upon (also one without an owner: it cannot be void).
	Decision Kind = iota
	// Claim and Marker announce an owner; nobody acts upon them.
	Claim
	Marker
	// Void is a decision of an owner that had been replaced.
	Void
)

// OwnerHeaders are the headers of an owner's claim (epoch 0) and of its markers.
func OwnerHeaders(owner uint32, epoch uint64) map[string]string {
	h := map[string]string{
		schemas.HeaderVersion: strconv.Itoa(schemas.Version),
		schemas.HeaderOwner:   strconv.FormatUint(uint64(owner), 10),
	}
	if epoch != 0 {
		h[schemas.HeaderEpoch] = strconv.FormatUint(epoch, 10)
	}
	return h
}

// Read says what the record is and, for a marker, remembers it. Records must be given in the
// order of their offsets.
func (f *Fence) Read(r *Record) (Kind, error) {
	text, ok := r.Headers[schemas.HeaderOwner]
	if !ok {
		return Decision, nil
	}
	owner, err := strconv.ParseUint(text, 10, 32)
	if err != nil {
		return Decision, fmt.Errorf("header %q: %w", schemas.HeaderOwner, err)
	}
	var epoch uint64
	if text, ok := r.Headers[schemas.HeaderEpoch]; ok {
		if epoch, err = strconv.ParseUint(text, 10, 64); err != nil {
			return Decision, fmt.Errorf("header %q: %w", schemas.HeaderEpoch, err)
		}
	}
	if r.Headers[schemas.HeaderID] == "" {
		if epoch == 0 {
			return Claim, nil
		}
		f.Mark(uint32(owner), epoch)
		return Marker, nil
	}
	if epoch < f.epochs[uint32(owner)] {
		return Void, nil
	}
	return Decision, nil
}

// Mark remembers a marker.
func (f *Fence) Mark(owner uint32, epoch uint64) {
	if f.epochs == nil {
		f.epochs = map[uint32]uint64{}
	}
	f.epochs[owner] = max(f.epochs[owner], epoch)
}

// Epoch is the highest epoch of a marker of the owner; 0 = none was seen.
func (f *Fence) Epoch(owner uint32) uint64 { return f.epochs[owner] }

// Clone returns an independent copy.
func (f *Fence) Clone() Fence { return Fence{maps.Clone(f.epochs)} }

// String writes the fence as it is kept in a commit's metadata: "fence1 0=17 3=22"; owners
// ascending, numbers in base 36.
func (f *Fence) String() string {
	var b strings.Builder
	b.WriteString("fence1")
	for _, owner := range slices.Sorted(maps.Keys(f.epochs)) {
		fmt.Fprintf(&b, " %s=%s", strconv.FormatUint(uint64(owner), 36), strconv.FormatUint(f.epochs[owner], 36))
	}
	return b.String()
}

// ParseFence reads what String wrote; "" is the zero Fence.
func ParseFence(s string) (Fence, error) {
	var f Fence
	if s == "" {
		return f, nil
	}
	fields := strings.Fields(s)
	if len(fields) == 0 || fields[0] != "fence1" {
		return f, fmt.Errorf("commit metadata %q is not a fence", s)
	}
	for _, field := range fields[1:] {
		o, e, _ := strings.Cut(field, "=")
		owner, err := strconv.ParseUint(o, 36, 32)
		if err != nil {
			return Fence{}, fmt.Errorf("commit metadata %q: owner: %w", s, err)
		}
		epoch, err := strconv.ParseUint(e, 36, 64)
		if err != nil {
			return Fence{}, fmt.Errorf("commit metadata %q: epoch: %w", s, err)
		}
		f.Mark(uint32(owner), epoch)
	}
	return f, nil
}
