package audit

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"google.golang.org/protobuf/proto"

	"forager/internal/platform/progress"
	"forager/schemas"
)

// load reads all topics and tables. Records that are not retained are reconstructed from ClickHouse's rows.
func (j *judge) load() error {
	for _, topic := range Read {
		way := Topic{Topic: topic, Way: ByRecords}
		if slices.Contains(Audited, topic) {
			var err error
			if way, err = j.src.Way(j.ctx, topic); err != nil {
				return fmt.Errorf("topic %s: %w", topic, err)
			}
			j.Ways = append(j.Ways, way)
		}
		if way.Way != ByRecords {
			continue
		}
		if err := j.src.Records(j.ctx, topic, func(r *Record) error {
			j.take(topic, r)
			return cmp.Or(j.err, progress.Add(j.ctx, 1))
		}); err != nil {
			return fmt.Errorf("topic %s: %w", topic, err)
		}
	}
	for _, table := range Compared {
		if err := j.loadRows(table); err != nil {
			return fmt.Errorf("read ClickHouse: %s: %w", table.Name, err)
		}
	}
	err := j.src.Rows(j.ctx, Books, nil, func(_ Place, row []string) error { return j.record(row) })
	if err == nil {
		err = j.src.Rows(j.ctx, Named, nil, func(_ Place, row []string) error { j.put(keyOf(kindSegment, []byte(row[0])), nil); return j.err })
	}
	if err != nil {
		return fmt.Errorf("read ClickHouse: %w", err)
	}
	return j.err
}

// readFigures adds the numbers of records read.
func (j *judge) readFigures() {
	for _, topic := range slices.Concat(Read, []string{sentTopic}) {
		if topic == schemas.TopicPageParsed || (topic == sentTopic || topic == schemas.TopicPageRejudged) && j.distinct[topic] == 0 {
			continue
		}
		j.figure(topic+": distinct records", j.distinct[topic])
		j.figure(topic+": copies", j.copies[topic])
	}
	j.figure("dispatches of replaced owners, void", j.void)
}

// sentTopic is the name, in figures, of what shards sent to one another.
const sentTopic = "links sent to other shards"

// loadRows stores the rows of a table, and reconstructs the topic's records if they are not retained.
func (j *judge) loadRows(table Table) error {
	rebuilt, sample := j.byCounts(table.Topic), j.Sample
	if rebuilt {
		sample = nil
	}
	prefix := named(table.Name)
	return j.src.Rows(j.ctx, table, sample, func(at Place, row []string) error {
		j.rows[table.Name]++
		if j.Sample.HasRow(row) {
			j.put(keyOf(kindRow, prefix, named(row[0]), be64(at.At), be32(at.Position)), pack(row[1:]))
		}
		switch {
		case !rebuilt:
		case table.Name == "links":
			id, err := schemas.ParseHex(row[3])
			if err != nil {
				return fmt.Errorf("row %v: %w", row, err)
			}
			j.put(keyOf(kindLink, id[:], be64(at.At), be32(at.Position)), []byte(row[2]))
		default:
			m, err := messageOf(table.Topic, j.Crawl, row)
			if err != nil {
				return fmt.Errorf("row %v: %w", row, err)
			}
			id, _ := schemas.ParseID(idOf(m))
			j.take(table.Topic, &Record{Place: at.At, Message: m, ID: id})
		}
		return cmp.Or(j.err, progress.Add(j.ctx, 1))
	})
}

// pack encodes texts as one value, unpack decodes it.
func pack(texts []string) []byte {
	var b []byte
	for _, t := range texts {
		b = binary.AppendUvarint(b, uint64(len(t)))
		b = append(b, t...)
	}
	return b
}

func unpack(b []byte) (texts []string) {
	for len(b) > 0 {
		n, w := binary.Uvarint(b)
		texts = append(texts, string(b[w:w+int(n)]))
		b = b[w+int(n):]
	}
	return texts
}

// idOf is the id of a message that is read.
func idOf(m proto.Message) []byte {
	if m, ok := m.(*schemas.PageRejudged); ok {
		return m.GetRequest()
	}
	return m.(interface{ GetId() []byte }).GetId()
}

