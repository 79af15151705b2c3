// Package clickhouse serves the HTTP interface of a ClickHouse server over the engine that
// package chdb runs in this process, durable in a folder, so that clickhouse-go (protocol
// HTTP), curl and every other client of that interface talk to it as to a server.
//
// What works as on a server: queries in ?query=, in the body or in both; FORMAT, default_format
// and X-ClickHouse-Format; database; settings and param_NAME in the URL; rows of an INSERT in
// any format; user default with its password; compression by HTTP and by ClickHouse's
// blocks; sessions; exception codes, their HTTP statuses and the X-ClickHouse-* headers; GET
// is read-only; KILL QUERY; /ping and /replicas_status. Reads and inserts run side by side.
//
// What it cannot do, each answered with an error that says so:
//   - several statements in one request (a server refuses them, too); INTO OUTFILE, FROM INFILE;
//   - external tables (multipart/form-data); INSERT … SELECT … FROM input();
//   - Native framed for a client_protocol_version, except for clickhouse-go, which is told
//     revision 0 when it connects;
//   - users, roles and quotas; sources outside its folder but for the archive in S3 (access.go; docs/decisions/0072);
//   - SYSTEM SHUTDOWN and SYSTEM KILL, which would end the program;
//   - addresses other than loopback, and requests that a web page makes through a browser.
//
// What is different without an error:
//   - a result is held in memory before its first byte is sent: 256 MiB by default (setting
//     max_result_bytes), so there are no progress headers and no errors in the middle of a
//     body; the rows of an INSERT are held in memory likewise, 1 GiB at most;
//   - query ids are made up by the engine; the one of the request (X-ClickHouse-Query-Id)
//     stands in Settings['log_comment'] of system.processes, and KILL QUERY WHERE query_id = '…'
//     means either;
//   - a read whose client is gone is killed (on a server only with
//     cancel_http_readonly_queries_on_client_close);
//   - settings in the URL of a session's request stay for the session;
//   - no query_log and no other log tables; no clusters, replicas or Keeper; the native
//     protocol is not served.
//
// # Decisions
//
// 2026-11-21: each request has a connection of its own (0.3 ms): what it sets ends with it.
// Eight reads and four other statements run at once, each kind waits for its own kind only,
// and KILL QUERY for none.
//
// 2026-11-22: Settings.MemoryBytes is max_server_memory_usage, which the engine holds against what its allocator
// has resident, without its library and without Go. Below 256 MiB it refuses inserts of load-clickhouse's size again and
// again; they are tried until they are taken. With the buffers of a server (1 MiB and more for every stream of every
// column) an insert of 11,000 leaps took 133 MiB and a merge of six such parts 168; with small ones 60 and, of five, 118.
//
// 2026-11-22: no more merges run at once than there are threads for them, two. By default there are twice as many, in turns: a merge of
// ten parts of 20,000 leaps takes up to 200 MiB, and of four none had enough. After 900,000 leaps each failed and began again, for ever, and
// inserts found no room beside them.
//
// 2026-11-22: the engine takes the failure of the last writes of a merge for success. Where another program filled the disk to its
// last byte during a merge, 14 of 22 merges left a part with empty files in place of those that it was made from; 7 of 20 where merges
// were synced, 7 of 13 with compact parts, 7 of 20 without small buffers: no setting helps. The sources stay for eight minutes, and
// loading the table anew puts the broken part aside and takes them up again. So the server looks at the room five times a second;
// when there was less than 64 MiB, it checks every part written since, each minute and once there is room, and detaches and attaches
// a table that has a broken one, while other
// statements wait. An insert that ends with less than that is answered NOT_ENOUGH_SPACE,
// so that load-clickhouse tries it again: a broken part of new rows has no sources.
// What is set aside stays in the folder detached of its table, which `forager doctor` tells of.
// Forager itself never comes that far: its broker stops at 80 MiB, and crawls pause long before (disk.pause_below).
package clickhouse
