package main

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"forager/internal/web/robots"
)

// robotsCase is one robots.txt with the results of the matcher.
type robotsCase struct {
	// Name is "generated/N", or the file's name in the folder.
	Name string `json:"name"`
	// Text is set for generated files.
	Text    string         `json:"text,omitempty"`
	Answers []robotsAnswer `json:"answers"`
	// Delays are the crawl delays in seconds by agent; null if there is none.
	Delays map[string]*float64 `json:"delays"`
}

type robotsAnswer struct {
	Agent   string `json:"agent"`
	Path    string `json:"path"`
	Allowed bool   `json:"allowed"`
}

// dumpRobots evaluates generated robots.txt files and the files of a folder.
func dumpRobots(args []string) error {
	flags := flag.NewFlagSet("robots", flag.ExitOnError)
	folder := flags.String("files", "", "folder of real robots.txt files")
	n := flags.Int("generate", 3000, "number of generated files")
	if err := flags.Parse(args); err != nil {
		return err
	}
	var cases []robotsCase
	random := rand.New(rand.NewPCG(9309, 1))
	for i := range *n {
		text := generateRobots(random)
		c := answerRobots([]byte(text), func() string { return generatePath(random) })
		c.Name, c.Text = fmt.Sprintf("generated/%d", i), text
		cases = append(cases, c)
	}
	if *folder != "" {
		files, err := os.ReadDir(*folder)
		if err != nil {
			return err
		}
		for _, f := range files {
			text, err := os.ReadFile(filepath.Join(*folder, f.Name()))
			if err != nil {
				return err
			}
			c := answerRobots(text, nil)
			c.Name = f.Name()
			cases = append(cases, c)
		}
	}
	return writeJSON(cases)
}

// answerRobots evaluates paths near the patterns of a file, and random ones.
func answerRobots(text []byte, path func() string) robotsCase {
	agents, paths := []string{"forager"}, []string{"/"}
	for line := range strings.Lines(string(text)) {
		line, _, _ = strings.Cut(line, "#")
		field, value, _ := strings.Cut(line, ":")
		value = strings.TrimSpace(value)
		switch field = strings.ToLower(strings.TrimSpace(field)); {
		case strings.HasPrefix(field, "user") && len(agents) < 3 && isToken(value) && !slices.Contains(agents, value):
			agents = append(agents, value)
		case strings.HasSuffix(field, "allow") && strings.HasPrefix(value, "/") && len(value) < 500 && len(paths) < 48:
			base := strings.NewReplacer("*", "x", "$", "").Replace(value)
			paths = append(paths, base, base+"x", base[:len(base)-1]+"/y?z=/1", strings.ReplaceAll(value, "*", ""))
		}
	}
	for path != nil && len(paths) < 60 {
		paths = append(paths, path())
	}
	f := robots.Parse(text)
	c := robotsCase{Delays: make(map[string]*float64)}
	for _, agent := range agents {
		if delay, ok := f.CrawlDelay(agent); ok {
			seconds := delay.Seconds()
			c.Delays[agent] = &seconds
		} else {
			c.Delays[agent] = nil
		}
		for _, p := range paths {
			if strings.HasPrefix(p, "/") && utf8.ValidString(p) && !strings.ContainsFunc(p, isBlank) {
				c.Answers = append(c.Answers, robotsAnswer{agent, p, f.Allowed(agent, p)})
			}
		}
	}
	return c
}

// isBlank: Python's URL functions drop some of these.
func isBlank(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) || r == '\u2028' }

// isToken reports whether s is a product token (RFC 9309 §2.2.1).
func isToken(s string) bool {
	return s != "" && strings.Trim(strings.ToLower(s), "abcdefghijklmnopqrstuvwxyz-_") == ""
}

func pick(random *rand.Rand, from []string) string { return from[random.IntN(len(from))] }

var (
	robotsPieces = []string{"/", "/", "/", "a", "b", "ab", "c.html", "index.html", "?", "?q=", "&", "=", ":", "~", "-", "+", ",", ";", "@",
		"%61", "%7e", "%7E", "%FC", "%fd", "%2F", "%2f", "%3A", "%3d", "%3F", "%2a", "%24", "%25", "%", "%zz", "ü", "%C3%BC", "%c3%bc", "A", "!"}
	patternPieces = append([]string{"*", "*", "*", "$", "$", " "}, robotsPieces...)
	agentValues   = []string{"*", "*", "*", "forager", "Forager", "FORAGER", "forager/1.0", "forage", "forager-news", "Googlebot", "googlebot-image",
		"other", "forager*", "", "* x", "forager other"}
	otherLines = []string{"", "", "# comment", "Crawl-delay: 2", "Crawl-delay: 0.5", "crawl-delay: x", "Sitemap: http://example.com/s.xml",
		"Host: example.com", "Noindex: /a", "unknown", "Disallow", "Disallow /a", "User-agent forager", "Request-rate: 1/5", "Disallow: a",
		"Disallow: http://a", "Disallow:", "Allow:", "Allow: index.html"}
	lineEnds = []string{"\n", "\n", "\n", "\n", "\r\n", "\r", "\v", "\u2028"}
)

// generateRobots writes a file of some lines, most of them well-formed.
func generateRobots(random *rand.Rand) string {
	var b strings.Builder
	if random.IntN(10) == 0 {
		b.WriteString("\ufeff")
	}
	for range 1 + random.IntN(12) {
		switch random.IntN(10) {
		case 0, 1:
			fmt.Fprintf(&b, "%s: %s", pick(random, []string{"User-agent", "user-agent", "USER-AGENT ", "Useragent"}), pick(random, agentValues))
		case 2, 3, 4:
			fmt.Fprintf(&b, "Disallow: /%s", pieces(random, patternPieces))
		case 5, 6, 7:
			fmt.Fprintf(&b, "%s/%s", pick(random, []string{"Allow: ", "allow:", "\tAllow : "}), pieces(random, patternPieces))
		default:
			b.WriteString(pick(random, otherLines))
		}
		if random.IntN(8) == 0 {
			b.WriteString(" # comment")
		}
		b.WriteString(pick(random, lineEnds[:len(lineEnds)-2*min(1, random.IntN(8))]))
	}
	return b.String()
}

func generatePath(random *rand.Rand) string {
	if random.IntN(20) == 0 {
		return "/http://a" + pieces(random, robotsPieces)
	}
	return "/" + pieces(random, robotsPieces)
}

func pieces(random *rand.Rand, from []string) string {
	var b strings.Builder
	for range random.IntN(5) {
		b.WriteString(pick(random, from))
	}
	return b.String()
}
