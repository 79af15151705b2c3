package main

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"google.golang.org/protobuf/proto"

	"forager/internal/stream"
	"forager/schemas"
)

// produceFunc writes records, as kafka.Client.Produce.
type produceFunc = func(ctx context.Context, outs []stream.Out) ([]stream.Position, error)

// turnLog writes records of fetch.turn in the order in which they are sent, from the first one on in the background.
type turnLog struct {
	produce produceFunc
	log     *slog.Logger
	ctx     context.Context
	abandon context.CancelFunc

	mu      sync.Mutex
	pending []stream.Out
	running bool
	idle    *sync.Cond
}

func newTurnLog(produce produceFunc, log *slog.Logger) *turnLog {
	l := &turnLog{produce: produce, log: log}
	l.ctx, l.abandon = context.WithCancel(context.Background())
	l.idle = sync.NewCond(&l.mu)
	return l
}

// send does not wait. A record that cannot be written is as one that comes late: its turn is asked for again, or ends
// when it has lived long enough.
func (l *turnLog) send(r *schemas.FetchTurn) {
	value, err := proto.Marshal(r)
	if err != nil {
		l.log.Error("turn not sent", "error", err)
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.pending = append(l.pending, stream.Out{
		Topic: schemas.TopicFetchTurn, Key: []byte(r.Address), Value: value,
		Headers: map[string]string{schemas.HeaderVersion: fmt.Sprint(schemas.Version)},
	})
	if !l.running {
		l.running = true
		go l.run()
	}
}

func (l *turnLog) run() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for len(l.pending) > 0 {
		outs := l.pending
		l.pending = nil
		l.mu.Unlock()
		_, err := l.produce(l.ctx, outs)
		l.mu.Lock()
		if err != nil && l.ctx.Err() == nil {
			l.log.Error("turns not sent", "records", len(outs), "error", err)
		}
	}
	l.running = false
	l.idle.Broadcast()
}

// lastTurns is how long the end of a process waits until the ends of its turns are written.
const lastTurns = 5 * time.Second

// close waits until everything is written, for a while.
func (l *turnLog) close() {
	stop := time.AfterFunc(lastTurns, l.abandon)
	defer stop.Stop()
	l.mu.Lock()
	defer l.mu.Unlock()
	for l.running {
		l.idle.Wait()
	}
	l.abandon()
}

// turn takes a record of fetch.turn. The time at which it was read counts, or, of an old one, that at which it
// was written at the latest if clocks differ by clockSkew at most.
func (s *stage) turn(r stream.Record) error {
	turn := &schemas.FetchTurn{}
	if err := proto.Unmarshal(r.Value, turn); err != nil {
		return fmt.Errorf("decode FetchTurn: %w", err)
	}
	at := time.Now()
	if written := r.Time.Add(clockSkew); !r.Time.IsZero() && written.Before(at) {
		at = written
	}
	return s.schedule.takeTurn(at, turn)
}
