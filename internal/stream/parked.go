package stream

import (
	"encoding/json"
	"errors"
	"strings"
	"time"
)

const (
	// maxMetadata bounds the metadata of a commit, bytes; brokers accept 4096.
	maxMetadata = 3800
	// maxNamed bounds the units that the metadata of a commit names.
	maxNamed = 16
)

// Missing is Unavailable(err) with the name of the missing object (a model, a control record).
func Missing(object string, err error) error {
	if err == nil {
		return nil
	}
	return Unavailable(&missing{object, err})
}

type missing struct {
	object string
	err    error
}

func (m *missing) Error() string { return m.object + ": " + m.err.Error() }
func (m *missing) Unwrap() error { return m.err }

// Parked describes the records of a unit that wait for a missing object.
type Parked struct {
	// Unit is the crawl.
	Unit string `json:"crawl"`
	// Object is the missing object, Cause the error.
	Object string    `json:"object"`
	Cause  string    `json:"cause"`
	Since  time.Time `json:"since"`
	// Records that wait.
	Records int `json:"records"`
	// Offsets of the records, in base 36: the first, and then the differences.
	Offsets string `json:"offsets,omitempty"`
}

// Because notes why the records wait.
func (p *Parked) Because(cause error) {
	p.Cause, p.Object = short(cause.Error()), ""
	if m := (*missing)(nil); errors.As(cause, &m) {
		p.Object, p.Cause = short(m.object), short(m.err.Error())
	}
}

// ParkedCommit is the metadata of a commit of a claim with parked records.
type ParkedCommit struct {
	// High is the offset after the last record that was completed or parked. 0: the lists did not fit, and the records
	// after the committed offset are handled once more.
	High   int64    `json:"high,omitempty"`
	Parked []Parked `json:"parked"`
}

// String returns the metadata as it is committed, without offsets, or without some crawls, where it would be
// too long.
func (m *ParkedCommit) String() string {
	b, err := json.Marshal(m)
	if err == nil && len(b) <= maxMetadata {
		return string(b)
	}
	m.High, m.Parked = 0, m.Parked[:min(len(m.Parked), maxNamed)]
	for i := range m.Parked {
		m.Parked[i].Offsets = ""
	}
	for b, err = json.Marshal(m); err == nil && len(b) > maxMetadata; b, err = json.Marshal(m) {
		m.Parked = m.Parked[:len(m.Parked)-1]
	}
	return string(b)
}

// short truncates a text for the metadata of a commit.
func short(s string) string {
	s = strings.ToValidUTF8(strings.Join(strings.Fields(s), " "), "?")
	if r := []rune(s); len(r) > 160 {
		return string(r[:159]) + "…"
	}
	return s
}
