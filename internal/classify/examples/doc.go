// Package examples brings labelled pages of every source into one form: a page with its topics and
// its text, once, in the order of the URLs.
//
//	JSON Lines ──────────┐
//	a folder tree ───────┤
//	a list of URLs ──────┼─→ Intake ─→ sorted on disk ─→ merged ─→ JSON Lines {url, topics, text}
//	a dump of DMOZ ──────┘     └ what was refused, repaired, merged, and why
//
// A source calls Intake.Add for each example, in any order; Finish hands them out. An example that is
// refused is counted by its reason, and the first ones of each are shown with their place. Nothing is
// passed over in silence.
//
// # Sources
//
// JSON Lines (ReadLines): one object a line with url, topics, and text or html. A page that is given
// as HTML becomes the text that package dom reads in it, which has the same words.
//
// A folder tree (ReadFolder): the folders above a page are its topic. What is hidden is passed over;
// a symbolic link to a page within the tree gives that page another topic; links that leave the tree,
// links to folders (which may lead in circles), pipes, devices and what is not text are refused.
// Encodings are found as package dom finds them. A page is named by its path, or by its file's name where
// that is an escaped URL.
//
// A list of URLs with topics (ReadURLs), which have to be fetched first: see there for its form.
//
// A dump of DMOZ or Curlie (ReadDMOZ): content.rdf.u8 gives pages with title and description, which
// are the text of a page that is not fetched; structure.rdf.u8, which may be missing, the topics.
//
// # Order and repetition
//
// The outcome is a function of the set of examples: whatever their order and the number of files they
// come in, the bytes are the same. A URL that comes more than once is one example of all its topics,
// with the longest of its texts (of equally long ones the first by its bytes).
//
// # Memory
//
// Examples are sorted in memory up to a bound (Settings.Memory), then in runs on disk, which are
// merged. Beyond that bound 8 bytes a topic are held. Reading is a stream.
//
// # Decisions
//
// 2026-11-21: the dump is read by a scanner of its own and not as XML. Dumps of DMOZ are not
// well-formed in places (bytes that are not UTF-8, control characters, bare & and <, elements that
// nothing closes), and a page is a few lines between two tags that can be found again after any
// damage. What was repaired is counted. Only a dump that breaks off before </RDF> is refused whole,
// unless asked for, as nobody can tell what is missing.
//
// 2026-11-21: the tree is that of the names (2002 §3.1: a tree, an is-a hierarchy). The symbolic links
// of DMOZ's structure are not followed: they lead in circles, and would make a page an example of
// classes that its editors did not file it under. Their number, how many lead nowhere and how many topics lie on
// circles is reported.
//
// 2026-11-21: text is kept, not HTML: it is what a critic counts, a fifth of the size, and can be
// read by its user.
package examples
