package clickhouse

import (
	"fmt"
	"strings"
	"sync"

	"google.golang.org/protobuf/reflect/protoreflect"

	"forager/schemas"
	"forager/schemas/column"
)

// Table is a table of ClickHouse.
type Table struct {
	Name    string
	Columns []Column
	// Create is the statement that creates it, unless it exists.
	Create string
}

// Column is a column of a table. Definition is its part of a statement.
type Column struct{ Name, Type, Definition string }

// described are the tables as the options of messages describe them.
var described = sync.OnceValue(func() []column.Table {
	all, err := column.Tables(schemas.Files())
	if err != nil {
		panic("clickhouse: " + err.Error())
	}
	return all
})

// Tables returns the tables.
var Tables = sync.OnceValue(func() []Table {
	var tables []Table
	for _, t := range described() {
		tables = append(tables, tableOf(&t))
	}
	return tables
})

// Need returns the fields of a message that are in columns.
func Need(message protoreflect.Name) column.Need { return column.Needs(described(), message) }

// tableOf returns the table that an option describes. Of records of equal keys the first counts: the one of highest precedence
// (largest integer less the record's offset). Records of one id are in one partition of their topic, so that their offsets can be
// compared. Until parts are merged both rows are there: the views read with FINAL.
func tableOf(t *column.Table) Table {
	made := Table{Name: t.Name}
	for _, c := range t.Columns {
		made.add(c.Name, c.Type, c.Comment, c.Codec)
	}
	codec := "Delta, ZSTD(1)"
	if t.Few {
		codec = ""
	}
	made.add("partition", "UInt32", "", "")
	made.add("precedence", "UInt64", "", "")
	made.add("recorded_at", "DateTime64(3, 'UTC')", "", codec)
	var definitions []string
	for _, c := range made.Columns {
		definitions = append(definitions, "    "+c.Definition)
	}
	made.Create = fmt.Sprintf("CREATE TABLE IF NOT EXISTS %s\n(\n%s\n)\nENGINE = ReplacingMergeTree(precedence)\nORDER BY (%s)\nCOMMENT %s",
		t.Name, strings.Join(definitions, ",\n"), t.Key, quoted(t.Comment))
	return made
}

// add adds a column, unless the table has it.
func (t *Table) add(name, kind, comment, codec string) {
	for _, c := range t.Columns {
		if c.Name == name {
			return
		}
	}
	definition := name + " " + kind
	if comment != "" {
		definition += " COMMENT " + quoted(comment)
	}
	if codec != "" {
		definition += " CODEC(" + codec + ")"
	}
	t.Columns = append(t.Columns, Column{name, kind, definition})
}

func quoted(s string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(s) + "'"
}
