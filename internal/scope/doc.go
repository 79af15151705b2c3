// Package scope says which URLs a crawl may fetch: its lists, its depth, the cap of a host,
// and guards against traps. Each refusal has a reason code out of a fixed set.
package scope
