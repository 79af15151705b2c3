package data

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"forager/cmd/internal/cli"
	"forager/internal/export"
	"forager/internal/operate"
	"forager/internal/platform/analytics"
	"forager/internal/platform/objects"
	"forager/internal/platform/progress"
	"forager/internal/platform/segment"
	"forager/schemas"
)

// ExportCommand is the command "forager export".
type ExportCommand struct {
	Crawl   string        `arg:"" help:"Name of the crawl."`
	To      string        `short:"o" help:"File to write; - is standard output." default:"-"`
	Format  string        `help:"warc, jsonl or urls; by default by the extension of the file."`
	Above   float64       `help:"Pages of this relevance or more, 0 to 1."`
	Topic   string        `help:"Pages whose best topic is this one or lies below it."`
	Outcome string        `help:"Requests with this outcome (not-html, client-error, …), or refused-link: URLs that were never requested; no WARC of these." default:"delivered"`
	Gzip    bool          `help:"Compress, also where the name does not end in .gz."`
	Force   bool          `help:"Replace a file that is there already."`
	Lossy   bool          `help:"Leave out pages that cannot be read from the store, and name them."`
	Wait    time.Duration `help:"How long to wait until ClickHouse has all pages of a finished crawl." default:"60s"`
	At      []string      `help:"For refused-link: address of the metrics of prioritize, where it does not run on this machine; once for each replica." placeholder:"HOST:PORT" sep:"none"`
}

func (c *ExportCommand) Help() string {
	return `WARC records are those that were stored (forager serve-web serves them). Lines of JSON hold the text of the
page and can train a critic. A file appears when it is whole; of a running crawl it holds the pages so far.

--outcome refused-link writes the URLs that links or redirects of fetched pages lead to and that were never requested because a rule refuses
them: exclude, scope, depth, trap, host-cap or gate. Each line has the rule, the reason, the depth and the page nearest to a seed
that leads there (via). Prioritize decides by its state and the rules in force now, as for forager why. URLs that wait in the queue are
not refused. Refused after a request, and listed by its outcome, are robots-disallowed, refused (a forbidden address), excluded (a type or a
language) and redirected (to a refused URL). These leave no trace and are not listed: a URL whose host was full when it was found and
is not any more; what is no http or https URL; links of a page with nofollow in a meta element; links beyond what is read of a page.

  forager export chemistry --above 0.5 -o chemistry.warc.gz
  forager export chemistry --topic Science/Chemistry -o chemistry.jsonl.gz
  forager export chemistry --format urls | head
  forager export chemistry --format urls --outcome client-error -o dead-links.txt
  forager export chemistry --outcome refused-link -o refused.jsonl.gz`
}

// format is that of the flag, or that of the file name's suffix.
func (c *ExportCommand) format() (f export.Format, gz bool, err error) {
	name := strings.ToLower(c.To)
	name, gz = strings.CutSuffix(name, ".gz")
	f = export.Format(c.Format)
	if f == "" {
		for suffix, by := range map[string]export.Format{".warc": export.WARC, ".jsonl": export.JSONL, ".ndjson": export.JSONL, ".txt": export.URLs, ".urls": export.URLs} {
			if strings.HasSuffix(name, suffix) {
				f = by
			}
		}
	}
	switch {
	case !slices.Contains(OutcomeNames(), c.Outcome):
		return "", false, cli.Usagef("--outcome %q is none of %s", c.Outcome, strings.Join(OutcomeNames(), ", "))
	case f == "":
		return "", false, cli.Usagef("give --format warc, jsonl or urls (not needed for a file called x.warc, x.jsonl or x.urls, or these with .gz)")
	case f != export.WARC && f != export.JSONL && f != export.URLs:
		return "", false, cli.Usagef("--format %q is none of warc, jsonl, urls", c.Format)
	case f == export.WARC && c.Outcome != "delivered":
		return "", false, cli.Usagef("only delivered pages have bytes: --outcome %s goes with jsonl and urls", c.Outcome)
	case !(c.Above >= 0 && c.Above <= 1):
		return "", false, cli.Usagef("--above %g: a relevance lies between 0 and 1", c.Above)
	case c.refused() && (c.Above > 0 || c.Topic != ""):
		return "", false, cli.Usagef("refused links have no relevance and no topic: --above and --topic do not go with --outcome %s", c.Outcome)
	}
	return f, gz || c.Gzip, nil
}

func (c *ExportCommand) refused() bool { return c.Outcome == operate.RefusedLink }

// rows is what is exported.
func (c *ExportCommand) rows() string {
	if c.refused() {
		return "links"
	}
	return "pages"
}

