// Package linktext returns the words of parts of a parsed page: of a link, of the text around it, of the whole
// page and of its title.
//
// Words are made of the page's tokens by the caller's settings (package text). Stop words and stems are those
// of the language of the whole page, as the words of a link are too few to detect a language.
package linktext
