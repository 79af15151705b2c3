package weburl

import (
	"net/url"
	"strings"
)

// suffixes of files in URLs depend on how a page is made, not on what it is about.
var suffixes = map[string]bool{
	"html": true, "htm": true, "xhtml": true, "shtml": true, "php": true, "asp": true, "aspx": true, "jsp": true, "cgi": true,
}

// separators are characters that stand for spaces in URLs and join words in texts.
var separators = strings.NewReplacer("_", " ", ".", " ", "+", " ")

// LastSegment returns the last segment of the path of a canonical URL and its query as a text: unescaped, with spaces for underscores, dots and
// plus signs, and without a suffix such as .html. It is empty for the root of a host.
func LastSegment(canonical string) string {
	_, rest, _ := strings.Cut(canonical, "://")
	_, path, _ := strings.Cut(rest, "/")
	path, query, _ := strings.Cut(path, "?")
	path = strings.TrimSuffix(path, "/")
	segment := path[strings.LastIndexByte(path, '/')+1:]
	if dot := strings.LastIndexByte(segment, '.'); dot >= 0 && suffixes[strings.ToLower(segment[dot+1:])] {
		segment = segment[:dot]
	}
	segment += " " + query
	if plain, err := url.PathUnescape(segment); err == nil {
		segment = plain
	}
	return strings.TrimSpace(separators.Replace(segment))
}
