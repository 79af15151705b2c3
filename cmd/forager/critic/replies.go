package critic

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"forager/internal/crawl/crawlfile"
	"forager/internal/operate"
)

// question is a page to confirm, with the line that shows it.
type question struct{ URL, Line string }

// confirm asks the operator about each page and returns the URLs that are on topic and those that are not.
func confirm(in io.Reader, out io.Writer, list []question) (yes, no []string, err error) {
	lines := bufio.NewScanner(in)
	for i := 0; i < len(list); {
		fmt.Fprintf(out, "%d of %d  %s\non topic? [y/n/s/q] ", i+1, len(list), list[i].Line)
		if !lines.Scan() {
			fmt.Fprintln(out)
			return yes, no, lines.Err()
		}
		switch strings.ToLower(strings.TrimSpace(lines.Text())) {
		case "y", "yes":
			yes = append(yes, list[i].URL)
		case "n", "no":
			no = append(no, list[i].URL)
		case "s", "skip":
		case "q", "quit":
			return yes, no, nil
		default:
			fmt.Fprintln(out, "y = it is on topic, n = it is not, s = skip it, q = that is all")
			continue
		}
		i++
	}
	return yes, no, nil
}

// replies are read from files instead of a terminal.
type replies struct {
	Yes string `help:"A file of URLs that are on topic, instead of questions; - is standard input." type:"path"`
	No  string `help:"A file of URLs that are not on topic, instead of questions." type:"path"`
}

func (a *replies) given() bool { return a.Yes != "" || a.No != "" }

// Read returns the URLs that are on topic and those that are not; none is both.
func (a *replies) Read() (yes, no []string, err error) {
	read := func(path string) ([]string, error) {
		if path == "" {
			return nil, nil
		}
		in := io.Reader(os.Stdin)
		if path != "-" {
			f, err := os.Open(path)
			if err != nil {
				return nil, err
			}
			defer f.Close()
			in = f
		}
		lines, err := crawlfile.Lines(in)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		return operate.CanonicalSeeds(lines)
	}
	if yes, err = read(a.Yes); err == nil {
		no, err = read(a.No)
	}
	if err != nil {
		return nil, nil, err
	}
	for _, u := range yes {
		if slices.Contains(no, u) {
			return nil, nil, fmt.Errorf("page %s is in both files; nothing was marked", u)
		}
	}
	return yes, no, nil
}
