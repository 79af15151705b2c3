package schemas

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
)

// Version is the schema version that this package writes.
const Version = 1

// Topics.
const (
	TopicCrawlControl   = "crawl.control"
	TopicCrawlStatus    = "crawl.status"
	TopicFetchRequested = "fetch.requested"
	TopicFetchTurn      = "fetch.turn"
	TopicPageFetched    = "page.fetched"
	TopicPageParsed     = "page.parsed"
	TopicPageJudged     = "page.judged"
	TopicPageRejudged   = "page.rejudged"
	TopicLinkFound      = "link.found"
	TopicLeapSettled    = "leap.settled"
	TopicModelPublished = "model.published"
	TopicHubRanked      = "hub.ranked"
	TopicDeadLetter     = "dead.letter"
)

// Files returns the descriptors of the .proto files of this package, in the order of their names.
func Files() []protoreflect.FileDescriptor {
	var all []protoreflect.FileDescriptor
	protoregistry.GlobalFiles.RangeFilesByPackage(File_page_proto.Package(), func(f protoreflect.FileDescriptor) bool {
		all = append(all, f)
		return true
	})
	slices.SortFunc(all, func(a, b protoreflect.FileDescriptor) int { return strings.Compare(a.Path(), b.Path()) })
	return all
}

// Record returns an empty record of the topic's type, or nil for an unknown topic.
func Record(topic string) proto.Message {
	switch topic {
	case TopicCrawlControl:
		return new(CrawlControl)
	case TopicCrawlStatus:
		return new(CrawlStatus)
	case TopicFetchRequested:
		return new(FetchRequest)
	case TopicFetchTurn:
		return new(FetchTurn)
	case TopicPageFetched:
		return new(PageFetched)
	case TopicPageParsed:
		return new(PageParsed)
	case TopicPageJudged:
		return new(PageJudged)
	case TopicPageRejudged:
		return new(PageRejudged)
	case TopicLinkFound:
		return new(LinkFound)
	case TopicLeapSettled:
		return new(LeapSettled)
	case TopicModelPublished:
		return new(ModelPublished)
	case TopicHubRanked:
		return new(HubRanked)
	case TopicDeadLetter:
		return new(DeadLetter)
	}
	return nil
}

// Headers of a Kafka message. They repeat fields of the record, so that a record that cannot be
// decoded can still get a verdict.
const (
	// HeaderVersion is the schema version, decimal. On every message.
	HeaderVersion = "v"
	// HeaderCrawl is the crawl's name. On every message that concerns one.
	HeaderCrawl = "crawl"
	// HeaderID is the record's id in lower-case hex.
	HeaderID = "id"
	// HeaderURL is the canonical URL requested.
	HeaderURL = "url"
	// HeaderHost is its politeness key.
	HeaderHost = "host"
	// HeaderShard is the shard, decimal.
	HeaderShard = "shard"
	// HeaderEpoch and HeaderOwner are the epoch and the partition of link.found of the
	// prioritize that dispatched the request, decimal.
	HeaderEpoch = "epoch"
	HeaderOwner = "owner"
	// HeaderFrom is the shard that sent a record of link.found to another one, decimal; absent from
	// verdicts and seeds.
	HeaderFrom = "from"
	// HeaderTrail has the places of the records of page.* that led to the record, see ParseTrail.
	// Only link.found has all of them; prioritize, which reads none of these topics, takes its
	// positions from it.
	HeaderTrail = "trail"
	// HeaderSkipped is on a dead letter about a record that a stateful stage skipped, and within the stage on
	// the record itself: the reason.
	HeaderSkipped = "skipped"
)

// ShardKey returns the key of link.found, crawl.status and hub.ranked.
func ShardKey(crawl string, shard uint32) string {
	return crawl + "/" + strconv.FormatUint(uint64(shard), 10)
}

// ParseShardKey parses the form of ShardKey.
func ParseShardKey(key string) (crawl string, shard uint32, err error) {
	crawl, number, ok := strings.Cut(key, "/")
	n, err := strconv.ParseUint(number, 10, 32)
	if !ok || err != nil {
		return "", 0, fmt.Errorf("%q is no crawl and shard", key)
	}
	return crawl, uint32(n), nil
}

// ModelName returns the part of a model's version that its older and newer versions share: the name of a critic, of a
// guide or of a source of backlinks, or the crawl whose model it is.
func ModelName(version string) string {
	name, _, _ := strings.Cut(version, "/")
	return name
}

// ModelKey returns the key of a model in model.published: the newest critic of a name, the newest
// apprentice of a crawl, and each retrained apprentice have one.
func ModelKey(m *ModelPublished) string {
	name, rest, _ := strings.Cut(m.GetVersion(), "/")
	switch {
	case m.GetCrawl() == "":
		return "/" + m.GetKind() + "/" + name
	case m.GetRetrained():
		return m.GetCrawl() + "/" + m.GetKind() + "/" + rest
	}
	return m.GetCrawl() + "/" + m.GetKind()
}

// ModelObject returns the name of the object with the model of a version.
func ModelObject(kind, version string) string { return "models/" + kind + "/" + version }
