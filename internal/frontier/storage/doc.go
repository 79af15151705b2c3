// Package storage has the Store of a frontier, its implementation in memory, and the data structures over it: the decoder of
// stored values (Reader), a cache of bounded size (LRU), the least keys of a stored range (RangeHead), a heap whose items can be
// moved (Heap), and two that answer without a read which URLs were seen (Filter, Ordinals).
package storage
