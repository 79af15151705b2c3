package runner

const WindowPerFlight = windowPerFlight

// Parked returns the offsets of the parked records that a commit lists, and the offset to continue from.
func Parked(committed int64, metadata string) (next int64, waits map[int64]bool, err error) {
	p := newParking(committed)
	next, err = p.restore(committed, metadata)
	waits = make(map[int64]bool)
	for _, u := range p.units {
		for _, offset := range u.offsets {
			waits[offset] = true
		}
	}
	return next, waits, err
}
