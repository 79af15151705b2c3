// Package chdb runs the ClickHouse engine inside this process: libchdb.so of the npm package
// @chdb/lib-linux-x64-gnu, called without a C compiler. It is the engine only, one query a
// connection at a time; package clickhouse adds the HTTP interface of a server.
//
// Find locates the library, Connect opens a folder, Conn.Query runs statements and returns a
// Result, whose memory belongs to the engine until Free. Errors of the engine are *Exception.
//
// Properties of the engine, observed with version 26.5.3 (which reports 26.5.1.1):
//   - Linux x64 with glibc only. Loading it, and closing the last connection, may only be done
//     for one folder at a time; another process cannot open a folder that is open.
//   - It replaces the handlers of signals 4–8, 11, 20 and 31 and the signal stack of the
//     calling thread; a nil dereference in Go would then end the process. Both are restored
//     after each call that changes them.
//   - After a query failed half-way, the rows that it had produced come out with the next
//     result of the same connection. Query discards them.
//   - Rows sent inside the text of an INSERT are split at a blank line: pass them as a file
//     (INSERT INTO t FROM INFILE '/proc/self/fd/N' FORMAT …).
//   - Several statements in one text are all run; settings and USE persist on the connection.
//   - KILL QUERY from another connection ends a running query (within a second for sleep).
//   - Without --config-file it reads config.xml of the working directory or of the home folder.
//   - A result is one block of memory. A killed process loses no acknowledged row.
//   - Opening a connection takes less than a millisecond and leaks nothing.
//
// Confine restricts the threads of the engine to files of one folder (docs/decisions/0072).
package chdb
