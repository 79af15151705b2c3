package weburl

import "testing"

func TestLastSegment(t *testing.T) {
	for canonical, want := range map[string]string{
		"http://h.test/":                                  "",
		"http://h.test/courses/cs101.html":                "cs101",
		"http://h.test/courses/":                          "courses",
		"http://h.test/~ann/Node.js":                      "Node js",
		"https://h.test/title/Arch_Linux_(Deutsch)":       "Arch Linux (Deutsch)",
		"https://h.test/%E4%B8%AD%E6%96%87":               "中文",
		"https://h.test/wiki/index.PHP?title=Red+panda&x": "index title=Red panda&x",
		"https://h.test/?q=a%2Fb":                         "q=a/b",
		"https://h.test/100%":                             "100%",
		"https://h.test/.html":                            "",
	} {
		if got := LastSegment(canonical); got != want {
			t.Errorf("%s: %q, want %q", canonical, got, want)
		}
	}
}
