package clickhouse

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"slices"
	"strings"
	"text/template"
)

//go:embed *.sql
var files embed.FS

// File is one file of statements.
type File struct {
	Name string
	// Digest is the SHA-256 of the file and of the tables, hexadecimal.
	Digest     string
	Statements []string
}

// Views returns the file that defines the views.
func Views() File {
	f := File{Name: "views.sql"}
	var b strings.Builder
	functions := template.FuncMap{"columns": columnsOf}
	if err := template.Must(template.New(f.Name).Funcs(functions).Parse(content(f.Name))).Execute(&b, nil); err != nil {
		panic("clickhouse: " + f.Name + ": " + err.Error())
	}
	f.Statements = statements(b.String())
	for _, t := range Tables() {
		b.WriteString(t.Create)
	}
	sum := sha256.Sum256([]byte(b.String()))
	f.Digest = hex.EncodeToString(sum[:])
	return f
}

// columnsOf returns the names of a table's columns, but for those given.
func columnsOf(table string, but ...string) (names []string) {
	for _, t := range Tables() {
		for _, c := range t.Columns {
			if t.Name == table && !slices.Contains(but, c.Name) {
				names = append(names, c.Name)
			}
		}
	}
	return names
}

func content(name string) string {
	b, err := files.ReadFile(name)
	if err != nil {
		panic("clickhouse: " + name + " is not embedded: " + err.Error())
	}
	return string(b)
}

// statements splits at semicolons that end a line; comment lines between statements are left out.
func statements(source string) []string {
	var all []string
	var b strings.Builder
	for line := range strings.Lines(source) {
		if b.Len() == 0 && (strings.TrimSpace(line) == "" || strings.HasPrefix(line, "--")) {
			continue
		}
		b.WriteString(line)
		if s, ok := strings.CutSuffix(strings.TrimSpace(b.String()), ";"); ok {
			all = append(all, s)
			b.Reset()
		}
	}
	return all
}

// Query is a documented query.
type Query struct {
	// Name is one word; Title describes the result; Section is the subject that it is listed under, empty for none.
	Name, Title, Section string
	SQL                  string
	// OfCrawl: the query has the parameter crawl. OfArchive: it reads the archive and has the parameters
	// archive, access_key and secret_key.
	OfCrawl, OfArchive bool
}

// Queries returns the queries of queries.sql, in their order.
func Queries() []Query { return questions("queries.sql") }

// ArchiveQueries returns the queries of archive.sql, in their order.
func ArchiveQueries() []Query { return questions("archive.sql") }

func questions(file string) []Query {
	var all []Query
	section := ""
	for block := range strings.SplitSeq(content(file), "\n\n") {
		head, sql, _ := strings.Cut(strings.TrimSpace(block), "\n")
		if name, ok := strings.CutPrefix(head, "-- # "); ok {
			section = name
			continue
		}
		name, title, ok := strings.Cut(strings.TrimPrefix(head, "-- "), ": ")
		sql, ends := strings.CutSuffix(strings.TrimSpace(sql), ";")
		if !ok || !ends || strings.Contains(name, " ") {
			continue // the comment at the top
		}
		all = append(all, Query{Name: name, Title: title, Section: section, SQL: sql, OfCrawl: strings.Contains(sql, "{crawl:String}"), OfArchive: strings.Contains(sql, "{archive:String}")})
	}
	return all
}
