package shards

// share is what one shard uses of a resource, could use in addition, and may use by its level.
type share struct{ used, want, level uint64 }

func (s *share) headroom() uint64 { return s.level - min(s.level, s.used) }

// parts: a shard gets a quarter of an equal share of what is left of a budget at once, so
// that little has to be taken back when the hosts of one shard are exhausted.
const parts = 4

// budgetLevels returns the levels that the shards should have of a budget: what each uses and as
// much as it asks for, up to a chunk of what is left.
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
	// If not all can have one more, the first shards get it, of pages and of requests alike: if one shard held the last
	// page and another the last request, neither could continue.
	for i := range of {
		n := min(of[i].want, chunk, left)
		levels[i] += n
		left -= n
	}
	return levels
}

// windowLevels returns the levels that the shards should have of the window: one each, so that
// no shard has to wait for the first, and the rest as even as their demands allow. total ≥ len(of).
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
