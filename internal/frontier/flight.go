package frontier

import (
	"encoding/binary"
	"fmt"

	"google.golang.org/protobuf/proto"

	"forager/internal/frontier/queue"
	"forager/internal/frontier/rescore"
	"forager/internal/frontier/state"
	"forager/internal/frontier/storage"
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
	b = storage.AppendBool(binary.AppendUvarint(b, uint64(f.at)), f.asks)
	if f.request == nil {
		return storage.AppendString(b, ""), nil
	}
	r, err := proto.Marshal(f.request)
	if err != nil {
		return nil, fmt.Errorf("frontier: request for %s: %w", f.request.GetUrl(), err)
	}
	return storage.AppendString(b, string(r)), nil
}

func decodeFlight(b []byte) (*flight, error) {
	r := storage.Reader{Rest: b}
	r.Version(flightVersion)
	f := &flight{ordinal: r.U64(), attempt: r.U32(), host: r.U32(), at: r.I64(), asks: r.Bool()}
	if request := r.String(); request != "" && r.Err == nil {
		f.request = new(schemas.FetchRequest)
		if err := proto.Unmarshal([]byte(request), f.request); err != nil {
			r.Fail(err)
		}
	}
	if r.Err == nil && (f.request == nil) != (f.ordinal > 0) {
		r.Fail(storage.ErrNumber)
	}
	if err := r.End(); err != nil {
		return nil, fmt.Errorf("frontier: request in flight: %w", err)
	}
	return f, nil
}

// flights are the requests without a verdict.
type flights struct {
	cfg      *settings
	state    *state.Records
	hosts    *queue.Hosts
	queues   *queue.Queues
	waits    *queue.Waits
	excluder *rescore.Excluder
	byID     map[schemas.ID]*flight
	// asking is the number of those that may query the source of backlinks.
	asking uint64
	// unplaced are recovered requests that no entry has taken over yet, by URL.
	unplaced map[string][]schemas.ID
	// early are, by host, the clocks of dispatches in the log whose causes are not applied yet, ascending; used if hosts have a cap.
	early map[uint32][]uint64
}

// takeOff reserves window, host window and host cap for a request and records it.
func (fs *flights) takeOff(id schemas.ID, f *flight) error {
	h, err := fs.hosts.Host(f.host)
	if err != nil {
		return err
	}
	fs.hold(id, f)
	fs.hosts.CountRequests(h, 1, 1)
	return fs.saveFlight(id, f)
}

// complete releases what takeOff reserved (the host's cap only if uncounted) and returns the
// entry that the verdict is about; nil if the entry is no longer in flight by this attempt.
func (fs *flights) complete(id schemas.ID, f *flight, uncounted bool) (*state.Entry, error) {
	h, err := fs.hosts.Host(f.host)
	if err != nil {
		return nil, err
	}
	fs.release(id, f)
	counted := 0
	if uncounted {
		counted = -1
	}
	fs.hosts.CountRequests(h, -1, counted)
	if err := fs.state.Store.Delete(fs.state.Keys.ID(state.KindFlight, id)); err != nil {
		return nil, err
	}
	if f.request != nil {
		return fs.placeRecovered(id, f.request)
	}
	e, err := fs.state.Entry(f.ordinal)
	if err != nil || e.State != state.InFlight || e.Attempt != f.attempt {
		return nil, err
	}
	return e, nil
}

// flying returns the entry of a request in flight; ok is false if there is none.
func (fs *flights) flying(id schemas.ID) (ordinal uint64, ok bool) {
	f, ok := fs.byID[id]
	if !ok || f.ordinal == 0 {
		return 0, false
	}
	return f.ordinal, true
}

func (fs *flights) saveFlight(id schemas.ID, f *flight) error {
	var err error
	if fs.state.Buffer, err = f.append(fs.state.Buffer[:0]); err != nil {
		return err
	}
	return fs.state.Store.Set(fs.state.Keys.ID(state.KindFlight, id), fs.state.Buffer)
}

// InFlight reads the requests in flight of a shard: their number by host, and that of those that may query backlinks.
func InFlight(s *state.Records) (byHost map[uint32]uint32, all, asking uint64, err error) {
	byHost = make(map[uint32]uint32)
	err = s.Store.Scan(s.Keys.Kind(state.KindFlight), state.After(s.Keys.Kind(state.KindFlight)), func(_, value []byte) (bool, error) {
		f, err := decodeFlight(value)
		if err != nil {
			return false, err
		}
		byHost[f.host]++
		all++
		if f.asks {
			asking++
		}
		return true, nil
	})
	return byHost, all, asking, err
}

// loadFlights reads the requests in flight.
func (fs *flights) loadFlights() error {
	from := append([]byte(nil), fs.state.Keys.Kind(state.KindFlight)...)
	err := fs.state.Store.Scan(from, state.After(from), func(key, value []byte) (bool, error) {
		id, err := schemas.ParseID(key[len(from):])
		if err != nil {
			return false, err
		}
		f, err := decodeFlight(value)
		if err != nil {
			return false, err
		}
		fs.hold(id, f)
		if f.request != nil {
			fs.unplaced[f.request.GetUrl()] = append(fs.unplaced[f.request.GetUrl()], id)
		}
		return true, nil
	})
	if err != nil {
		return err
	}
	for id, f := range fs.byID {
		h, err := fs.hosts.Host(f.host)
		if err != nil {
			return fmt.Errorf("request %s in flight: %w", id, err)
		}
		h.InFlight++
	}
	return nil
}