func (c *ExportCommand) Run(s *cli.Session) error {
	format, gz, err := c.format()
	if err != nil {
		return err
	}
	p, ctl, err := s.OpenCrawl(c.Crawl)
	if err != nil {
		return err
	}
	if err := c.Complete(s, p.Topics, p.DB); err != nil {
		return err
	}
	target := export.Stream(s.Data)
	if c.To != "-" {
		if target, err = export.Create(s, c.To, c.Force); err != nil {
			return err
		}
	}
	name := c.To
	if name == "-" {
		name = c.Crawl + ".warc"
	}
	var all uint64 // unknown of a part of the pages
	if c.Above == 0 && c.Topic == "" {
		all = p.Topics.Status(c.Crawl).GetOutcomes()[c.Outcome]
	}
	pages, lost, err := c.write(s, p, target, int64(all), export.Options{Format: format, Gzip: gz, Date: time.UnixMilli(ctl.GetCreatedAt()), Name: name[strings.LastIndexByte(name, '/')+1:]})
	if err != nil {
		return err
	}
	to := s.Stderr // standard output is used for the pages
	if c.To != "-" {
		to = s.Stdout
	}
	summary := map[string]any{"crawl": c.Crawl, c.rows(): pages, "left_out": lost, "file": c.To}
	return (&cli.Session{Stdout: to, JSON: s.JSON}).Print(summary, func(w io.Writer) {
		fmt.Fprintf(w, "%d %s of %s", pages, c.rows(), c.Crawl)
		if lost > 0 {
			fmt.Fprintf(w, ", %d left out", lost)
		}
		if c.To != "-" {
			fmt.Fprintf(w, " in %s", c.To)
		}
		fmt.Fprintln(w)
	})
}

// exportCache bounds what is read ahead from the store, bytes: pages of a segment are requested soon after one another.
const exportCache = 16 << 20

// write writes the pages, about all in number (0 = unknown), and commits the target. An error describes what remains of it.
func (c *ExportCommand) write(s *cli.Session, p cli.Parts, target *export.Target, all int64, o export.Options) (pages, lost int, err error) {
	if c.Lossy {
		o.Damaged = func(_ string, err error) {
			lost++
			fmt.Fprintf(s.Stderr, "left out: %v\n", err)
		}
	}
	sel := analytics.Selection{Crawl: c.Crawl, Outcome: c.Outcome, Above: c.Above, Topic: strings.Trim(c.Topic, "/"), URLsOnly: o.Format == export.URLs}
	ctx, end := progress.Start(s, "exporting", all)
	if c.refused() {
		pages, err = export.WriteRows(ctx, target, o, func(put func(string, any) error) error {
			explainer := operate.Explainer{Topics: p.Topics, Config: p.Config, DB: p.DB, At: c.At}
			return explainer.Refused(ctx, c.Crawl, func(r *operate.Refusal) error { return put(r.URL, r) })
		})
	} else {
		pages, err = export.Write(ctx, target, p.DB, segment.NewAhead(p.Store, exportCache), sel, o)
	}
	end()
	if err == nil {
		err = target.Commit()
	} else {
		target.Abort()
	}
	switch {
	case err == nil:
		return pages, lost, nil
	case analytics.Unavailable(err), errors.Is(err, objects.ErrUnavailable):
		err = fmt.Errorf("%w (forager doctor finds the fault)", err)
	case errors.Is(err, objects.ErrNotFound), errors.Is(err, export.ErrDamaged):
		err = fmt.Errorf("%w (--lossy leaves such pages out)", err)
	}
	switch {
	case !target.Streaming():
		return 0, 0, fmt.Errorf("export to %s: %w; nothing of it is left", c.To, err)
	case o.Gzip && o.Format != export.WARC:
		return 0, 0, fmt.Errorf("export: %w; what was written is a gzip file that breaks off", err)
	}
	return 0, 0, fmt.Errorf("export: %w; what was written holds %d whole %s and perhaps a part of the next", err, pages, c.rows())
}

// Complete waits until ClickHouse has all pages of a crawl that has finished; for any other crawl it prints a note.
func (c *ExportCommand) Complete(s *cli.Session, b *cli.Topics, db *analytics.DB) error {
	st := b.Status(c.Crawl)
	if !operate.Ended(st) {
		fmt.Fprintf(s.Stderr, "%s has not finished: these are its %s so far\n", c.Crawl, c.rows())
		return nil
	}
	outcomes := []string{cmp.Or(c.Outcome, schemas.OutcomeName(schemas.Outcome_OUTCOME_DELIVERED))}
	if c.refused() { // found on delivered pages and by redirects
		outcomes = []string{schemas.OutcomeName(schemas.Outcome_OUTCOME_DELIVERED), schemas.OutcomeName(schemas.Outcome_OUTCOME_REDIRECTED)}
	}
	for _, outcome := range outcomes {
		var have uint64
		want := st.GetOutcomes()[outcome]
		ok, err := operate.Poll(s, c.Wait, func() (bool, error) {
			var err error
			have, err = db.Complete(s, c.Crawl, outcome)
			return have >= want, err
		})
		switch {
		case err != nil:
			return err
		case !ok:
			return fmt.Errorf("ClickHouse has %d of the %d pages of %s after %s; does load-clickhouse run? (forager up starts it)", have, want, c.Crawl, c.Wait)
		}
	}
	return nil
}

// OutcomeNames returns the outcomes that can be exported: those of requests, in the order of their numbers, and that of refused links.
func OutcomeNames() (names []string) {
	for o := schemas.Outcome_OUTCOME_DELIVERED; ; o++ {
		if _, known := schemas.Outcomes[o]; !known {
			return append(names, operate.RefusedLink)
		}
		if !schemas.Virtual(o) {
			names = append(names, schemas.OutcomeName(o))
		}
	}
}
