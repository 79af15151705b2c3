package segment

import (
	"bytes"
	"encoding/hex"
	"io"
	"strings"

	"forager/internal/web/warc"
	"forager/schemas"
)

// mostAttempts is the highest attempt that Holds tries.
const mostAttempts = 1000

// Holds reports whether a segment holds pages of these crawls and nothing else. The id of a page's
// record is that of its request, RequestID(crawl, URL, attempt), which identifies the crawl. The
// result is false if a record cannot be read or is of an attempt beyond the thousandth.
func Holds(data []byte, crawls []string) bool {
	r := warc.NewReader(bytes.NewReader(data), int64(len(data)), warc.Limits{Block: maxRecord})
	for {
		record, err := r.Next()
		if err == io.EOF {
			return true
		}
		if err != nil || record.Type != warc.TypeWarcinfo && !isOf(record, crawls) {
			return false
		}
	}
}

func isOf(record *warc.Record, crawls []string) bool {
	id, err := hex.DecodeString(strings.ReplaceAll(strings.TrimPrefix(record.ID, "urn:uuid:"), "-", ""))
	if err != nil || len(id) != len(schemas.ID{}) {
		return false
	}
	for attempt := range uint32(mostAttempts) {
		for _, crawl := range crawls {
			if schemas.RequestID(crawl, record.TargetURI, attempt+1) == schemas.ID(id) {
				return true
			}
		}
	}
	return false
}
