package warc_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"log"
	"time"

	"forager/internal/web/warc"
)

func ExampleReader() {
	var file bytes.Buffer
	w := warc.NewWriter(&file)
	if _, _, err := w.Response(&warc.Page{
		ID: [16]byte{1}, URL: "http://example.com/", Date: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC),
		Status: 200, Reason: "OK", Header: warc.Header{{Name: "Content-Type", Value: "text/html"}}, Body: []byte("<h1>Hello</h1>"),
	}); err != nil {
		log.Fatal(err)
	}

	r := warc.NewReader(bytes.NewReader(file.Bytes()), int64(file.Len()), warc.Limits{})
	for {
		record, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			log.Fatal(err)
		}
		response, err := record.Response()
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(record.Type, record.TargetURI, record.Date.Format(time.RFC3339))
		fmt.Printf("%d %s\n", response.Status, response.Body)
	}
	// Output:
	// response http://example.com/ 2026-01-02T03:04:05Z
	// 200 <h1>Hello</h1>
}
