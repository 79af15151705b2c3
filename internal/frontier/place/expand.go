package place

// Expand places the targets of the page by which an entry was chosen before all others. Pages that were judged under
// earlier policies have no stored targets and are not expanded.
func (pr *Placer) Expand(number uint64) error {
	p, ok, err := pr.pages.Page(number)
	if err != nil || !ok || !p.Listed || p.Expanded {
		return err
	}
	targets, err := pr.pages.TargetsOf(p)
	if err != nil {
		return err
	}
	p.Expanded = true
	if err := pr.pages.SavePage(p); err != nil {
		return err
	}
	for _, ordinal := range targets {
		e, err := pr.state.Unvisited(ordinal)
		if err != nil {
			return err
		}
		if e == nil || pr.queues.Unranked(e.Places) {
			continue
		}
		if err := pr.Replace(e); err != nil {
			return err
		}
	}
	return nil
}
