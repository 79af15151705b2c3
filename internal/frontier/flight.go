package frontier

import (
	"encoding/binary"
	"fmt"

	"google.golang.org/protobuf/proto"

	"forager/schemas"
)

// flight is a request that was dispatched and has no verdict yet.
type flight struct {
	// ordinal of its entry; 0 for a recovered request whose URL (or whose earlier attempt) the
	// state does not have yet: then request is kept.
	ordinal uint64
	attempt uint32
	host    uint32
	// at is when it was dispatched, Unix milliseconds.
	at int64
	// asks: the source of backlinks may be queried about its page, which is one more request (backlink.go).
	asks    bool
	request *schemas.FetchRequest
}

const flightVersion = 2

func (f *flight) append(b []byte) ([]byte, error) {
	b = append(b, flightVersion)
	b = binary.AppendUvarint(b, f.ordinal)
	b = binary.AppendUvarint(b, uint64(f.attempt))
	b = binary.AppendUvarint(b, uint64(f.host))
	b = appendBool(binary.AppendUvarint(b, uint64(f.at)), f.asks)
	if f.request == nil {
		return appendString(b, ""), nil
	}
	r, err := proto.Marshal(f.request)
	if err != nil {
		return nil, fmt.Errorf("frontier: request for %s: %w", f.request.GetUrl(), err)
	}
	return appendString(b, string(r)), nil
}

func decodeFlight(b []byte) (*flight, error) {
	r := reader{b: b}
	r.version(flightVersion)
	f := &flight{ordinal: r.u64(), attempt: r.u32(), host: r.u32(), at: r.i64(), asks: r.bool()}
	if request := r.string(); request != "" && r.err == nil {
		f.request = new(schemas.FetchRequest)
		if err := proto.Unmarshal([]byte(request), f.request); err != nil {
			r.fail(err)
		}
	}
	if r.err == nil && (f.request == nil) != (f.ordinal > 0) {
		r.fail(errNumber)
	}
	if err := r.end(); err != nil {
		return nil, fmt.Errorf("frontier: request in flight: %w", err)
	}
	return f, nil
}

// takeOff reserves window, host window and host cap for a request and remembers it.
func (s *Shard) takeOff(id schemas.ID, f *flight) error {
	h, err := s.host(f.host)
	if err != nil {
		return err
	}
	s.hold(id, f)
	h.inFlight++
	s.countDispatched(h, 1)
	s.refresh(h)
	return s.saveFlight(id, f)
}

// land releases what takeOff reserved (the host's cap only if uncounted) and returns the
// entry that the verdict is about; nil if the entry is no longer in flight by this attempt.
func (s *Shard) land(id schemas.ID, f *flight, uncounted bool) (*entry, error) {
	h, err := s.host(f.host)
	if err != nil {
		return nil, err
	}
	s.release(id, f)
	if uncounted {
		s.countDispatched(h, -1)
	}
	h.inFlight--
	s.refresh(h)
	if err := s.store.Delete(s.keys.id(kindFlight, id)); err != nil {
		return nil, err
	}
	if f.request != nil {
		return s.landUnplaced(id, f.request)
	}
	e, err := s.entry(f.ordinal)
	if err != nil || e.state != stateFlight || e.attempt != f.attempt {
		return nil, err
	}
	return e, nil
}

func (s *Shard) saveFlight(id schemas.ID, f *flight) error {
	var err error
	if s.value, err = f.append(s.value[:0]); err != nil {
		return err
	}
	return s.store.Set(s.keys.id(kindFlight, id), s.value)
}

// loadFlights reads the requests in flight.
func (s *Shard) loadFlights() error {
	from := append([]byte(nil), s.keys.kind(kindFlight)...)
	err := s.store.Scan(from, after(from), func(key, value []byte) (bool, error) {
		id, err := schemas.ParseID(key[len(from):])
		if err != nil {
			return false, err
		}
		f, err := decodeFlight(value)
		if err != nil {
			return false, err
		}
		s.hold(id, f)
		if f.request != nil {
			s.unplaced[f.request.GetUrl()] = append(s.unplaced[f.request.GetUrl()], id)
		}
		return true, nil
	})
	if err != nil {
		return err
	}
	for id, f := range s.flights {
		h, err := s.host(f.host)
		if err != nil {
			return fmt.Errorf("request %s in flight: %w", id, err)
		}
		h.inFlight++
	}
	return nil
}
