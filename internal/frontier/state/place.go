package state

// Linkless reports whether pin placed the entry, not a link.
func (p *Placed) Linkless() bool { return p.Pinned && p.Via == 0 }
