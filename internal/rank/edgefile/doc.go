// Package edgefile reads files of links from other sources. A line is a link: the page that links and the page that it
// links to, separated by tabs or spaces. The columns are URLs, or numbers of vertices whose names are in a second file
// (number, name), as in the web graphs of Common Crawl. Further columns are ignored, as are empty lines and lines that
// begin with #.
//
//	Links     a file of URLs
//	Numbers   a file of vertex numbers
//	Vertices  the file of their names
//
// Files are streamed and may be read several times, for instance once for each layer of a graph; only what the caller
// keeps is in memory.
//
// A broken line is counted, the first ones are kept for a message, and reading goes on: such files are large and come
// from programs that the operator cannot repair. A share of broken lines above the caller's limit is ErrBroken: the file
// is probably of another kind.
//
// A vertex name without a scheme is a host with its labels in reverse order (org.example.www), as in Common Crawl's host
// graph, and denotes the page at the root of the host. That graph has no schemes and omits a leading www., so a page
// at the root of its host is also found by the name of its vertex (Vertex). The graph has nothing on other pages of
// a host.
package edgefile