// take stores a record: the first of an id.
func (j *judge) take(topic string, r *Record) {
	if r.Void {
		j.void++
		return
	}
	if topic == schemas.TopicPageParsed {
		j.put(keyOf(kindParsed, r.ID[:]), nil)
		return
	}
	id, err := schemas.ParseID(idOf(r.Message))
	var found schemas.Found
	if v, ok := r.Message.(*schemas.LinkFound); ok {
		found = schemas.FoundIn(v)
	}
	if note, ok := found.(schemas.PeerNote); ok {
		if schemas.ShardsOf(j.Control) > 1 {
			j.put(keyOf(kindNote, be32(note.GetShard()), be64(r.Place)), j.encode(note.Record()))
		}
		return
	}
	if err != nil {
		j.problem("%s: a record has no usable id: %v", topic, err)
		return
	}
	if schemas.BetweenShards(found) {
		topic = sentTopic
	}
	if !j.keep(topic, id, r) {
		j.copies[topic]++
		return
	}
	if topic != schemas.TopicLeapSettled {
		j.distinct[topic]++
	}
	if r.Counted && topic != schemas.TopicLeapSettled {
		j.count(topic, id)
	}
	if r.Unreadable {
		n := j.unreadable[topic]
		n.add(1, id[:])
		j.unreadable[topic] = n
		j.put(keyOf(kindUnread, named(topic), id[:]), nil)
	}
}

func (j *judge) count(topic string, id schemas.ID) {
	n := j.found[topic]
	n.add(1, id[:])
	j.found[topic] = n
}

// keep writes a record, unless there is one of its id. All copies of leaps are written; duplicates are found when they are read.
func (j *judge) keep(topic string, id schemas.ID, r *Record) (first bool) {
	set := func(kind byte, value []byte) bool {
		key := keyOf(kind, id[:])
		if j.has(key) {
			return false
		}
		j.put(key, value)
		return true
	}
	switch m := r.Message.(type) {
	case *schemas.FetchRequest:
		if !set(kindRequest, j.encode(m)) {
			if !proto.Equal(j.request(id), m) {
				j.problem("%s: %s is there twice and the two differ", topic, id)
			}
			return false
		}
		j.put(keyOf(kindOrder, be32(m.GetShard()), be64(m.GetOrdinal()), id[:]), nil)
		j.put(keyOf(kindAttempt, named(m.GetUrl()), be32(m.GetAttempt())), id[:])
	case *schemas.PageFetched:
		if !set(kindFetched, j.encode(m)) {
			return false
		}
		if m.GetOutcome() == schemas.Outcome_OUTCOME_DELIVERED {
			j.put(keyOf(kindStored, named(m.GetObject()), be64(m.GetOffset()), id[:]), nil)
		}
	case *schemas.PageJudged:
		return set(kindJudged, j.encode(&schemas.PageJudged{Id: m.GetId(), Outcome: m.GetOutcome(), Judgement: m.GetJudgement()}))
	case *schemas.LinkFound:
		if topic == sentTopic {
			if !set(kindSent, nil) {
				return false
			}
		} else if !j.keepVerdict(set, m, id, r.Place) {
			return false
		}
		j.put(keyOf(kindTick, be32(m.GetShard()), be64(r.Place)), id[:])
	case *schemas.LeapSettled:
		kept := proto.CloneOf(m)
		kept.Features = nil
		j.put(keyOf(kindLeap, id[:], be64(r.Place)), j.encode(kept))
	case *schemas.HubRanked:
		if !set(kindRanking, j.encode(m)) {
			return false
		}
		for _, row := range hubRows(m) {
			j.expect("hubs", row)
		}
	case *schemas.PageRejudged:
		return j.expect("rejudgements", rejudgedRow(m))
	}
	return true
}

// expect writes a row that a table must have, unless there is one of its id.
func (j *judge) expect(table string, row []string) (first bool) {
	key := keyOf(kindExpected, named(table), []byte(row[0]))
	if first = !j.has(key); first {
		j.put(key, pack(row[1:]))
	}
	return first
}

