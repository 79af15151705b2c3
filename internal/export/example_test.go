package export_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"forager/internal/export"
)

// A file appears under its name only when it is complete.
func ExampleCreate() {
	dir, err := os.MkdirTemp("", "export-*")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "pages.urls")

	target, err := export.Create(context.Background(), path, false)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Fprintln(target, "http://example.com/")
	_, err = os.Stat(path)
	fmt.Println("before Commit:", os.IsNotExist(err))
	if err := target.Commit(); err != nil {
		log.Fatal(err)
	}
	content, err := os.ReadFile(path)
	fmt.Printf("after Commit: %s %v\n", content, err)
	// Output:
	// before Commit: true
	// after Commit: http://example.com/
	//  <nil>
}
