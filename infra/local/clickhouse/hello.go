package clickhouse

import (
	"strings"

	"github.com/ClickHouse/ch-go/proto"

	"forager/infra/local/chdb"
)

// clickhouse-go opens a connection with this query and expects the response in the framing of the protocol
// version in client_protocol_version; the engine writes Native without that framing (revision 0). The response
// therefore contains revision 0, after which the driver reads plain Native.
const helloQuery = "SELECT displayName(), version(), revision(), timezone()"

// framedSince is the protocol version from which a column has a flag for custom serialization.
const framedSince = 54454

func isHello(sql string) bool { return strings.TrimRight(strings.TrimSpace(sql), "; ") == helloQuery }

// hello is the response to helloQuery for a client of this protocol version.
func (s *Server) hello(protocol int) []byte {
	var b proto.Buffer
	if protocol > 0 {
		b.PutUVarInt(1) // block info: is_overflows
		b.PutBool(false)
		b.PutUVarInt(2) // bucket_num
		b.PutInt32(-1)
		b.PutUVarInt(0)
	}
	b.PutUVarInt(4) // columns
	b.PutUVarInt(1) // rows
	column := func(name, kind string, put func()) {
		b.PutString(name)
		b.PutString(kind)
		if protocol >= framedSince {
			b.PutBool(false)
		}
		put()
	}
	column("displayName()", "String", func() { b.PutString(displayName) })
	column("version()", "String", func() { b.PutString(s.version) })
	column("revision()", "UInt32", func() { b.PutUInt32(0) })
	column("timezone()", "String", func() { b.PutString(s.timezone) })
	return b.Buf
}

// checkProtocol refuses Native in a framing that the engine does not support.
func checkProtocol(protocol int, format, agent string) *chdb.Exception {
	if protocol == 0 || !strings.EqualFold(format, "Native") || strings.Contains(agent, "clickhouse-go/") {
		return nil
	}
	return refuse(48, "NOT_IMPLEMENTED", "The embedded ClickHouse writes Native without the framing of client_protocol_version=%d; leave that parameter away", protocol)
}
