package stateful_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"

	"forager/internal/stream"
	"forager/internal/stream/stateful"
	"forager/schemas"
)

// Lots draws a number for each record of its input, and no record may get two: the smallest
// stage for which it matters that a decision is made once.
type Lots struct {
	Store *stateful.Store
	Log   string // topic of the decisions
	Owner int
	Epoch uint64
	// Stepped is called with the number of records that the state has counted.
	Stepped func(seen int)
}

func (l *Lots) key(name string) []byte { return []byte("lot/" + name) }

func (l *Lots) Recover(r stream.Record) error { return l.Store.Set(l.key(string(r.Key)), r.Value) }

func (l *Lots) Step(_ context.Context, w stateful.Work) (stateful.Result, error) {
	var res stateful.Result
	seen, err := l.seen()
	if err != nil {
		return res, err
	}
	for _, r := range w.Records {
		name := string(r.Key)
		_, ok, err := l.Store.Get(l.key(name))
		if err != nil {
			return res, err
		}
		if !ok {
			value := strconv.AppendUint(nil, rand.Uint64(), 36)
			if err := l.Store.Set(l.key(name), value); err != nil {
				return res, err
			}
			res.Outs = append(res.Outs, l.decision(name, value))
		}
		seen++
		if err := l.Store.Set([]byte("seen"), strconv.AppendInt(nil, int64(seen), 10)); err != nil {
			return res, err
		}
	}
	if l.Stepped != nil {
		l.Stepped(seen)
	}
	return res, nil
}

func (l *Lots) decision(name string, value []byte) stream.Out {
	return stream.Out{Topic: l.Log, Partition: -1, Key: []byte(name), Value: value, Headers: map[string]string{
		schemas.HeaderVersion: "1", schemas.HeaderID: schemas.URLID(name).String(),
		schemas.HeaderOwner: strconv.Itoa(l.Owner), schemas.HeaderEpoch: strconv.FormatUint(l.Epoch, 10),
	}}
}

func (l *Lots) seen() (int, error) {
	value, ok, err := l.Store.Get([]byte("seen"))
	if err != nil || !ok {
		return 0, err
	}
	return strconv.Atoi(string(value))
}

// State is what was drawn, by name, and the number of records counted.
func (l *Lots) State() (map[string]string, int, error) {
	drawn := map[string]string{}
	if err := l.Store.Scan([]byte("lot/"), []byte("lot0"), func(k, v []byte) (bool, error) {
		drawn[strings.TrimPrefix(string(k), "lot/")] = string(v)
		return true, nil
	}); err != nil {
		return nil, 0, err
	}
	n, err := l.seen()
	return drawn, n, err
}

// FencedLots are the decisions of an owner as a reader of the log gets them, given partition by
// partition: those that are void are left out. It fails where one name was given two values.
func FencedLots(log [][]stream.Record, owner int, ignoreFence bool) (map[string]string, error) {
	drawn := map[string]string{}
	for _, records := range log {
		var fence stream.Fence
		for _, r := range records {
			kind, err := fence.Read(&r)
			if err != nil {
				return nil, err
			}
			if ignoreFence && kind == stream.Void {
				kind = stream.Decision
			}
			if kind != stream.Decision || r.Headers[schemas.HeaderOwner] != strconv.Itoa(owner) {
				continue
			}
			if was, ok := drawn[string(r.Key)]; ok && was != string(r.Value) {
				return nil, fmt.Errorf("lot %s was drawn twice: %s and %s", r.Key, was, r.Value)
			}
			drawn[string(r.Key)] = string(r.Value)
		}
	}
	return drawn, nil
}
