package data

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/peterh/liner"

	"forager/cmd/internal/cli"
	"forager/internal/platform/analytics"
	"forager/internal/platform/archive"
	"forager/internal/platform/pipeline"
	tables "forager/schemas/clickhouse"
)

// QueryCommand is the command "forager query".
type QueryCommand struct {
	SQL     string            `arg:"" optional:"" help:"The query. A FORMAT clause of its own takes precedence over --format."`
	Example string            `help:"A documented query by its name instead."`
	List    bool              `help:"List the documented queries."`
	Crawl   string            `help:"The crawl that a documented query is about; {crawl:String} in another one."`
	Param   map[string]string `help:"Values of {name:Type} places of the query (name=value)."`
	Format  string            `help:"Format of the result (CSV, JSONEachRow, Parquet, …)." default:"PrettyCompactMonoBlock"`
	Write   bool              `help:"Permit statements that change tables or data."`
}

func (c *QueryCommand) Help() string {
	return `Documented queries are answered in SQL that can be read in schemas/clickhouse/queries.sql. Without --write,
ClickHouse refuses statements that change anything. On a terminal and without a query, a prompt takes statements, each
up to a ; at the end of a line: Tab completes names, Up and Ctrl-R find earlier statements, Ctrl-C cancels the statement.

  forager query "SELECT crawl, avg(relevance) AS harvest FROM pages WHERE outcome = 'delivered' GROUP BY crawl"
  forager query --list
  forager query --example harvest
  forager query --format CSV "SELECT url, relevance FROM pages WHERE crawl = {c:String}" --param c=chemistry`
}

func (c *QueryCommand) Run(s *cli.Session) error {
	if c.List {
		return list(s)
	}
	q := tables.Query{SQL: c.SQL}
	_, err := liner.TerminalMode()
	interactive := err == nil && c.SQL == "" && c.Example == "" && cli.Interactive(s.Stdout)
	switch {
	case interactive:
	case (c.SQL == "") == (c.Example == ""):
		return cli.Usagef("give a query, or --example NAME (forager query --list shows the names)")
	case c.Example != "":
		var ok bool
		if q, ok = documented(c.Example); !ok {
			return cli.Usagef("no documented query %q; forager query --list shows the names", c.Example)
		}
	}
	if !interactive {
		if err := c.check(q, c.Crawl); err != nil {
			return err
		}
	}
	cfg, err := s.Pipeline()
	if err != nil {
		return err
	}
	db, err := s.OpenAnalytics(cfg)
	if err != nil {
		return err
	}
	if interactive {
		return c.prompt(s, cfg, db)
	}
	return c.answer(s, cfg, db, q, c.Crawl)
}

// list prints the documented queries.
func list(s *cli.Session) error {
	type item struct {
		Name      string `json:"name"`
		Title     string `json:"title"`
		Section   string `json:"section,omitempty"`
		SQL       string `json:"sql"`
		OfCrawl   bool   `json:"of_crawl"`
		OfArchive bool   `json:"of_archive"`
	}
	var list []item
	for _, q := range allDocumented() {
		list = append(list, item(q))
	}
	return s.Print(list, func(w io.Writer) {
		for _, q := range list {
			fmt.Fprintf(w, "%-20s %s\n", q.Name, q.Title)
		}
	})
}

// check is an error if a documented query lacks its crawl, or a statement needs --write.
func (c *QueryCommand) check(q tables.Query, crawl string) error {
	switch {
	case q.Name != "" && q.OfCrawl && crawl == "":
		return cli.Usagef("the query %s is about a crawl: give --crawl NAME, or at the prompt %[1]s NAME", q.Name)
	case q.Name != "" && !q.OfCrawl && crawl != "":
		return cli.Usagef("the query %s is about all crawls, not about one: leave the crawl out", q.Name)
	case !c.Write && !analytics.Reads(q.SQL):
		return cli.Usagef("this is no SELECT, WITH, SHOW, DESCRIBE, EXPLAIN, EXISTS or VALUES; --write permits other statements")
	}
	return nil
}

// answer runs a query, documented or not, and prints its result. crawl may be empty.
func (c *QueryCommand) answer(s *cli.Session, cfg *pipeline.Config, db *analytics.DB, q tables.Query, crawl string) error {
	params := analytics.Params{}
	for k, v := range c.Param {
		params[k] = v
	}
	if crawl != "" {
		params["crawl"] = crawl
	}
	if q.OfArchive {
		login, err := cfg.S3.Login()
		if err != nil {
			return err
		}
		params["archive"] = cfg.S3.URL(archive.Folder)
		params["access_key"], params["secret_key"] = login.User, login.Password
	}
	if q.OfCrawl && !q.OfArchive {
		if err := hasRows(s, db, crawl); err != nil {
			return err
		}
	}
	format := c.Format
	if s.JSON {
		format = "JSON"
	}
	var ctx context.Context = s
	if !c.Write {
		ctx = analytics.ReadOnly(ctx)
	}
	err := db.Copy(ctx, s.Data, format, q.SQL, params)
	switch {
	case err == nil || analytics.Unavailable(err):
		return err
	case q.OfArchive && strings.Contains(err.Error(), ".parquet"):
		return fmt.Errorf("a file of the archive is damaged; restore it from a copy, or take it out of the bucket to ask the others: %w", err)
	case !c.Write && strings.Contains(err.Error(), "readonly mode"):
		return fmt.Errorf("the statement changes something; give --write to permit it: %w", err)
	}
	return err
}

// hasRows is an error if ClickHouse has no rows of a crawl: for a mistyped name every result would be empty.
func hasRows(ctx context.Context, db *analytics.DB, crawl string) error {
	names, err := db.Crawls(ctx)
	switch {
	case err != nil:
		return err
	case !slices.Contains(names, crawl):
		return fmt.Errorf("ClickHouse has no rows of a crawl %q; it has of: %s", crawl, strings.Join(names, ", "))
	}
	return nil
}

// allDocumented returns the documented queries of the tables, then those of the archive.
func allDocumented() []tables.Query { return append(tables.Queries(), tables.ArchiveQueries()...) }

func documented(name string) (tables.Query, bool) {
	for _, q := range allDocumented() {
		if q.Name == name {
			return q, true
		}
	}
	return tables.Query{}, false
}
