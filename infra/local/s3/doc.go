// Package s3 serves an S3 endpoint from this process: the Versity gateway over a folder, one
// file for each object. Start serves a folder, Endpoint.Close stops it.
//
// Differences from an S3 service:
//   - objects are written without fsync: a killed process loses nothing acknowledged, a power
//     failure may; no lifecycle rules, no versions, one user;
//   - a key cannot be a folder of another key ("a" and "a/b");
//   - buckets are created by `forager setup`, or by Start (Settings.Buckets);
//   - one endpoint a process, and **starting it changes the working directory of the process**
//     to the bucket folder, as the gateway uses relative paths: the process must name all other
//     files by absolute paths.
//
// Attributes of objects (ETag, type) are extended attributes of the files if the file system
// supports them, otherwise files in a second folder. A folder keeps the form it was created with.
package s3
