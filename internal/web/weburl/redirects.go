package weburl

// Redirects says of URLs that redirected where they lead.
type Redirects map[string]string

// End is where a URL leads at last; of URLs that go round one of them.
func (r Redirects) End(url string) string {
	for range len(r) {
		to, ok := r[url]
		if !ok {
			break
		}
		url = to
	}
	return url
}
