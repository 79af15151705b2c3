package contentcoding_test

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"log"

	"forager/internal/web/contentcoding"
)

func ExampleNewReader() {
	var body bytes.Buffer
	z := gzip.NewWriter(&body)
	fmt.Fprint(z, "<html>…</html>")
	if err := z.Close(); err != nil {
		log.Fatal(err)
	}

	r, err := contentcoding.NewReader(&body, "gzip") // the Content-Encoding of the response
	if err != nil {
		log.Fatal(err)
	}
	defer r.Close()
	page, err := io.ReadAll(io.LimitReader(r, 1<<20))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s\n", page)
	// Output: <html>…</html>
}
