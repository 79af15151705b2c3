// Package crawl has the commands below "forager crawl": they start, watch, change, stop and delete
// crawls. See docs/decisions/0501 for delete and 0503 for critics trained on likes.
package crawl
