package schemas

import (
	"cmp"
	"slices"
	"strings"
)

// WaitName returns the cause in readable form: "host-pause".
func WaitName(c WaitCause) string {
	return strings.ReplaceAll(strings.ToLower(strings.TrimPrefix(c.String(), "WAIT_CAUSE_")), "_", "-")
}

// Holds reports whether the cause is one of a whole crawl. Such a cause is in CrawlStatus.waits even if no URL is known that waits for it.
func Holds(c WaitCause) bool {
	return c >= WaitCause_WAIT_CAUSE_STOPPED && c <= WaitCause_WAIT_CAUSE_STAGE
}

// Hold lets every URL wait for a cause of the whole crawl that does not wait for one that comes before it. The list is in the order
// of WaitCause, and so is the one returned.
func Hold(waits []*Wait, cause WaitCause, object string) []*Wait {
	at, _ := slices.BinarySearchFunc(waits, cause, func(w *Wait, c WaitCause) int { return cmp.Compare(w.GetCause(), c) })
	held := &Wait{Cause: cause, Object: object}
	for _, w := range waits[at:] {
		held.Urls += w.GetUrls()
	}
	if at > 0 && Holds(waits[at-1].GetCause()) { // nothing is left for it
		return waits
	}
	return append(slices.Clone(waits[:at]), held)
}

// WaitsSince sets since when the URLs of a status have waited, by the status before.
func WaitsSince(st, before *CrawlStatus) {
	for _, w := range st.GetWaits() {
		w.Since = st.GetAt()
		for _, x := range before.GetWaits() {
			if x.GetCause() == w.GetCause() && (!Holds(w.GetCause()) || x.GetObject() == w.GetObject()) {
				w.Since = x.GetSince()
			}
		}
	}
}

// addWaits adds what the URLs of another shard wait for.
func addWaits(sum, of []*Wait) []*Wait {
	for _, w := range of {
		at, ok := slices.BinarySearchFunc(sum, w.GetCause(), func(x *Wait, c WaitCause) int { return cmp.Compare(x.GetCause(), c) })
		if !ok {
			sum = slices.Insert(sum, at, &Wait{Cause: w.GetCause(), Object: w.GetObject(), Urls: w.GetUrls(), Since: w.GetSince()})
			continue
		}
		x := sum[at]
		x.Urls, x.Object, x.Since = x.GetUrls()+w.GetUrls(), cmp.Or(x.GetObject(), w.GetObject()), min(x.GetSince(), w.GetSince())
	}
	return sum
}
