package frontier

import "encoding/binary"

// Drop removes the state of all shards of a crawl from the store. No Shard of the crawl may be in use.
func Drop(store Store, crawl string) error {
	prefix := shardPrefix(ShardName{Crawl: crawl})
	prefix = prefix[:len(prefix)-binary.Size(uint32(0))]
	return store.DeleteRange(prefix, after(prefix))
}
