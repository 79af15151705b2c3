package clickhouse

import (
	"sync"
	"time"

	"forager/infra/local/chdb"
)

const (
	maxSessions       = 64
	defaultSession    = 60 * time.Second
	maxSessionTimeout = time.Hour
)

// sessions are the connections that outlive a request, by session_id.
type sessions struct {
	mu  sync.Mutex
	all map[string]*session
}

type session struct {
	conn  *chdb.Conn
	busy  bool
	timer *time.Timer
}

// take returns the session's connection and a function that releases it; open makes one for a new session.
// mustExist is session_check=1.
func (s *sessions) take(id string, timeout time.Duration, mustExist bool, open func() (*chdb.Conn, error)) (*chdb.Conn, func(), error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	x := s.all[id]
	switch {
	case x != nil && x.busy:
		return nil, nil, refuse(373, "SESSION_IS_LOCKED", "Session %s is locked by a concurrent client", id)
	case x == nil && mustExist:
		return nil, nil, refuse(372, "SESSION_NOT_FOUND", "Session %s not found", id)
	case x == nil && len(s.all) >= maxSessions:
		return nil, nil, refuse(202, "TOO_MANY_SIMULTANEOUS_QUERIES", "The embedded ClickHouse keeps %d sessions at most", maxSessions)
	case x == nil:
		conn, err := open()
		if err != nil {
			return nil, nil, err
		}
		x = &session{conn: conn}
		if s.all == nil {
			s.all = make(map[string]*session)
		}
		s.all[id] = x
	default:
		x.timer.Stop()
	}
	x.busy = true
	return x.conn, func() { s.giveBack(id, x, timeout) }, nil
}

func (s *sessions) giveBack(id string, x *session, timeout time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	x.busy = false
	x.timer = time.AfterFunc(timeout, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.all[id] == x && !x.busy {
			delete(s.all, id)
			x.conn.Close()
		}
	})
}

func (s *sessions) closeAll() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for id, x := range s.all {
		if x.timer != nil {
			x.timer.Stop()
		}
		x.conn.Close()
		delete(s.all, id)
	}
}
