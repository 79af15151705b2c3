// Package controls keeps what the topic crawl.control says: the newest record of every crawl.
// A stage feeds it from stream.Follow and looks crawls up while it handles other records.
package controls
