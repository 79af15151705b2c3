package clickhouse

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"forager/infra/local/chdb"
)

const (
	// keepFree is the disk space, in bytes, that the engine leaves free.
	keepFree = 64 << 20
	// metadataFree is the disk space, in bytes, that a statement needs which changes tables. On a full disk the engine writes
	// empty files of metadata and mutations without an error, and does not open the folder again.
	metadataFree = 16 << 20
	// lookEvery is the interval of checks of the free space.
	lookEvery = 200 * time.Millisecond
	// mendEvery is the interval of checks of parts while there is little space: the engine keeps the source
	// parts of a merge for eight minutes.
	mendEvery = time.Minute
	// quietWait is how long repairing a table waits for statements to end; then they fail.
	quietWait = 30 * time.Second
	// attachAgain is the pause between two attempts to attach a table.
	attachAgain = 100 * time.Millisecond
)

// below reports whether the disk has less free space than that, in bytes.
func (s *Server) below(limit uint64) bool {
	free, err := s.free()
	return err == nil && free < limit
}

// watch repairs what merges lost while there was little space, until ctx ends.
func (s *Server) watch(ctx context.Context) {
	ticker := time.NewTicker(lookEvery)
	defer ticker.Stop()
	// since and until delimit the time with too little space; due is the time of the next check of parts.
	var since, until, due time.Time
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		now := time.Now()
		switch low := s.below(keepFree); {
		case low && since.IsZero():
			since, until, due = now, time.Time{}, now.Add(mendEvery)
		case low:
			until = time.Time{}
		case since.IsZero():
			continue
		case until.IsZero():
			until, due = now, now
		}
		if now.Before(due) {
			continue
		}
		due = now.Add(mendEvery)
		done, err := s.mend(ctx, since, until)
		switch {
		case err != nil && ctx.Err() == nil:
			s.log.Error("ClickHouse's parts cannot be checked after the disk was full; it is tried again", "error", err)
		case done && !until.IsZero():
			since = time.Time{}
		}
	}
}

// mend checks every part written since then, and reloads a table that has a broken one: the engine then
// detaches the broken part and restores its source parts. It is done when no merge is running that began before
// until.
func (s *Server) mend(ctx context.Context, since, until time.Time) (done bool, err error) {
	conn, err := chdb.Connect(s.dir, s.args...)
	if err != nil {
		return false, err
	}
	defer conn.Close()
	going, err := rows(conn, fmt.Sprintf("SELECT 1 FROM system.merges WHERE elapsed >= %f", time.Since(until).Seconds()))
	if err != nil {
		return false, err
	}
	parts, err := rows(conn, fmt.Sprintf("SELECT database, table, name FROM system.parts WHERE active AND modification_time >= %d ORDER BY ALL", since.Unix()-1))
	if err != nil {
		return false, err
	}
	var failures []error
	mended := map[string]bool{}
	for _, part := range parts {
		table := quote(part[0], '`') + "." + quote(part[1], '`')
		if mended[table] || ctx.Err() != nil {
			continue
		}
		sound, err := rows(conn, "CHECK TABLE "+table+" PART "+quote(part[2], '\'')+" SETTINGS check_query_single_value_result = 1")
		if err == nil && len(sound) == 1 && sound[0][0] == "0" {
			mended[table] = true
			s.log.Warn("the full disk broke a part in ClickHouse: its table is loaded again from what the part was made of", "table", table, "part", part[2])
			err = s.reload(ctx, conn, table)
		}
		if err != nil {
			failures = append(failures, fmt.Errorf("table %s, part %s: %w", table, part[2], err))
		}
	}
	return len(going) == 0 && failures == nil, errors.Join(failures...)
}

// reload detaches a table and attaches it again, while no other statement runs.
func (s *Server) reload(ctx context.Context, conn *chdb.Conn, table string) error {
	defer s.quiet(ctx)()
	if _, err := rows(conn, "DETACH TABLE "+table); err != nil {
		return err
	}
	for {
		// A table that is still in use after DETACH cannot be attached.
		_, err := rows(conn, "ATTACH TABLE "+table)
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return err // the next start attaches it
		case <-time.After(attachAgain):
		}
	}
}

// quiet acquires the slots of all statements, as far as they end within quietWait, and returns a function that releases them.
func (s *Server) quiet(ctx context.Context) (giveBack func()) {
	ctx, cancel := context.WithTimeout(ctx, quietWait)
	defer cancel()
	var taken []chan struct{}
	for _, places := range []chan struct{}{s.writes, s.reads} {
		for range cap(places) {
			select {
			case places <- struct{}{}:
				taken = append(taken, places)
			case <-ctx.Done():
			}
		}
	}
	return func() {
		for _, places := range taken {
			<-places
		}
	}
}

// rows returns the fields of a statement's result.
func rows(conn *chdb.Conn, sql string) ([][]string, error) {
	r, err := conn.Query(sql, "TabSeparatedRaw")
	if err != nil {
		return nil, err
	}
	defer r.Free()
	var all [][]string
	for line := range strings.Lines(string(r.Data)) {
		all = append(all, strings.Split(strings.TrimSuffix(line, "\n"), "\t"))
	}
	return all, nil
}
