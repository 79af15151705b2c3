// Package pagerules judges pages by rules that a person writes: keywords and regular expressions
// over title, URL and text, joined by and, or and not (2002 §1.1: any predicate may be the critic).
//
//	# chemistry.rules
//	Other:             url matches `/(login|cart)\b` or not language has "en"
//	Science/Chemistry: title has "chemistry", "chemical"
//	    or (text has "molecule" and text has "covalent bond", "ionic bond")
//	Science/Physics:   text matches '\bquantum (mechanics|field)' and not url has "shop"
//
// A rule is a topic, a colon and a condition; lines that begin with white space go on with the rule
// above; "#" begins a comment. The first rule that holds decides: its topic's class has the
// posterior 1, all others 0. A page for which none holds is of the class Other. A topic may have
// several rules. As among trained critics, a topic above others is the class topic/Other.
//
//	condition = and { "or" and }         and  = unit { "and" unit }
//	unit      = "not" unit | "(" condition ")" | field ("has" | "matches") string { "," string }
//	field     = title | description | url | text | language
//	string    = what stands between two ", two ' or two `, as it is: nothing is escaped
//
// "has" looks for words, or several in a row; case does not count. The words of a text are those of
// package text, those of a URL are its runs of letters and digits. "matches" looks for a regular
// expression (RE2; "(?i)" lets case not count): title, description, url and language as they are;
// text is its words in lower case, in their order, with one space between two. Several strings
// mean: any of them.
//
// # Decisions
//
// 2026-11-21: the first rule decides, as in a mail filter. Were all that hold to share the page,
// R(u) of a page that fulfils the rule of the focus topic would hang on what others match.
//
// 2026-11-21: text is words and not what stood on the page, because words are what page.parsed
// carries. Expressions over punctuation or upper case belong to title and url.
//
// 2026-11-21: a model file holds the text of the rules, which is compiled anew when it is read:
// the language has a version (the file's), and who asks what a critic does can be shown its rules.
//
// 2026-11-21: regular expressions are Go's, which take time linear in the page; all of a file
// together are bounded in size, so that linear stays quick. Single words are looked up, all at once.
package pagerules
