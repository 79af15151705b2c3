package weburl

// Redirects maps URLs that redirected to their targets.
type Redirects map[string]string

// End returns where a URL finally leads; for URLs in a cycle one of them.
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
