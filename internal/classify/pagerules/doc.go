// Package pagerules judges pages by rules that a person writes: keywords and regular expressions over title,
// URL and text, joined by and, or and not (2002 §1.1: any predicate may be the critic).
//
//	# chemistry.rules
//	Other:             url matches `/(login|cart)\b` or not language has "en"
//	Science/Chemistry: title has "chemistry", "chemical"
//	    or (text has "molecule" and text has "covalent bond", "ionic bond")
//	Science/Physics:   text matches '\bquantum (mechanics|field)' and not url has "shop"
//
// A rule is a topic, a colon and a condition. A line that begins with white space continues the rule above it;
// "#" begins a comment. The first rule that holds decides: its topic's class has the posterior 1, all others 0.
// A page for which none holds is of the class Other. A topic may have several rules. As among trained critics,
// a topic above others is the class topic/Other.
//
//	condition = and { "or" and }         and  = unit { "and" unit }
//	unit      = "not" unit | "(" condition ")" | field ("has" | "matches") string { "," string }
//	field     = title | description | url | text | language
//	string    = any characters between two ", two ' or two `; there are no escapes
//
// "has" looks for words, or several in a row, in any case. The words of a text are those of package text, those
// of a URL are its runs of letters and digits. "matches" looks for a regular expression (RE2; "(?i)" ignores
// case) in the field: title, description, url and language as they are; text as its words in lower case, in
// order, separated by one space. With several strings, any of them suffices.
//
// Rules are a critic.Classifier. Their model file contains the text of the rules, which is compiled when it is read;
// the format version of the file is that of the language. Regular expressions take time linear in the page, and
// the total size of their programs is bounded. Single words are found by one table look-up for all rules
// (docs/decisions/0307).
package pagerules
