package modelfile

// Words writes words in ascending order.
func (e *Encoder) Words(words []string) {
	e.Uint(uint64(len(words)))
	last := ""
	for _, w := range words {
		e.Prefixed(last, w)
		last = w
	}
}

// Words reads what Encoder.Words wrote: words in ascending order, without duplicates.
func (d *Decoder) Words(what string) []string {
	n, last := d.Len(what, 2), ""
	words := make([]string, 0, n)
	for i := range n {
		w := d.Prefixed(what, last)
		if i > 0 && w <= last {
			d.Fail("%s: %q behind %q", what, w, last)
		}
		if d.err != nil {
			return nil
		}
		words, last = append(words, w), w
	}
	return words
}
