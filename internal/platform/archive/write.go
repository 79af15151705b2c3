package archive

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress/zstd"

	"forager/schemas"
)

const (
	// groupBytes of record values end a row group; the writer keeps one in memory.
	groupBytes = 8 << 20
	// batchRows is the number of rows passed to the Parquet library at a time.
	batchRows = 64
)

// compression keeps the buffers of its encoder, 8 MiB, from file to file.
var compression = &zstd.Codec{Level: zstd.SpeedFastest}

// Keys of a file's metadata in the footer.
const (
	metaVersion = "forager.archive" // Version
	metaTopic   = "forager.topic"
	metaDigest  = "forager.records.sha256" // digest of the records
)

// Write writes records of one partition, ascending by offset, as one file and returns its name. The
// same records make the same bytes.
func Write(w io.Writer, records []Record) (Name, error) {
	if len(records) == 0 {
		return Name{}, errors.New("a file of no records")
	}
	first, last := &records[0], &records[len(records)-1]
	n := Name{Topic: first.Topic, Partition: first.Partition, First: first.Offset, Last: last.Offset}
	for i := range records {
		r := &records[i]
		if r.Topic != n.Topic || r.Partition != n.Partition || i > 0 && r.Offset <= records[i-1].Offset {
			return Name{}, fmt.Errorf("%s/%d offset %d behind %s/%d offset %d in one file", r.Topic, r.Partition, r.Offset, n.Topic, n.Partition, records[max(i, 1)-1].Offset)
		}
	}
	sum := sha256.New()
	w = io.MultiWriter(w, sum)
	var err error
	switch n.Topic {
	case schemas.TopicPageJudged:
		err = writeRows(w, records, judgedRowOf)
	case schemas.TopicLinkFound:
		err = writeRows(w, records, foundRowOf)
	case schemas.TopicLeapSettled:
		err = writeRows(w, records, settledRowOf)
	default:
		err = errors.New("the topic is not archived")
	}
	if err != nil {
		return Name{}, fmt.Errorf("write %s/%d offsets %d–%d as Parquet: %w", n.Topic, n.Partition, n.First, n.Last, err)
	}
	n.Digest = hex.EncodeToString(sum.Sum(nil))[:digestLength]
	return n, nil
}

func writeRows[T any](w io.Writer, records []Record, rowOf func(place) T) error {
	out := parquet.NewGenericWriter[T](w,
		parquet.Compression(compression), parquet.CreatedBy("forager", strconv.Itoa(Version), ""),
		parquet.DataPageStatistics(true))
	content := newDigest()
	rows := make([]T, 0, batchRows)
	held := 0
	for i := range records {
		p := placeOf(&records[i])
		content.add(&p)
		rows = append(rows, rowOf(p))
		held += len(p.Record)
		end := held >= groupBytes || i == len(records)-1
		if len(rows) < batchRows && !end {
			continue
		}
		if _, err := out.Write(rows); err != nil {
			return err
		}
		clear(rows)
		rows = rows[:0]
		if end {
			if err := out.Flush(); err != nil {
				return err
			}
			held = 0
		}
	}
	out.SetKeyValueMetadata(metaVersion, strconv.Itoa(Version))
	out.SetKeyValueMetadata(metaTopic, records[0].Topic)
	out.SetKeyValueMetadata(metaDigest, content.String())
	return out.Close()
}
