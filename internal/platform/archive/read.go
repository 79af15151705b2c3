package archive

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/parquet-go/parquet-go"
)

// ErrDamaged means that the content of a file is not the one of its name.
var ErrDamaged = errors.New("damaged")

// Read returns the records of a file, checked: its bytes against the digest in the name, its
// rows against the offsets there and their digest in the footer. Every fault is ErrDamaged.
func Read(n Name, data []byte) ([]Record, error) {
	var records []Record
	if err := each(n, data, func(p *place) { records = append(records, p.record()) }); err != nil {
		return nil, err
	}
	return records, nil
}

// Verify checks a file as Read does, and its number of rows, without returning the records.
func Verify(n Name, data []byte, rows int) error {
	got := 0
	if err := each(n, data, func(*place) { got++ }); err != nil {
		return err
	}
	if got != rows {
		return fmt.Errorf("%s: %w: %d rows, want %d", n.Key(), ErrDamaged, got, rows)
	}
	return nil
}

// each calls f for the places of a file's records. They are invalid if each returns an error.
func each(n Name, data []byte, f func(*place)) error {
	sum := sha256.Sum256(data)
	if got := hex.EncodeToString(sum[:])[:digestLength]; got != n.Digest {
		return fmt.Errorf("%s: %w: %d bytes whose digest is %s", n.Key(), ErrDamaged, len(data), got)
	}
	first, last := int64(-1), int64(-1)
	var foreign error
	err := decode(data, func(p *place) {
		if first < 0 {
			first = p.Offset
		}
		last = p.Offset
		if p.Topic != n.Topic || int(p.Partition) != n.Partition {
			foreign = fmt.Errorf("a row of %s/%d", p.Topic, p.Partition)
		}
		f(p)
	})
	switch {
	case err != nil:
	case foreign != nil:
		err = foreign
	case first != n.First || last != n.Last:
		err = fmt.Errorf("its rows are offsets %d to %d", first, last)
	default:
		return nil
	}
	return fmt.Errorf("%s: %w: %w", n.Key(), ErrDamaged, err)
}

// decode calls f for each row of a file and checks the rows against its footer. The bytes are not
// trusted: a panic of the Parquet library is a fault of the file.
func decode(data []byte, f func(*place)) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("no Parquet file that can be read: %v", p)
		}
	}()
	file, err := parquet.OpenFile(bytes.NewReader(data), int64(len(data)), parquet.SkipPageIndex(true), parquet.SkipBloomFilters(true))
	if err != nil {
		return err
	}
	switch v, ok := file.Lookup(metaVersion); {
	case !ok:
		return errors.New("another program wrote it")
	case v != strconv.Itoa(Version):
		return fmt.Errorf("version %q of the archive, and this program reads %d: run the version of Forager that wrote it, or a newer one", v, Version)
	}
	in := parquet.NewGenericReader[place](file)
	defer in.Close()
	content, count, before := newDigest(), int64(0), int64(-1)
	rows := make([]place, batchRows)
	for {
		n, err := in.Read(rows)
		for i := range rows[:n] {
			p := &rows[i]
			if p.Offset <= before {
				return fmt.Errorf("offset %d behind %d", p.Offset, before)
			}
			before = p.Offset
			content.add(p)
			count++
			f(p)
		}
		clear(rows)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return fmt.Errorf("row %d: %w", count, err)
		}
		if n == 0 {
			return fmt.Errorf("row %d is not there", count)
		}
	}
	if count != file.NumRows() {
		return fmt.Errorf("%d rows, the footer has %d", count, file.NumRows())
	}
	if want, _ := file.Lookup(metaDigest); content.String() != want {
		return errors.New("the records are not those that were written: their digest differs")
	}
	return nil
}