func (j *judge) keepVerdict(set func(byte, []byte) bool, v *schemas.LinkFound, id schemas.ID, place uint64) bool {
	kept := &schemas.LinkFound{
		Id: v.GetId(), Crawl: v.GetCrawl(), Shard: v.GetShard(), Url: v.GetUrl(), Outcome: v.GetOutcome(), Status: v.GetStatus(),
		Redirect: v.GetRedirect(), Judgement: v.GetJudgement(), Replay: v.GetReplay(),
	}
	if !set(kindVerdict, append(be64(place), j.encode(kept)...)) {
		return false
	}
	j.put(keyOf(kindApplied, be64(place)), id[:])
	for i, l := range v.GetLinks() {
		j.put(keyOf(kindLink, id[:], be64(place), be32(uint32(i))), []byte(l.GetUrl()))
	}
	return true
}

// dispatches checks ids, and that attempts are consecutive.
func (j *judge) dispatches() {
	var url []byte
	n, gap := uint32(0), uint32(0)
	over := func() {
		if gap > 0 {
			j.problem("%s was dispatched %d times, but never as attempt %d", url, n, gap)
		}
	}
	j.each(kindAttempt).all(func(e entry) {
		at := len(e.key) - 5
		if !bytes.Equal(url, e.key[:at]) {
			over()
			url, n, gap = e.key[:at], 0, 0
		}
		if n++; binary.BigEndian.Uint32(e.key[at+1:]) != n && gap == 0 {
			gap = n
		}
		if r, want := schemas.ID(e.value), schemas.RequestID(j.Crawl, string(url), binary.BigEndian.Uint32(e.key[at+1:])); r != want {
			j.problem("request %s for %s attempt %d should have the id %s", r, url, binary.BigEndian.Uint32(e.key[at+1:]), want)
		}
	})
	over()
}

// store compares delivered pages with the object store: every object that the crawl names in full, or the pages of the sample.
func (j *judge) store() error {
	read, records, segments := 0, 0, 0
	var object []byte
	var err error
	j.each(kindStored).all(func(e entry) {
		if err != nil || j.err != nil {
			return
		}
		at := len(e.key) - len(schemas.ID{}) - 9
		id := schemas.ID(e.key[at+9:])
		if j.Sample == nil && (object == nil || !bytes.Equal(object, e.key[:at])) {
			object = e.key[:at]
			var s Segment
			if s, err = j.src.Segment(j.ctx, string(object)); err != nil {
				return
			}
			segments, records = segments+1, records+s.Records
			for _, err := range s.Errs {
				j.problem("segment %s: %v", object, err)
			}
		}
		j.put(keyOf(kindSegment, e.key[:at]), nil)
		if j.Sample.has(id[:]) && j.page(id) {
			read++
		}
	})
	if err = errors.Join(err, j.err); err != nil {
		return err
	}
	orphans := 0
	err = j.src.Objects(j.ctx, func(name string) error {
		if !j.has(keyOf(kindSegment, []byte(name))) {
			orphans++
		}
		return j.err
	})
	j.figure("pages read by range with their digest", read)
	if j.Sample == nil {
		j.figure("segments", segments)
		j.figure("WARC records read", records)
	}
	j.figure("segments of the store that no record of any crawl names (orphans, or still under way)", orphans)
	return err
}

// page compares a delivered page with its record, read by range.
func (j *judge) page(id schemas.ID) (ok bool) {
	f := j.fetched(id)
	if f == nil {
		return false
	}
	switch p := j.src.Page(j.ctx, f); {
	case p.Err != nil && j.ctx.Err() != nil:
		j.err = j.ctx.Err()
	case p.Err != nil:
		j.problem("page %s (%s) cannot be read from %s at %d: %v", id, f.GetUrl(), f.GetObject(), f.GetOffset(), p.Err)
	case p.URL != f.GetUrl():
		j.problem("page %s (%s): the record in %s at %d is of %s", id, f.GetUrl(), f.GetObject(), f.GetOffset(), p.URL)
	case p.Digest != f.GetDigest():
		j.problem("page %s (%s): the stored bytes have digest %s, announced was %s", id, f.GetUrl(), p.Digest, f.GetDigest())
	default:
		return true
	}
	return false
}
