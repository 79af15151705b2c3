// Package linktext reads the words of parts of a parsed page: of a link, of what stands around it, of the whole page
// and of its title.
//
// Words are those that package text makes of the page's tokens by the settings of whoever asks; stop words
// and stems are those of the language of the whole page, as of four words nobody can tell their language.
package linktext
