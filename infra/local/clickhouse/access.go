package clickhouse

import (
	"encoding/xml"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// users is the configuration of the engine's only user. It has the rights that the tables of a crawl need, and
// none outside the engine's folder: no table function, table engine or dictionary of another source, no backup,
// no SYSTEM statement. The exception is reading files in S3 below one address. Settings that name files or
// addresses are constant. system.stack_trace would end the process, whose signals are handled by Go.
const users = `<clickhouse>
  <profiles><default>
%s    <constraints>
%s    </constraints>
  </default></profiles>
  <users><default>
    <password></password>
    <networks><ip>::/0</ip></networks>
    <profile>default</profile>
    <quota>default</quota>
    <grants>
      <query>GRANT SHOW, SELECT, INSERT, ALTER, CREATE DATABASE, CREATE TABLE, CREATE VIEW, CREATE TEMPORARY TABLE, DROP, UNDROP TABLE, TRUNCATE, OPTIMIZE, CHECK, KILL QUERY ON *.*</query>
      <query>REVOKE SELECT ON system.stack_trace</query>
%s    </grants>
  </default></users>
  <quotas><default></default></quotas>
</clickhouse>
`

// onDisk are settings by which aggregations, sorts and joins go on in temporary files, each from so many bytes: a query of the
// view pages has four aggregations and joins at once. Each of a join's four files or more has a buffer. Blocks of the
// default size would take more memory than all of these.
const onDisk = `    <max_bytes_before_external_group_by>%[1]d</max_bytes_before_external_group_by>
    <max_bytes_before_external_sort>%[1]d</max_bytes_before_external_sort>
    <max_bytes_before_external_join>%[1]d</max_bytes_before_external_join>
    <grace_hash_join_initial_buckets>4</grace_hash_join_initial_buckets>
    <temporary_files_buffer_size>65536</temporary_files_buffer_size>
    <max_block_size>8192</max_block_size>
`

// constant are settings with which a query would make the engine read or write a file, or send a request.
var constant = []string{
	"format_schema", "format_schema_source", "output_format_schema",
	"format_template_row", "format_template_resultset",
	"format_avro_schema_registry_url",
}

// writeConfig writes the engine's configuration to its folder, which is created if necessary, and returns the path.
func writeConfig(dir string, set Settings) (string, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	profile := ""
	var constraints, grants strings.Builder
	for _, name := range constant {
		fmt.Fprintf(&constraints, "    <%s><const/></%s>\n", name, name)
	}
	if set.MemoryBytes > 0 {
		profile = fmt.Sprintf(onDisk, set.MemoryBytes/12)
	}
	if set.Archive != "" {
		grants.WriteString("      <query>")
		below := "^" + regexp.QuoteMeta(strings.TrimRight(set.Archive, "/")) + "/.*"
		if err := xml.EscapeText(&grants, []byte("GRANT READ ON S3("+quote(below, '\'')+")")); err != nil {
			return "", err
		}
		grants.WriteString("</query>\n")
	}
	usersPath, path := filepath.Join(dir, "forager-users.xml"), filepath.Join(dir, "forager-config.xml")
	var escaped strings.Builder
	if err := xml.EscapeText(&escaped, []byte(usersPath)); err != nil {
		return "", err
	}
	if err := os.WriteFile(usersPath, fmt.Appendf(nil, users, profile, &constraints, &grants), 0o600); err != nil {
		return "", err
	}
	return path, os.WriteFile(path, fmt.Appendf(nil, config, &escaped, set.MemoryBytes, keepFree), 0o600)
}

// denied is an error for a statement that the engine would run although it accesses files or services outside
// its folder. The engine's own access control decides everything else.
func denied(source string, tokens []token) error {
	is := func(i int, what string) bool { return i >= 0 && i < len(tokens) && tokens[i].is(source, what) }
	name := func(i int) string {
		if i >= len(tokens) || tokens[i].kind != word && tokens[i].kind != quoted {
			return ""
		}
		return strings.ToLower(strings.Trim(source[tokens[i].start:tokens[i].end], "`\""))
	}
	refused := func(what string) error {
		return refuse(497, "ACCESS_DENIED", "default: Not enough privileges. The embedded ClickHouse has no %s", what)
	}
	defines := is(0, "CREATE") || is(0, "ATTACH") || is(0, "REPLACE") || is(0, "ALTER")
	depth, selects := 0, false
	for i := range tokens {
		switch {
		case is(i, "("):
			depth++
		case is(i, ")"):
			depth--
		case depth == 0 && is(i, "SELECT"):
			selects = true // the rest names no engine
		}
		switch {
		case i == 0 && is(i, "SYSTEM"):
			return refused("SYSTEM statements")
		case name(i) == "stack_trace":
			return refused("table system.stack_trace")
		case functions[name(i)] && is(i+1, "("):
			return refused("function " + name(i))
		case defines && tokens[i].kind == text && is(i-1, "FROM"):
			return refused("ATTACH … FROM")
		case defines && depth == 0 && !selects && is(i, "ENGINE"):
			at := i + 1
			if is(at, "=") {
				at++
			}
			if engine := name(at); !strings.HasSuffix(engine, "mergetree") && !engines[engine] {
				return refused("engine " + engine)
			}
		case defines && (is(i+1, "=") || is(i+1, "(")) && outside[name(i)]:
			return refused("setting " + name(i))
		}
	}
	return nil
}

// functions that the engine's access control does not check, or too late: file, as a function of a value, reads
// any file, and sqlite creates a file before it is refused.
var functions = map[string]bool{"file": true, "sqlite": true, "catboostevaluate": true}

// engines of tables and databases, besides the MergeTree family, that store their data in the engine's folder.
var engines = map[string]bool{
	"memory": true, "log": true, "tinylog": true, "stripelog": true, "null": true, "set": true, "join": true, "buffer": true,
	"merge": true, "view": true, "materializedview": true, "generaterandom": true,
	"atomic": true, "ordinary": true,
}

// outside are settings of tables that refer to other folders and services.
var outside = map[string]bool{"disk": true, "storage_policy": true, "table_disk": true}
