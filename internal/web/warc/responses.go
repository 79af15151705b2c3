package warc

import (
	"errors"
	"io"
	"iter"
	"os"
)

// Responses yields the response records of the file at path, in their order, each valid until the next. With an
// error the record is nil; after a *DamagedError they continue, any other is the last.
func Responses(path string) iter.Seq2[*Record, error] {
	return func(yield func(*Record, error) bool) {
		file, err := os.Open(path)
		if err != nil {
			yield(nil, err)
			return
		}
		defer file.Close()
		info, err := file.Stat()
		if err != nil {
			yield(nil, err)
			return
		}
		for r := NewReader(file, info.Size(), Limits{}); ; {
			record, err := r.Next()
			if err == io.EOF {
				return
			}
			if err == nil && record.Type != TypeResponse {
				continue
			}
			var damaged *DamagedError
			if !yield(record, err) || err != nil && !errors.As(err, &damaged) {
				return
			}
		}
	}
}
