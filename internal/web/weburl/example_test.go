package weburl_test

import (
	"fmt"
	"log"

	"forager/internal/web/weburl"
)

func ExampleParse() {
	u, err := weburl.Parse("HTTP://user@Example.COM:80/a/../%7Ejo/index.html#top")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(u)
	fmt.Println(u.Host(), u.PathAndQuery())
	_, err = weburl.Parse("mailto:jo@example.com")
	fmt.Println(err != nil)
	// Output:
	// http://example.com/~jo/index.html
	// example.com /~jo/index.html
	// true
}

func ExampleBase_Resolve() {
	page, err := weburl.Parse("https://example.com/docs/intro.html")
	if err != nil {
		log.Fatal(err)
	}
	base := weburl.NewBase(page)
	for _, href := range []string{"setup.html#linux", "../?page=2", "//cdn.example.com/x"} {
		u, err := base.Resolve(href)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(u)
	}
	// Output:
	// https://example.com/docs/setup.html
	// https://example.com/?page=2
	// https://cdn.example.com/x
}
