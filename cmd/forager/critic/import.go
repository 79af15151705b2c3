package critic

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"github.com/klauspost/compress/gzip"

	"forager/cmd/internal/cli"
	"forager/internal/classify/examples"
	"forager/internal/export"
	"forager/internal/web/weburl"
)

type criticImport struct {
	Sources []string `arg:"" name:"source" help:"Files and folders of examples."`
	To      string   `short:"o" required:"" help:"File to write: x.jsonl or x.urls, or these with .gz; - is standard output."`
	Force   bool     `help:"Replace a file that is there already."`
	sourceFlags
}

func (c *criticImport) Help() string {
	return `Sources, any number of them, which together make one file of examples, sorted by URL, each page once:

  examples.jsonl       {"url": …, "topics": ["Science/Chemistry"], "text": …} a line; or html instead of text
  pages/               a folder tree of pages; the folders are the topics
  list.urls            URLs below [Topic] lines, or with topics behind tabs; or YAML, Topic: [URL, …]. They are
                       fetched by the running stages, politely
  dump/                content.rdf.u8 and structure.rdf.u8 of DMOZ or Curlie, also .gz: titles and descriptions

What was refused is listed with its file, line and reason: an example needs a URL and 1 to 1,000 topics, a list has at
most a million URLs. The same sources, in any order, give the same bytes. A file called
x.urls gets the URLs and topics only, to be fetched.

  forager critic import pages/ -o examples.jsonl.gz
  forager critic import list.urls --contact you@example.org -o examples.jsonl.gz
  forager critic import dump/ --only Science/Chemistry -o chemistry.urls`
}

func (c *criticImport) Run(s *cli.Session) error {
	name, gz := strings.CutSuffix(strings.ToLower(c.To), ".gz")
	urls := strings.HasSuffix(name, ".urls")
	if !urls && c.To != "-" && !strings.HasSuffix(name, ".jsonl") && !strings.HasSuffix(name, ".ndjson") {
		return cli.Usagef("-o %q: call it x.jsonl or x.urls, or these with .gz", c.To)
	}
	target := export.Stream(s.Data)
	if c.To != "-" {
		var err error
		if target, err = export.Create(s, c.To, c.Force); err != nil {
			return err
		}
	}
	sum, err := c.write(s, target, urls, gz)
	if err != nil {
		target.Abort()
		return err
	}
	if err := target.Commit(); err != nil {
		return fmt.Errorf("%s: %w; nothing was left there", c.To, err)
	}
	to := s.Stderr // standard output is used for the examples
	if c.To != "-" {
		to = s.Stdout
	}
	return (&cli.Session{Stdout: to, JSON: s.JSON}).Print(map[string]any{"file": c.To, "import": sum}, func(w io.Writer) { printSummary(w, sum) })
}

// write writes the examples, or their URLs and topics.
func (c *criticImport) write(s *cli.Session, target io.Writer, urls, gz bool) (*examples.Summary, error) {
	buffer := bufio.NewWriterSize(target, 1<<20)
	var to io.Writer = buffer
	var zip *gzip.Writer
	if gz {
		zip = gzip.NewWriter(buffer)
		to = zip
	}
	lines := examples.NewWriter(to)
	take := lines.Write
	if urls {
		take = func(e *examples.Example) error {
			if _, err := weburl.Parse(e.URL); err != nil {
				return fmt.Errorf("%s is no URL that can be fetched: %w", e.URL, err)
			}
			_, err := fmt.Fprintf(to, "%s\t%s\n", e.URL, strings.Join(e.Topics, "\t"))
			return err
		}
	}
	sum, err := c.Read(s, c.Sources, take)
	if err == nil && zip != nil {
		err = zip.Close()
	}
	if err == nil {
		err = buffer.Flush()
	}
	return sum, err
}
