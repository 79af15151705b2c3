package critic

import (
	"fmt"
	"sort"

	"forager/internal/platform/modelfile"
)

// unseen are the posteriors that a model carries for its training pages, by URL. Its lists are read in place in a
// mapped file.
type unseen struct {
	urls []byte   // ascending, concatenated
	ends []uint64 // of each URL in urls
	// lists are the ends of each page's raw, tempered and calibrated posteriors in classes and shares.
	lists   []uint64
	classes []uint16
	shares  []float64
}

// kinds is the number of posteriors that are stored for a page.
const kinds = 3

// add adds a page; pages come in the order of their URLs.
func (u *unseen) add(url string, h *heldOut) {
	u.urls = append(u.urls, url...)
	u.ends = append(u.ends, uint64(len(u.urls)))
	for _, list := range [kinds][]share{h.raw, h.tempered, h.calibrated} {
		for _, s := range list {
			u.classes, u.shares = append(u.classes, s.class), append(u.shares, s.p)
		}
		u.lists = append(u.lists, uint64(len(u.classes)))
	}
}

func (u *unseen) len() int { return len(u.ends) }

func (u *unseen) url(i int) []byte { return u.urls[after(u.ends, i):u.ends[i]] }

// after returns the beginning of item i, given the ends of items.
func after(ends []uint64, i int) uint64 {
	if i == 0 {
		return 0
	}
	return ends[i-1]
}

// place returns the index of a URL, or the index where it would be.
func (u *unseen) place(url string) (i int, ok bool) {
	i = sort.Search(u.len(), func(i int) bool { return string(u.url(i)) >= url })
	return i, i < u.len() && string(u.url(i)) == url
}

// find sets the prediction to the posteriors stored for a URL, and reports whether there are any.
func (u *unseen) find(o *Prediction, url string) bool {
	i, ok := u.place(url)
	if !ok {
		return false
	}
	for kind, dst := range [kinds][]float64{o.Raw, o.Tempered, o.Calibrated} {
		clear(dst)
		at := kinds*i + kind
		from, to := after(u.lists, at), u.lists[at]
		if others := unlisted(len(dst), u.shares[from:to]); others > 0 {
			for k := range dst {
				dst[k] = others
			}
		}
		for j := from; j < to; j++ {
			dst[u.classes[j]] = u.shares[j]
		}
	}
	return true
}

func (u *unseen) encode(e *modelfile.Encoder) {
	modelfile.PutArray(e, u.urls)
	modelfile.PutArray(e, u.ends)
	modelfile.PutArray(e, u.lists)
	modelfile.PutArray(e, u.classes)
	modelfile.PutArray(e, u.shares)
}

func decodeUnseen(d *modelfile.Decoder, classes int) *unseen {
	u := &unseen{
		urls: modelfile.Array[uint8](d, "held-out pages"), ends: modelfile.Array[uint64](d, "ends of held-out pages"),
		lists: modelfile.Array[uint64](d, "ends of posteriors"), classes: modelfile.Array[uint16](d, "classes of posteriors"),
		shares: modelfile.Array[float64](d, "posteriors"),
	}
	if d.Err() != nil {
		return u
	}
	if err := u.check(classes); err != nil {
		d.Fail("held-out pages: %v", err)
	}
	return u
}

func (u *unseen) check(classes int) error {
	if len(u.lists) != kinds*u.len() || len(u.classes) != len(u.shares) {
		return fmt.Errorf("%d pages with %d lists of %d and %d numbers", u.len(), len(u.lists), len(u.classes), len(u.shares))
	}
	if err := rising("page", u.ends, len(u.urls)); err != nil {
		return err
	}
	if err := rising("list", u.lists, len(u.shares)); err != nil {
		return err
	}
	for i := 1; i < u.len(); i++ {
		if string(u.url(i-1)) >= string(u.url(i)) {
			return fmt.Errorf("page %q behind %q", u.url(i), u.url(i-1))
		}
	}
	for i, p := range u.shares {
		if !(p > 0 && p <= 1) || int(u.classes[i]) >= classes {
			return fmt.Errorf("posterior %g of class %d", p, u.classes[i])
		}
	}
	return nil
}

// rising returns an error if the ends of items are not ascending or exceed length.
func rising(what string, ends []uint64, length int) error {
	for i, end := range ends {
		if end < after(ends, i) || end > uint64(length) {
			return fmt.Errorf("%s %d ends at %d of %d", what, i, end, length)
		}
	}
	if len(ends) > 0 && ends[len(ends)-1] != uint64(length) || len(ends) == 0 && length > 0 {
		return fmt.Errorf("something follows the last %s", what)
	}
	return nil
}
