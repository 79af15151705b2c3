package clickhouse

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"strings"
)

//go:embed *.sql
var files embed.FS

// tableFiles in the order in which they are applied.
var tableFiles = []string{"001_tables.sql"}

// File is one file of statements.
type File struct {
	Name string
	// Digest is the SHA-256 of the file, hexadecimal.
	Digest     string
	Statements []string
}

// Tables returns the files that define the tables, in order.
func Tables() []File {
	var all []File
	for _, name := range tableFiles {
		all = append(all, read(name))
	}
	return all
}

// Views returns the file that defines the views.
func Views() File { return read("views.sql") }

func read(name string) File {
	b, err := files.ReadFile(name)
	if err != nil {
		panic("clickhouse: " + name + " is not embedded: " + err.Error())
	}
	sum := sha256.Sum256(b)
	return File{Name: name, Digest: hex.EncodeToString(sum[:]), Statements: statements(string(b))}
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
	// Name is one word; Title describes the result.
	Name, Title string
	SQL         string
	// OfCrawl: the query has the parameter crawl. OfArchive: it reads the archive and has the parameters
	// archive, access_key and secret_key.
	OfCrawl, OfArchive bool
}

// Queries returns the queries of queries.sql, in their order.
func Queries() []Query { return questions("queries.sql") }

// ArchiveQueries returns the queries of archive.sql, in their order.
func ArchiveQueries() []Query { return questions("archive.sql") }

func questions(file string) []Query {
	b, err := files.ReadFile(file)
	if err != nil {
		panic("clickhouse: " + file + " is not embedded: " + err.Error())
	}
	var all []Query
	for block := range strings.SplitSeq(string(b), "\n\n") {
		head, sql, _ := strings.Cut(strings.TrimSpace(block), "\n")
		name, title, ok := strings.Cut(strings.TrimPrefix(head, "-- "), ": ")
		sql, ends := strings.CutSuffix(strings.TrimSpace(sql), ";")
		if !ok || !ends || strings.Contains(name, " ") {
			continue // the comment at the top
		}
		all = append(all, Query{Name: name, Title: title, SQL: sql, OfCrawl: strings.Contains(sql, "{crawl:String}"), OfArchive: strings.Contains(sql, "{archive:String}")})
	}
	return all
}
