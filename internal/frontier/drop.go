package frontier

import "encoding/binary"

// Drop removes everything that the store holds of a crawl's shards. No Shard of it may be in use.
func Drop(store Store, crawl string) error {
	prefix := shardPrefix(ShardName{Crawl: crawl})
	prefix = prefix[:len(prefix)-binary.Size(uint32(0))]
	return store.DeleteRange(prefix, after(prefix))
}
