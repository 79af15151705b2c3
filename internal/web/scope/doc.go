// Package scope decides which URLs a crawl may fetch: by its lists and its depth, and by guards against traps,
// sites that generate URLs without end. Each refusal has a Reason out of a fixed set, so that it can be the
// label of a metric.
//
// The guards ignore URLs that an explicit list contains, as the author of the list has chosen them. Their
// limits are constants, far above what sites for people use, and not meant for tuning.
package scope
