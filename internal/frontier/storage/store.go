package storage

// Store is an ordered map of byte strings, which holds all state of a Shard.
// stateful.Store (Pebble) and NewMemory implement it.
//
// Slices returned by Get and passed by Scan belong to the store, are valid until the next call, and
// must not be changed; Set and Delete copy their arguments. The function passed to Scan must not
// call the store.
type Store interface {
	// Get returns the value of key; ok is false if there is none.
	Get(key []byte) (value []byte, ok bool, err error)
	// Read is Get, with the value appended to buf. It may be called concurrently with any other method.
	Read(key, buf []byte) (value []byte, ok bool, err error)
	Set(key, value []byte) error
	Delete(key []byte) error
	// DeleteRange deletes from ≤ key < to.
	DeleteRange(from, to []byte) error
	// Scan calls f for from ≤ key < to in ascending order while f returns more. It may be called concurrently with itself
	// and Read only.
	Scan(from, to []byte, f func(key, value []byte) (more bool, err error)) error
	// ReadCommitted calls f for those of ascending keys that existed at the last commit, with their positions and values;
	// ScanCommitted is Scan of that. Later writes may be visible, too. Both may be called concurrently with
	// anything but a commit.
	ReadCommitted(keys [][]byte, f func(i int, value []byte) error) error
	ScanCommitted(from, to []byte, f func(key, value []byte) (more bool, err error)) error
}
