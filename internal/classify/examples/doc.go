// Package examples reads labelled pages from every supported source into one form: a page with its topics and
// its text, once, in the order of the URLs.
//
//	JSON Lines ──────────┐
//	a folder tree ───────┤
//	a list of URLs ──────┼─→ Intake ─→ sorted on disk ─→ merged ─→ JSON Lines {url, topics, text}
//	a dump of DMOZ ──────┘     └ counts of what was refused, repaired and merged, with the reasons
//
// A source calls Intake.Add for each example, in any order; Intake.Finish returns them. A refused example is
// counted by its reason, and the first ones of each reason are reported with their place. Nothing is skipped
// silently.
//
// # Sources
//
// JSON Lines (ReadLines): one object a line with url, topics, and text or html. HTML is replaced by the text
// that package dom reads in it, which has the same words: text is what a critic counts, a fifth of the size,
// and readable.
//
// A folder tree (ReadFolder): the folders above a page are its topic. Hidden files are ignored; a symbolic link
// to a page within the tree gives that page another topic; links that leave the tree, links to folders (which
// may be circular), pipes, devices and binary files are refused. Encodings are detected as in package dom. A
// page is named by its path, or by its file's name where that is an escaped URL.
//
// A list of URLs with topics (ReadURLs, which describes the form); the pages have to be fetched first.
//
// A dump of DMOZ or Curlie (ReadDMOZ): content.rdf.u8 has pages with title and description, which serve as the
// text of a page that is not fetched; structure.rdf.u8, which is optional, has the topics. Symbolic links
// between topics are counted and not followed (docs/decisions/0306).
//
// # Order and repetition
//
// The result is a function of the set of examples: it has the same bytes whatever the order of the examples and
// the number of files. A URL that occurs more than once is one example with all its topics and the longest of
// its texts (of equally long ones the first in byte order).
//
// # Memory
//
// Examples are sorted in memory up to a bound (Settings.Memory), then in runs on disk, which are merged. In
// addition 8 bytes a topic are held. Input is read as a stream.
package examples
