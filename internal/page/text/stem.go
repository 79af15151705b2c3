package text

import (
	"bytes"
	"cmp"
	"slices"

	"github.com/blevesearch/snowballstem"
	"github.com/blevesearch/snowballstem/arabic"
	"github.com/blevesearch/snowballstem/danish"
	"github.com/blevesearch/snowballstem/dutch"
	"github.com/blevesearch/snowballstem/english"
	"github.com/blevesearch/snowballstem/finnish"
	"github.com/blevesearch/snowballstem/french"
	"github.com/blevesearch/snowballstem/german"
	"github.com/blevesearch/snowballstem/hungarian"
	"github.com/blevesearch/snowballstem/irish"
	"github.com/blevesearch/snowballstem/italian"
	"github.com/blevesearch/snowballstem/norwegian"
	"github.com/blevesearch/snowballstem/portuguese"
	"github.com/blevesearch/snowballstem/romanian"
	"github.com/blevesearch/snowballstem/russian"
	"github.com/blevesearch/snowballstem/spanish"
	"github.com/blevesearch/snowballstem/swedish"
	"github.com/blevesearch/snowballstem/turkish"
	"github.com/cespare/xxhash/v2"
)

// stemmers are the Snowball stemmers by language.
var stemmers = map[string]func(*snowballstem.Env) bool{
	"ar": arabic.Stem, "da": danish.Stem, "de": german.Stem, "en": english.Stem, "es": spanish.Stem, "fi": finnish.Stem,
	"fr": french.Stem, "ga": irish.Stem, "hu": hungarian.Stem, "it": italian.Stem, "nl": dutch.Stem, "no": norwegian.Stem,
	"pt": portuguese.Stem, "ro": romanian.Stem, "ru": russian.Stem, "sv": swedish.Stem, "tr": turkish.Stem,
}

// elisions are the words that precede an apostrophe without a space: "l'eau" is eau.
var elisions = map[string][]string{
	"ca": {"d", "l", "m", "n", "s", "t"},
	"fr": {"c", "d", "j", "jusqu", "l", "lorsqu", "m", "n", "puisqu", "qu", "quoiqu", "s", "t"},
	"it": {"all", "c", "d", "dall", "dell", "gl", "l", "m", "n", "nell", "s", "sull", "t", "un", "v"},
}

// elide cuts the article or pronoun off a token's beginning.
func elide(token []byte, language string) []byte {
	before, after, ok := bytes.Cut(token, []byte("'"))
	if !ok || len(after) == 0 || !slices.Contains(elisions[language], string(before)) {
		return token
	}
	return after
}

// recentStems is the number of stems in a cache.
const recentStems = 1 << 15

// stemmer stems words of one language and caches the stems, each of which takes microseconds, by the hashes of their tokens.
type stemmer struct {
	stem   func(*snowballstem.Env) bool
	recent [recentStems]struct{ token, stem string }
}

// of returns the stem of a token, or the token itself if the stem is empty.
func (s *stemmer) of(token []byte) string {
	at := &s.recent[xxhash.Sum64(token)%recentStems]
	if at.token != string(token) {
		at.token = string(token)
		env := snowballstem.NewEnv(at.token)
		s.stem(env)
		at.stem = cmp.Or(env.Current(), at.token)
	}
	return at.stem
}
