package schemas

import (
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"

	"google.golang.org/protobuf/proto"
)

// RequestHeaders returns the headers of every record of a request.
func RequestHeaders(r *FetchRequest) map[string]string {
	id, err := ParseID(r.GetId())
	h := map[string]string{
		HeaderVersion: strconv.Itoa(Version),
		HeaderCrawl:   r.GetCrawl(),
		HeaderShard:   strconv.FormatUint(uint64(r.GetShard()), 10),
		HeaderURL:     r.GetUrl(),
		HeaderHost:    r.GetHost(),
		HeaderEpoch:   strconv.FormatUint(r.GetEpoch(), 10),
		HeaderOwner:   strconv.FormatUint(uint64(r.GetOwner()), 10),
	}
	if err == nil { // a marker has no id
		h[HeaderID] = id.String()
	}
	return h
}

// RequestFromHeaders returns the request as far as the headers of a record have it, for records
// that cannot be decoded: id, crawl, shard, URL, host, epoch and owner.
func RequestFromHeaders(h map[string]string) (*FetchRequest, error) {
	id, err := ParseHex(h[HeaderID])
	if err != nil {
		return nil, fmt.Errorf("header %q: %w", HeaderID, err)
	}
	r := &FetchRequest{Id: id.Bytes(), Crawl: h[HeaderCrawl], Url: h[HeaderURL], Host: h[HeaderHost]}
	if r.Crawl == "" {
		return nil, fmt.Errorf("header %q is empty or missing", HeaderCrawl)
	}
	shard, err := strconv.ParseUint(h[HeaderShard], 10, 32)
	if err != nil {
		return nil, fmt.Errorf("header %q: %w", HeaderShard, err)
	}
	owner, err := strconv.ParseUint(h[HeaderOwner], 10, 32)
	if err != nil {
		return nil, fmt.Errorf("header %q: %w", HeaderOwner, err)
	}
	if r.Epoch, err = strconv.ParseUint(h[HeaderEpoch], 10, 64); err != nil {
		return nil, fmt.Errorf("header %q: %w", HeaderEpoch, err)
	}
	r.Shard, r.Owner = uint32(shard), uint32(owner)
	return r, nil
}

// CheckAnswer returns an error unless id and crawl of a record are those of the request that its
// headers name.
func CheckAnswer(h map[string]string, id []byte, crawl string) error {
	if hex.EncodeToString(id) != h[HeaderID] || crawl != h[HeaderCrawl] {
		return errors.New("the record and its headers name different requests")
	}
	return nil
}

// Embedded is RequestFromHeaders, also with the encoded request, as records embed it.
func Embedded(h map[string]string) (r *FetchRequest, embedded []byte, err error) {
	if r, err = RequestFromHeaders(h); err != nil {
		return nil, nil, err
	}
	if embedded, err = proto.Marshal(r); err != nil {
		return nil, nil, fmt.Errorf("request for %s: %w", r.GetUrl(), err)
	}
	return r, embedded, nil
}
