package archive_test

import (
	"bytes"
	"fmt"
	"log"
	"time"

	"google.golang.org/protobuf/proto"

	"forager/internal/platform/archive"
	"forager/schemas"
)

// A file of two records is written, and read back by its name.
func Example() {
	var records []archive.Record
	for i, url := range []string{"http://a.example/", "http://b.example/"} {
		value, err := proto.Marshal(&schemas.LinkFound{
			Id: schemas.RequestID("physics", url, 1).Bytes(), Crawl: "physics", Url: url, Outcome: schemas.Outcome_OUTCOME_TIMEOUT,
		})
		if err != nil {
			log.Fatal(err)
		}
		records = append(records, archive.Record{
			Topic: schemas.TopicLinkFound, Partition: 3, Offset: 70 + int64(i), Time: time.UnixMilli(1_700_000_000_000),
			Key: []byte("physics/0"), Headers: map[string]string{schemas.HeaderVersion: "1"}, Value: value,
		})
	}
	var file bytes.Buffer
	name, err := archive.Write(&file, records)
	if err != nil {
		log.Fatal(err)
	}
	read, err := archive.Read(name, file.Bytes())
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(name.Topic, name.Partition, name.First, name.Last)
	for _, r := range read {
		fmt.Println(r.Offset, string(r.Key), len(r.Value), "bytes")
	}
	// Output:
	// link.found 3 70 71
	// 70 physics/0 48 bytes
	// 71 physics/0 48 bytes
}
