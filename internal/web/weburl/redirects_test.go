package weburl

import "testing"

func TestRedirectsEnd(t *testing.T) {
	r := Redirects{"a": "b", "b": "c", "x": "y", "y": "x"}
	for url, want := range map[string]string{"a": "c", "b": "c", "c": "c", "z": "z"} {
		if got := r.End(url); got != want {
			t.Errorf("%s leads to %s, want %s", url, got, want)
		}
	}
	if got := r.End("x"); got != "x" && got != "y" {
		t.Errorf("what goes round ends at %s", got)
	}
}
