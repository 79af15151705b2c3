package linkfeature

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"forager/schemas"
)

// Families is a set of kinds of features, one bit for each schemas.FeatureFamily.
type Families uint32

// Offsets is ⟨t, d⟩ alone, the family of a crawl that names none.
const Offsets = Families(1) << schemas.FeatureFamily_FEATURE_FAMILY_OFFSETS

const (
	nearText  = Families(1) << schemas.FeatureFamily_FEATURE_FAMILY_NEAR_TEXT
	anchor    = Families(1) << schemas.FeatureFamily_FEATURE_FAMILY_ANCHOR
	rel       = Families(1) << schemas.FeatureFamily_FEATURE_FAMILY_REL
	position  = Families(1) << schemas.FeatureFamily_FEATURE_FAMILY_POSITION
	sameSite  = Families(1) << schemas.FeatureFamily_FEATURE_FAMILY_SAME_SITE
	urlTokens = Families(1) << schemas.FeatureFamily_FEATURE_FAMILY_URL_TOKENS
	urlGrams  = Families(1) << schemas.FeatureFamily_FEATURE_FAMILY_URL_NGRAMS
	cited     = Families(1) << schemas.FeatureFamily_FEATURE_FAMILY_COCITATION
	far       = Families(1) << schemas.FeatureFamily_FEATURE_FAMILY_FAR
	tagPath   = Families(1) << schemas.FeatureFamily_FEATURE_FAMILY_TAG_PATH

	pathLength = Families(1) << schemas.FeatureFamily_FEATURE_FAMILY_PATH_LENGTH
	ancestor   = Families(1) << schemas.FeatureFamily_FEATURE_FAMILY_ANCESTOR

	// ofTree depend on the positions of leaves and links in the tree of their page.
	ofTree = pathLength | ancestor

	// ofLink are terms of a link itself, which a table lists; the others are read from its leaves.
	ofLink = rel | position | sameSite | urlTokens | urlGrams | tagPath | ofTree
	// readURLs are refused where labels follow from URLs.
	readURLs = sameSite | urlTokens | urlGrams
	known    = Offsets | nearText | anchor | ofLink | cited | far
)

// words are the names of families in files.
var words = map[string]Families{
	"offsets": Offsets, "near-text": nearText, "anchor": anchor, "rel": rel, "position": position,
	"same-site": sameSite, "url-tokens": urlTokens, "url-ngrams": urlGrams,
	"co-citation": cited, "far": far, "tag-path": tagPath,
	"path-length": pathLength, "ancestor": ancestor,
}

// prefixes of terms of links, by family. Words of a text have no colon.
var prefixes = map[string]Families{
	"rel": rel, "pos": position, "host": sameSite, "dir": sameSite, "url": urlTokens, "gram": urlGrams,
	citedPrefix: cited, farPrefix: far, "tag": tagPath, pathPrefix: pathLength, ancestorPrefix: ancestor,
}

// FamiliesOf returns the families of a control record; an empty list is Offsets.
func FamiliesOf(list []schemas.FeatureFamily) (Families, error) {
	var f Families
	for _, x := range list {
		bit := Families(1) << x
		if x < 0 || x > 31 || bit&known == 0 {
			return 0, fmt.Errorf("learning.features holds %v, which is unknown", x)
		}
		if f&bit != 0 {
			return 0, fmt.Errorf("learning.features holds %v twice", x)
		}
		f |= bit
	}
	return f.orOffsets(), nil
}

// Names returns the names of all families, sorted.
func Names() []string { return slices.Sorted(maps.Keys(words)) }

// FamiliesNamed returns the families with these names; an empty list is Offsets.
func FamiliesNamed(names []string) (Families, error) {
	var f Families
	for _, name := range names {
		bit, ok := words[name]
		if !ok {
			return 0, fmt.Errorf("%q is not one of %s", name, strings.Join(Names(), ", "))
		}
		if f&bit != 0 {
			return 0, fmt.Errorf("%s is named twice", name)
		}
		f |= bit
	}
	return f.orOffsets(), nil
}

// CheckFamilies returns an error for unknown bits, as a file may contain.
func CheckFamilies(f Families) error {
	if f == 0 || f&^known != 0 {
		return fmt.Errorf("unknown families of features %#x", uint32(f))
	}
	return nil
}

// List returns the families as in a control record; nil for Offsets alone.
func (f Families) List() []schemas.FeatureFamily {
	if f == Offsets {
		return nil
	}
	var list []schemas.FeatureFamily
	for x := range schemas.FeatureFamily(32) {
		if f>>x&1 != 0 {
			list = append(list, x)
		}
	}
	return list
}

func (f Families) orOffsets() Families {
	if f == 0 {
		return Offsets
	}
	return f
}

// String returns the names, "offsets+anchor".
func (f Families) String() string {
	var names []string
	for _, x := range Names() {
		if f&words[x] != 0 {
			names = append(names, x)
		}
	}
	return strings.Join(names, "+")
}

// ReadsURLs reports whether some of the families read URLs. Where labels follow from URLs, a ranker that learns by them
// would learn the labels.
func (f Families) ReadsURLs() bool { return f&readURLs != 0 }

// InTable returns those of the families for which a table holds more than the leaves near links.
func (f Families) InTable() Families { return f & (ofLink | far) }

// Far reports whether terms farther than d_max are among them.
func (f Families) Far() bool { return f&far != 0 }

// Cocitation reports whether co-citation features are among them, which are not read from pages.
func (f Families) Cocitation() bool { return f&cited != 0 }

// TagPaths reports whether tag paths are among them. Pages have them only if their crawl selects them
// (schemas.ReadsTagPaths).
func (f Families) TagPaths() bool { return f&tagPath != 0 }

// Trees reports whether some of the families read the trees of pages. Pages have them only if their crawl selects them
// (schemas.ReadsTrees).
func (f Families) Trees() bool { return f&ofTree != 0 }

// Within reports whether features of these families can be selected from those of others by Keep.
func (f Families) Within(others Families) bool {
	f, others = f.orOffsets(), others.orOffsets()
	if others&Offsets != 0 {
		others |= anchor
	}
	return f&^others == 0
}

// Keep reports whether a feature is of these families. Topic features belong to no family and are kept.
func (f Families) Keep(x *schemas.Feature) bool {
	f = f.orOffsets()
	prefix, _, ok := strings.Cut(x.GetTerm(), ":")
	of, known := prefixes[prefix]
	switch {
	case ok:
		return !known || f&of != 0
	case x.GetOffset() != schemas.NoOffset:
		return f&Offsets != 0 || f&anchor != 0 && x.GetOffset() == 0
	}
	return f&nearText != 0
}
