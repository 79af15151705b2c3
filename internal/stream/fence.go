package stream

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"forager/schemas"
)

// Fence finds the void records of one partition of a decision log. An owner writes three kinds of
// records, distinguished by their headers alone:
//
//   - its claim: owner, no id, no epoch (or epoch 0). Its epoch is the claim's offset + 1.
//   - its markers, one in each partition: owner, epoch, no id.
//   - its decisions: owner, epoch, id.
//
// A decision after a marker of the same owner with a higher epoch is void: it was written by an
// older process that had lost the partition and did not know it yet.
//
// The zero Fence has read no marker. A Fence is not safe for concurrent use.
type Fence struct{ epochs map[uint32]uint64 }

// Kind is the kind of a record of a decision log.
type Kind int

const (
	// Decision is a record to be processed; also one without an owner, which cannot be void.
	Decision Kind = iota
	// Claim and Marker announce an owner and are not processed.
	Claim
	Marker
	// Void is a decision of an owner that had been superseded.
	Void
)

// OwnerHeaders returns the headers of an owner's claim (epoch 0) and of its markers.
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

// Read returns the kind of the record; a marker is noted. Records must be read in the order of
// their offsets.
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

// Mark notes a marker.
func (f *Fence) Mark(owner uint32, epoch uint64) {
	if f.epochs == nil {
		f.epochs = map[uint32]uint64{}
	}
	f.epochs[owner] = max(f.epochs[owner], epoch)
}

// Epoch returns the highest epoch of the owner's markers; 0 = none was read.
func (f *Fence) Epoch(owner uint32) uint64 { return f.epochs[owner] }

// Clone returns an independent copy.
func (f *Fence) Clone() Fence { return Fence{maps.Clone(f.epochs)} }

// String returns the fence in the form of a commit's metadata: "fence1 0=17 3=22"; owners
// ascending, numbers in base 36.
func (f *Fence) String() string {
	var b strings.Builder
	b.WriteString("fence1")
	for _, owner := range slices.Sorted(maps.Keys(f.epochs)) {
		fmt.Fprintf(&b, " %s=%s", strconv.FormatUint(uint64(owner), 36), strconv.FormatUint(f.epochs[owner], 36))
	}
	return b.String()
}

// ParseFence parses the form of String; "" is the zero Fence.
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
