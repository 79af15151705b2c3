package shards

// share is what one shard uses of a resource, could use besides, and may use by its level.
type share struct{ used, want, level uint64 }

func (s *share) headroom() uint64 { return s.level - min(s.level, s.used) }

// parts of what is left of a budget that a shard gets at once: a quarter of an equal share, so
// that little has to be taken back when the hosts of one shard dry up.
const parts = 4

// budgetLevels are the levels that the shards should have of a budget: what each uses and as
// much as it wants, up to a chunk of what is left.
func budgetLevels(total uint64, of []share) []uint64 {
	left := total
	for i := range of {
		left -= min(left, of[i].used)
	}
	levels := make([]uint64, len(of))
	for i := range of {
		levels[i] = of[i].used
	}
	chunk := max(1, left/(parts*uint64(len(of))))
	// Where not all can have one more, the first shards have, of pages and of requests alike: of two
	// that hold the last of one each nobody could go on.
	for i := range of {
		n := min(of[i].want, chunk, left)
		levels[i] += n
		left -= n
	}
	return levels
}

// windowLevels are the levels that the shards should have of the window: one each, so that
// nobody has to ask for the first, and else as even as wishes allow. total ≥ len(of).
func windowLevels(total uint64, of []share) []uint64 {
	levels := make([]uint64, len(of))
	open := make([]int, len(of))
	for i := range of {
		levels[i], open[i] = 1, i
	}
	left := total - min(total, uint64(len(of)))
	for left > 0 && len(open) > 0 {
		each := max(1, left/uint64(len(open)))
		var still []int
		for _, i := range open {
			wish := max(1, of[i].used+of[i].want)
			n := min(each, wish-min(wish, levels[i]), left)
			levels[i] += n
			left -= n
			if levels[i] < wish {
				still = append(still, i)
			}
		}
		open = still
	}
	return levels
}
