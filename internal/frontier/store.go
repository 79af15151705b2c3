package frontier

// Store is an ordered map of byte strings, the only place where a Shard keeps what must
// survive it. stream.Store (Pebble) and NewMemory implement it.
//
// Slices handed out by Get and Scan belong to the store, are valid until the next call, and
// are not changed; Set and Delete copy what they are given. The function given to Scan does not
// call the store.
type Store interface {
	// Get returns the value of key; ok is false where there is none.
	Get(key []byte) (value []byte, ok bool, err error)
	// Read is Get, with the value appended to buf. Several goroutines may call it beside anything.
	Read(key, buf []byte) (value []byte, ok bool, err error)
	Set(key, value []byte) error
	Delete(key []byte) error
	// DeleteRange deletes from ≤ key < to.
	DeleteRange(from, to []byte) error
	// Scan calls f for from ≤ key < to in ascending order while f wants more. Several goroutines may call it
	// while nobody calls anything but Read.
	Scan(from, to []byte, f func(key, value []byte) (more bool, err error)) error
	// ReadCommitted calls f for those of ascending keys that were there at the last commit, with their positions and values;
	// ScanCommitted is Scan of that. What was written since may be seen, too. Several goroutines may call both beside
	// anything but a commit.
	ReadCommitted(keys [][]byte, f func(i int, value []byte) error) error
	ScanCommitted(from, to []byte, f func(key, value []byte) (more bool, err error)) error
}
