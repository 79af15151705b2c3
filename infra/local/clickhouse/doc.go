// Package clickhouse serves the HTTP interface of a ClickHouse server with the engine of package
// chdb in this process, durable in a folder, so that clickhouse-go (protocol HTTP), curl and other
// clients of that interface can use it like a server. Start serves a folder, Server.Close stops it.
//
// The same as on a server: queries in ?query=, in the body or in both; FORMAT, default_format
// and X-ClickHouse-Format; database; settings and param_NAME in the URL; rows of an INSERT in
// any format; user default with its password; compression by HTTP and by ClickHouse's
// blocks; sessions; exception codes, their HTTP statuses and the X-ClickHouse-* headers; GET
// is read-only; KILL QUERY; /ping and /replicas_status. Reads and inserts run concurrently.
//
// Not supported, each refused with an error that names it:
//   - several statements in one request (refused by a server, too); INTO OUTFILE, FROM INFILE;
//   - external tables (multipart/form-data); INSERT … SELECT … FROM input();
//   - Native framed for a client_protocol_version, except for clickhouse-go, which receives
//     revision 0 when it connects;
//   - users, roles and quotas; sources outside its folder, except the archive in S3 (access.go,
//     docs/decisions/0072);
//   - SYSTEM SHUTDOWN and SYSTEM KILL, which would end the program;
//   - addresses other than loopback, and requests that a web page makes through a browser.
//
// Different without an error:
//   - a result is held in memory before its first byte is sent: 256 MiB by default (setting
//     max_result_bytes), so there are no progress headers and no errors in the middle of a
//     body; the rows of an INSERT are held in memory likewise, 1 GiB at most;
//   - query ids are assigned by the engine; the one of the request (X-ClickHouse-Query-Id) is in
//     Settings['log_comment'] of system.processes, and KILL QUERY WHERE query_id = '…' accepts
//     either;
//   - a read whose client has disconnected is killed (on a server only with
//     cancel_http_readonly_queries_on_client_close);
//   - settings in the URL of a session's request persist for the session;
//   - no query_log and no other log tables; no clusters, replicas or Keeper; the native
//     protocol is not served.
//
// Each request has its own connection, so its settings end with it. Eight reads and four other
// statements run at once; each kind waits for its own kind only, KILL QUERY for none.
//
// Memory of inserts and merges is limited (Settings.MemoryBytes, docs/decisions/0520). With less
// than 64 MiB free on the disk the server begins no insert and no merge, and afterwards repairs
// tables whose merges lost data (mend.go, docs/decisions/0521). With less than 16 MiB it begins
// no CREATE, ALTER, DELETE and the like.
package clickhouse
