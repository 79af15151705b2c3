package dom_test

import (
	"fmt"
	"log"

	"forager/internal/page/dom"
)

const html = `<html lang="en"><title>Bicycles</title>
<p>Clubs in <b>Boston</b> and how to join them.</p>
<ul><li><a href="clubs.html">All clubs</a><li><a href="/about">About us</a></ul>`

func ExampleParse() {
	page, err := dom.Parse([]byte(html), "text/html; charset=utf-8", "http://example.com/bikes/", dom.Settings{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(page.GetTitle())
	for _, link := range page.GetLinks() {
		fmt.Println(link.GetUrl(), "leaves", link.GetFirstLeaf(), "to", link.GetLastLeaf())
	}
	// Output:
	// Bicycles
	// http://example.com/bikes/clubs.html leaves 4 to 4
	// http://example.com/about leaves 5 to 5
}

func ExampleText() {
	fmt.Println(dom.Text([]byte(html), "text/html"))
	// Output:
	// Bicycles
	// Clubs in Boston and how to join them.
	// All clubs
	// About us
}
