package disk

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"sync"
	"syscall"
	"time"
)

// Free returns the space, in bytes, that is left to ordinary users in the file system of dir. For a
// dir that does not exist yet it is that of its nearest parent.
func Free(dir string) (uint64, error) {
	for {
		var st syscall.Statfs_t
		err := syscall.Statfs(dir, &st)
		if err == nil {
			return st.Bavail * uint64(st.Bsize), nil
		}
		parent := filepath.Dir(dir)
		if !errors.Is(err, fs.ErrNotExist) || parent == dir {
			return 0, fmt.Errorf("free space of %s: %w", dir, err)
		}
		dir = parent
	}
}

// Folders returns the folders of a data folder that may be file systems of their own: the embedded
// parts' and the stages' state, and the data folder itself.
func Folders(data string) []string {
	dirs := []string{data}
	for _, pattern := range []string{"local", "local/*", "state", "state/*"} {
		found, err := filepath.Glob(filepath.Join(data, pattern))
		if err == nil { // the pattern is valid for any name of the folder: see TestFolders
			dirs = append(dirs, found...)
		}
	}
	return dirs
}

// State is the state of the folder with the least space.
type State struct {
	Dir string
	// Free is the space that it has, Need what it must have, in bytes.
	Free, Need uint64
	// Low: Free was found to be less than Need, and has not been more since.
	Low bool
}

// String describes a disk that is low, and what to do about it.
func (s State) String() string {
	return fmt.Sprintf("disk %s has %s free and needs %s; free space there, or lower disk.pause_below", s.Dir, Bytes(s.Free), Bytes(s.Need))
}

// Bytes formats a size for people, rounded down, so that too little never looks like enough.
func Bytes(n uint64) string {
	units := []string{"kB", "MB", "GB", "TB", "PB", "EB"}
	if n < 1000 {
		return fmt.Sprintf("%d B", n)
	}
	i, unit := 0, uint64(1000)
	for i+1 < len(units) && n/unit >= 1000 {
		i, unit = i+1, unit*1000
	}
	return fmt.Sprintf("%d.%d %s", n/unit, n%unit*10/unit, units[i])
}

// lookEvery is the pause between two checks of the disk.
const lookEvery = time.Second

// Watch checks folders from time to time. It is safe for concurrent use.
type Watch struct {
	folders func() []string
	limit   uint64
	free    func(dir string) (uint64, error)
	changed func(State, error)

	mu     sync.Mutex
	looked time.Time
	state  State
	failed bool
}

// NewWatch returns a Watch of the folders that folders returns at each check: each must have limit
// bytes free. changed is called when there is no longer enough, when there is again, and for the
// first error of free after a success; it may be nil.
func NewWatch(folders func() []string, limit uint64, free func(dir string) (uint64, error), changed func(State, error)) *Watch {
	if changed == nil {
		changed = func(State, error) {}
	}
	return &Watch{folders: folders, limit: limit, free: free, changed: changed}
}

// Check returns the state of the disk, at most a second old at the time now. A folder whose space
// cannot be read counts as one that has enough.
func (w *Watch) Check(now time.Time) State {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.limit == 0 || !w.looked.IsZero() && now.Sub(w.looked) < lookEvery && now.After(w.looked) {
		return w.state
	}
	w.looked = now
	next := State{Need: w.limit}
	if w.state.Low {
		next.Need += w.limit / 8
	}
	var failure error
	for _, dir := range w.folders() {
		free, err := w.free(dir)
		if err != nil {
			failure = errors.Join(failure, err)
			continue
		}
		if next.Dir == "" || free < next.Free {
			next.Dir, next.Free = dir, free
		}
	}
	next.Low = next.Dir != "" && next.Free < next.Need
	was := w.state.Low
	w.state = next
	if next.Low != was || failure != nil && !w.failed {
		w.changed(next, failure)
	}
	w.failed = failure != nil
	return next
}
