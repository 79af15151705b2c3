package archive

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"forager/schemas"
)

// Version is the version of the layout and the columns that this package writes.
const Version = 1

// Folder is the folder of the archive in its bucket: the prefix of the names of all its objects.
const Folder = "archive/v1"

const root = Folder + "/"

// Topics are the topics that are archived.
var Topics = []string{schemas.TopicPageJudged, schemas.TopicLinkFound, schemas.TopicLeapSettled}

// digestLength is the number of hexadecimal digits of a file's digest in its name.
const digestLength = 16

// Name is the name of a file: topic, partition and offsets of its records, and the digest of its
// bytes.
type Name struct {
	Topic     string
	Partition int
	// First and Last are the offsets of its first and last record.
	First, Last int64
	// Digest is the beginning of the SHA-256 of the file, 16 hexadecimal digits.
	Digest string
	// Copy is 0, or counts the uploads of the same bytes: those before it could not be read back.
	Copy int
}

// Prefix returns the prefix of the keys of all files of a topic, and of no others.
func Prefix(topic string) string { return root + topic + "/" }

// Key returns the object's key: archive/v1/TOPIC/PARTITION/FIRST-LAST-DIGEST.parquet, with the
// offsets in 20 digits, so that keys sort as offsets do; a copy has "-COPY" before the dot.
func (n Name) Key() string {
	key := fmt.Sprintf("%s%d/%020d-%020d-%s", Prefix(n.Topic), n.Partition, n.First, n.Last, n.Digest)
	if n.Copy > 0 {
		key += "-" + strconv.Itoa(n.Copy)
	}
	return key + ".parquet"
}

// ParseName parses a key. It accepts exactly the form of Key.
func ParseName(key string) (Name, error) {
	foreign := fmt.Errorf("object %q is none of the archive's", key)
	rest, ok := strings.CutPrefix(key, root)
	parts := strings.Split(rest, "/")
	if !ok || len(parts) != 3 || !slices.Contains(Topics, parts[0]) {
		return Name{}, foreign
	}
	base, ok := strings.CutSuffix(parts[2], ".parquet")
	fields := strings.Split(base, "-")
	if !ok || len(fields) < 3 || len(fields) > 4 {
		return Name{}, foreign
	}
	n := Name{Topic: parts[0], Digest: fields[2]}
	var errs [4]error
	n.Partition, errs[0] = strconv.Atoi(parts[1])
	n.First, errs[1] = strconv.ParseInt(fields[0], 10, 64)
	n.Last, errs[2] = strconv.ParseInt(fields[1], 10, 64)
	if len(fields) == 4 {
		n.Copy, errs[3] = strconv.Atoi(fields[3])
	}
	for _, err := range errs {
		if err != nil {
			return Name{}, foreign
		}
	}
	hexadecimal := len(n.Digest) == digestLength && strings.Trim(n.Digest, "0123456789abcdef") == ""
	if !hexadecimal || n.Partition < 0 || n.First < 0 || n.Last < n.First || n.Key() != key {
		return Name{}, foreign
	}
	return n, nil
}
