package linkfeature

import (
	"maps"
	"math"
	"slices"
	"strings"

	"forager/schemas"
)

// Parts of 1 in which features made of probabilities are counted, so that learners add up integers.
const Parts = 256

// Prefixes of topic features: of the top two classes, each counting 1, and of all classes, each counting its posterior.
const topPrefix, wholePrefix = "c", "p"

// Unit returns the count that makes 1 for a feature: Parts if its term stands for a probability, else 1.
func Unit[T string | []byte](term T) uint32 {
	if len(term) > len(wholePrefix) && string(term[:len(wholePrefix)]) == wholePrefix && term[len(wholePrefix)] == ':' {
		return Parts
	}
	return 1
}

// topicTerms returns the terms of the classes of a page, sorted, and their counts; nil counts are 1 each.
func topicTerms(j *schemas.Judgement, f schemas.TopicFeatures) (terms []string, counts []uint32) {
	of := make(map[string]uint32)
	switch f {
	case schemas.TopicFeatures_TOPIC_FEATURES_TOP2:
		for _, topic := range j.GetTopics()[:min(2, len(j.GetTopics()))] {
			for _, name := range upwards(topic.GetTopic()) {
				of[topPrefix+":"+name] = 1
			}
		}
		return slices.Sorted(maps.Keys(of)), nil
	case schemas.TopicFeatures_TOPIC_FEATURES_ALL:
		for _, topic := range j.GetPosteriors() {
			parts := math.RoundToEven(Parts * topic.GetTempered())
			if !(parts >= 1 && parts <= Parts) {
				continue
			}
			for _, name := range upwards(topic.GetTopic()) {
				of[wholePrefix+":"+name] += uint32(parts)
			}
		}
	}
	terms = slices.Sorted(maps.Keys(of))
	for _, term := range terms {
		counts = append(counts, of[term])
	}
	return terms, counts
}

// upwards returns the root's name "/", and all prefixes of a topic, "/A", "/A/B".
func upwards(topic string) []string {
	names, name := []string{"/"}, "/"+topic
	for i, c := range name {
		if c == '/' && i > 0 {
			names = append(names, name[:i])
		}
	}
	return append(names, name)
}

// keepsTopic reports whether a feature is not of topics, or is one of those that these settings have.
func (s Settings) keepsTopic(f *schemas.Feature) bool {
	prefix, _, ok := strings.Cut(f.GetTerm(), ":")
	switch {
	case !ok:
	case prefix == topPrefix:
		return s.Topics == schemas.TopicFeatures_TOPIC_FEATURES_TOP2
	case prefix == wholePrefix:
		return s.Topics == schemas.TopicFeatures_TOPIC_FEATURES_ALL
	}
	return true
}

// Keep reports whether these settings have a feature of wider ones (Within).
func (s Settings) Keep(f *schemas.Feature) bool {
	d := f.GetOffset()
	return s.Families.Keep(f) && s.keepsTopic(f) && (d == schemas.NoOffset || int(max(d, -d)) <= s.DMax)
}
