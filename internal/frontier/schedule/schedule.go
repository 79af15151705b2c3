package schedule

const (
	// fine is the number of pages up to which distances are equal.
	fine = 20_000
	// share: a larger crawl grows by one share-th of its pages between two times.
	share = 10
)

// Last returns the last number of pages, up to pages, at which something is due; 0 = none yet. first is the first such number,
// every the least distance between two of them; 0 counts as 1.
func Last(pages, first, every uint64) uint64 {
	if pages < first {
		return 0
	}
	every = max(1, every)
	due := first + (min(pages, max(first, fine))-first)/every*every
	for {
		step := every
		if due >= fine {
			step = max(every, due/share)
		}
		if pages-due < step {
			return due
		}
		due += step
	}
}
