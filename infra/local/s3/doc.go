// Package s3 serves an S3 endpoint out of this process: the Versity gateway over a folder, one
// file an object.
//
// What differs from an S3 service:
//   - objects are written without fsync: a killed process loses nothing acknowledged, a power
//     cut may; no lifecycle rules, no versions, one user;
//   - a key cannot be a folder of another key ("a" beside "a/b");
//   - buckets are made by `forager setup`, or by Start when it is told a name;
//   - one endpoint a process, and **starting it changes the working directory of the process**
//     to the bucket folder, as the gateway reads by relative paths: whatever else the process
//     reads must be named absolutely.
//
// # Decisions
//
// 2026-11-21: object attributes (ETag, type) are kept in extended attributes of the files
// where the file system has them, else in a folder beside. The one a folder was begun with
// is kept.
package s3
