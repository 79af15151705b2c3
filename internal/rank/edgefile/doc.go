// Package edgefile reads files of links as they come from others: a line a link, two columns, the page that links and
// the one that it links to, apart by tabs or spaces. Columns are URLs, or numbers of vertices whose names stand in a
// file of their own (number, name), as in the web graphs of Common Crawl. Further columns are not read;
// empty lines and lines that begin with # say nothing.
//
// Files are streamed, as often as somebody asks for the links of another layer: memory holds what was asked for.
//
// # Decisions
//
// 2026-11-21: a broken line is counted, the first ones are named, and reading goes on: such files are large
// and come from programs that nobody here can mend. More than Settings.Broken of all lines say that it is no
// such file.
//
// 2026-11-21: a vertex without a scheme is a host with its labels in reverse order (org.example.www), as in
// Common Crawl's host graph, and stands for the page at its root.
//
// 2026-11-22: that graph knows no schemes and leaves out a leading www., so the page at the root of a host is
// looked up by its vertex, too (Vertex). Of other pages of a host it says nothing.
package edgefile
