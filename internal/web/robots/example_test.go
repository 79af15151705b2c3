package robots_test

import (
	"fmt"

	"forager/internal/web/robots"
)

func ExampleParse() {
	file := robots.Parse([]byte(`
User-agent: *
Disallow: /private/
Allow: /private/notes.html

User-agent: forager
Disallow: /*?sort=
Crawl-delay: 2
`))
	fmt.Println(file.Allowed("otherbot", "/private/x"))
	fmt.Println(file.Allowed("otherbot", "/private/notes.html"))
	fmt.Println(file.Allowed("forager", "/private/x")) // only the group of its name applies
	fmt.Println(file.Allowed("forager", "/list?sort=name"))
	fmt.Println(file.CrawlDelay("forager"))
	// Output:
	// false
	// true
	// true
	// false
	// 2s true
}
