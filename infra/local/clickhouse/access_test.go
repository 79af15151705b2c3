package clickhouse_test

import (
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"forager/infra/local/clickhouse"
)

// outside are statements that access files or services outside the engine's folder; SECRET, OUT and DIR are paths.
var outside = []string{
	`SELECT * FROM file('SECRET', 'LineAsString')`,
	`DESCRIBE file('SECRET', 'CSV')`,
	`EXPLAIN SELECT * FROM file('SECRET', 'LineAsString')`,
	"SELECT * FROM `SECRET`",
	`SELECT * FROM loop(file('SECRET', 'LineAsString'))`,
	`SELECT * FROM view(SELECT * FROM file('SECRET', 'LineAsString'))`,
	`SELECT file('SECRET')`,
	"SELECT `file`('SECRET')",
	`INSERT INTO FUNCTION file('OUT', 'TSV', 'n UInt8') SELECT 1`,
	`INSERT INTO FUNCTION file('OUT', 'TSV', 'n UInt8') VALUES (1)`,
	`SELECT 1 INTO OUTFILE 'OUT'`,
	"SELECT ‘ ' ’ INTO OUTFILE 'OUT' --'",
	"INSERT INTO d.lines SETTINGS log_comment = ‘ ' ’ FROM INFILE 'SECRET' FORMAT LineAsString --'",
	`INSERT INTO d.lines FROM INFILE 'SECRET' FORMAT LineAsString`,
	`SELECT * FROM url('http://127.0.0.1:1/x', 'LineAsString', 'l String')`,
	`INSERT INTO FUNCTION url('http://127.0.0.1:1/x', 'TSV', 'l String') SELECT 'a'`,
	`SELECT * FROM s3('http://127.0.0.1:1/forager/archive/v1/x', 'a', 'b', 'LineAsString', 'l String')`,
	`SELECT * FROM s3('http://127.0.0.1:2/forager/models/x', 'a', 'b', 'LineAsString', 'l String')`,
	`INSERT INTO FUNCTION s3('http://127.0.0.1:2/forager/archive/v1/x', 'a', 'b', 'TSV', 'l String') SELECT 'a'`,
	`SELECT * FROM gcs('http://127.0.0.1:1/forager/x', 'a', 'b', 'LineAsString', 'l String')`,
	`SELECT * FROM oss('http://127.0.0.1:1/forager/x', 'a', 'b', 'LineAsString', 'l String')`,
	`SELECT * FROM cosn('http://127.0.0.1:1/forager/x', 'a', 'b', 'LineAsString', 'l String')`,
	`SELECT * FROM hdfs('hdfs://127.0.0.1:1/x', 'LineAsString', 'l String')`,
	`SELECT * FROM azureBlobStorage('http://127.0.0.1:1', 'c', 'b', 'a', 'YQ==', 'CSV', 'auto', 'l String')`,
	`SELECT * FROM remote('127.0.0.1:1', system.one)`,
	`SELECT * FROM remoteSecure('127.0.0.1:1', system.one)`,
	`SELECT * FROM mysql('127.0.0.1:1', 'd', 't', 'u', 'p')`,
	`SELECT * FROM postgresql('127.0.0.1:1', 'd', 't', 'u', 'p')`,
	`SELECT * FROM mongodb('127.0.0.1:1', 'd', 't', 'u', 'p', 'a String')`,
	`SELECT * FROM redis('127.0.0.1:1', 'k', 'k String, v String')`,
	`SELECT * FROM sqlite('OUT', 't')`,
	`SELECT * FROM odbc('DSN=x', 'd', 't')`,
	`SELECT * FROM jdbc('x', 'd', 't')`,
	`SELECT * FROM iceberg('http://127.0.0.1:1/forager/x', 'a', 'b')`,
	`SELECT * FROM icebergLocal('DIR')`,
	`SELECT * FROM icebergAzure('http://127.0.0.1:1', 'c', 'b', 'a', 'YQ==')`,
	`SELECT * FROM deltaLake('http://127.0.0.1:1/forager/x', 'a', 'b')`,
	`SELECT * FROM deltaLakeLocal('DIR')`,
	`SELECT * FROM hudi('http://127.0.0.1:1/forager/x', 'a', 'b')`,
	`SELECT * FROM paimon('http://127.0.0.1:1/forager/x', 'a', 'b')`,
	`SELECT * FROM paimonLocal('DIR')`,
	`SELECT * FROM ytsaurus('http://127.0.0.1:1', '//x', 't', 'a String')`,
	`SELECT * FROM executable('cat SECRET', 'LineAsString', 'l String')`,
	`CREATE TABLE d.a (l String) ENGINE = File(LineAsString, 'SECRET')`,
	`CREATE TEMPORARY TABLE a (l String) ENGINE = File(LineAsString, 'SECRET')`,
	`CREATE TABLE d.a AS file('SECRET', 'LineAsString')`,
	`CREATE TABLE d.a ENGINE = Memory AS SELECT * FROM file('SECRET', 'LineAsString')`,
	`CREATE VIEW d.a AS SELECT * FROM file('SECRET', 'LineAsString')`,
	`CREATE VIEW d.a SQL SECURITY NONE AS SELECT 1`,
	`CREATE MATERIALIZED VIEW d.a REFRESH EVERY 1 SECOND ENGINE = Memory AS SELECT * FROM file('SECRET', 'LineAsString')`,
	`CREATE TABLE d.a (l String) ENGINE = URL('http://127.0.0.1:1/', 'TSV')`,
	`CREATE TABLE d.a (l String) ENGINE = S3('http://127.0.0.1:2/forager/archive/v1/x', 'a', 'b', 'TSV')`,
	`CREATE TABLE d.a (l String) ENGINE = S3Queue('http://127.0.0.1:1/b/x', 'a', 'b', 'TSV')`,
	`CREATE TABLE d.a (l String) ENGINE = HDFS('hdfs://127.0.0.1:1/x', 'TSV')`,
	`CREATE TABLE d.a (l String) ENGINE = MySQL('127.0.0.1:1', 'd', 't', 'u', 'p')`,
	`CREATE TABLE d.a (l String) ENGINE = PostgreSQL('127.0.0.1:1', 'd', 't', 'u', 'p')`,
	`CREATE TABLE d.a (l String) ENGINE = MongoDB('127.0.0.1:1', 'd', 't', 'u', 'p')`,
	`CREATE TABLE d.a (l String) ENGINE = Redis('127.0.0.1:1') PRIMARY KEY l`,
	`CREATE TABLE d.a (l String) ENGINE = SQLite('OUT', 't')`,
	`CREATE TABLE d.a (l String) ENGINE = Kafka SETTINGS kafka_broker_list = '127.0.0.1:1', kafka_topic_list = 't', kafka_group_name = 'g', kafka_format = 'TSV'`,
	`CREATE TABLE d.a (l String) ENGINE = RabbitMQ SETTINGS rabbitmq_host_port = '127.0.0.1:1', rabbitmq_exchange_name = 'e', rabbitmq_format = 'TSV'`,
	`CREATE TABLE d.a (l String) ENGINE = NATS SETTINGS nats_url = '127.0.0.1:1', nats_subjects = 's', nats_format = 'TSV'`,
	`CREATE TABLE d.a (l String) ENGINE = Distributed('default', 'system', 'one')`,
	`CREATE TABLE d.a (l String) ENGINE = Executable('cat', 'TSV')`,
	`CREATE TABLE d.a (l String) ENGINE = ExecutablePool('cat', 'TSV')`,
	`CREATE TABLE d.a (l String) ENGINE = FileLog('DIR', 'LineAsString')`,
	`CREATE TABLE d.a (l String) ENGINE = EmbeddedRocksDB(0, 'OUT') PRIMARY KEY l`,
	`CREATE TABLE d.a ENGINE = Iceberg('http://127.0.0.1:1/x', 'a', 'b')`,
	`CREATE TABLE d.a ENGINE IcebergLocal('DIR')`,
	"CREATE TABLE d.a (l String) ENGINE = `File`(LineAsString, 'SECRET')",
	`CREATE TABLE d.a (l String) ENGINE = MergeTree ORDER BY l SETTINGS disk = disk(type = object_storage, object_storage_type = local, metadata_type = plain_rewritable, path = 'OUT/')`,
	`CREATE TABLE d.a (l String) ENGINE = MergeTree ORDER BY l SETTINGS disk = disk(type = web, endpoint = 'http://127.0.0.1:1/b/')`,
	`CREATE TABLE d.a (l String) ENGINE = MergeTree ORDER BY l SETTINGS disk = disk(type = s3, endpoint = 'http://127.0.0.1:1/bucket/b/', access_key_id='a', secret_access_key='b')`,
	`ALTER TABLE d.lines MODIFY SETTING disk = disk(type = web, endpoint = 'http://127.0.0.1:1/b/')`,
	`CREATE DATABASE a ENGINE = Filesystem('DIR')`,
	`CREATE DATABASE a ENGINE = S3('http://127.0.0.1:1/b/', 'a', 'b')`,
	`CREATE DATABASE a ENGINE = MySQL('127.0.0.1:1', 'd', 'u', 'p')`,
	`CREATE DATABASE a ENGINE = SQLite('OUT')`,
	`CREATE DATABASE a ENGINE = DataLakeCatalog('http://127.0.0.1:1/') SETTINGS catalog_type='rest', warehouse = 'w'`,
	`ATTACH DATABASE a ENGINE = Filesystem('DIR')`,
	`ATTACH TABLE d.a FROM 'DIR' (l String) ENGINE = MergeTree ORDER BY l`,
	`BACKUP TABLE d.lines TO File('OUT')`,
	`BACKUP TABLE d.lines TO Disk('default', 'b1')`,
	`RESTORE TABLE d.lines FROM File('DIR')`,
	`CREATE DICTIONARY d.a (k UInt64, v String) PRIMARY KEY k SOURCE(FILE(path 'SECRET' format 'TSV')) LAYOUT(FLAT()) LIFETIME(1)`,
	`CREATE DICTIONARY d.a (k UInt64, v String) PRIMARY KEY k SOURCE(HTTP(url 'http://127.0.0.1:1' format 'TSV')) LAYOUT(FLAT()) LIFETIME(1)`,
	`CREATE NAMED COLLECTION a AS url = 'http://127.0.0.1:1'`,
	`CREATE FUNCTION a AS (x) -> x`,
	`CREATE USER ann`,
	`GRANT ALL ON *.* TO default`,
	`SYSTEM RELOAD CONFIG`, `SYSTEM STOP MERGES`, `SYSTEM FLUSH LOGS`,
	`SELECT * FROM system.stack_trace`,
	`SELECT 1 AS a FORMAT Template SETTINGS format_template_row = 'SECRET'`,
	`SELECT 1 AS a FORMAT Template SETTINGS format_template_resultset = 'SECRET'`,
	`SELECT 1 AS a FORMAT Protobuf SETTINGS format_schema = 'SECRET:Message'`,
	`SELECT 1 AS a FORMAT Protobuf SETTINGS output_format_schema = 'OUT', format_protobuf_use_autogenerated_schema = 1`,
	`SET output_format_schema = 'OUT'`,
	`SELECT * FROM format(AvroConfluent, 'x') SETTINGS format_avro_schema_registry_url = 'http://127.0.0.1:1'`,
	`SELECT catboostEvaluate('SECRET', 1)`,
}

// refusals are the codes of ACCESS_DENIED, SETTING_CONSTRAINT_VIOLATION, INTO_OUTFILE_NOT_ALLOWED,
// UNKNOWN_TYPE_OF_QUERY, and UNSUPPORTED_METHOD, if there is no folder of programs.
var refusals = []string{"497", "452", "358", "78", "1"}

// TestNothingOutside sends every statement that accesses something outside, with the password; nothing is read
// or written. Without the password even SELECT 1 is refused.
func TestNothingOutside(t *testing.T) {
	s, err := clickhouse.Start(t.Context(), t.TempDir(), "127.0.0.1:0", clickhouse.Settings{Password: "pass", Archive: "http://127.0.0.1:2/forager/archive/v1"})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	key := []string{"X-ClickHouse-Key", "pass"}
	for _, x := range [][]string{nil, {"X-ClickHouse-Key", "wrong"}, {"X-ClickHouse-User", "ann", "X-ClickHouse-Key", "pass"}, {"X-ClickHouse-User", "default"}} {
		if r := ask(t, s, "POST", "", "SELECT 1", x...); r.status != http.StatusForbidden {
			t.Errorf("with %q: %d %s", x, r.status, r.body)
		}
		if r := ask(t, s, "GET", "?query=SELECT+1", "", x...); r.status != http.StatusForbidden {
			t.Errorf("with %q: %d %s", x, r.status, r.body)
		}
	}
	for _, sql := range []string{"CREATE DATABASE d", "CREATE TABLE d.lines (l String) ENGINE = MergeTree ORDER BY l"} {
		if r := ask(t, s, "POST", "", sql, key...); r.status != 200 {
			t.Fatalf("%s: %d %s", sql, r.status, r.body)
		}
	}
	dir := t.TempDir()
	secret, out := filepath.Join(dir, "private", "secret.txt"), filepath.Join(dir, "out")
	if err := os.Mkdir(filepath.Dir(secret), 0o700); err != nil {
		t.Fatal(err)
	}
	const content = "do-not-read-me"
	if err := os.WriteFile(secret, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	fill := strings.NewReplacer("SECRET", secret, "OUT/", out+"/", "'OUT'", "'"+out+"'", "DIR", filepath.Dir(secret))
	for _, sql := range outside {
		r := ask(t, s, "POST", "", fill.Replace(sql), key...)
		if code := r.header.Get("X-ClickHouse-Exception-Code"); !slices.Contains(refusals, code) || strings.Contains(r.body, content) {
			t.Errorf("%s: %d %.200s", sql, r.status, r.body)
		}
		if _, err := os.Stat(out); err == nil {
			t.Errorf("%s: wrote a file", sql)
			os.RemoveAll(out)
		}
		if b, err := os.ReadFile(secret); err != nil || string(b) != content {
			t.Fatalf("%s: the file is %q, %v", sql, b, err)
		}
	}
	if r := ask(t, s, "POST", "", "SELECT count() FROM d.lines", key...); r.body != "0\n" {
		t.Errorf("rows were read: %s", r.body)
	}
	// Statements that a crawl's tables need.
	for _, sql := range []string{
		"CREATE TABLE d.t (n UInt64, file String, disk String) ENGINE = ReplacingMergeTree(n) ORDER BY n SETTINGS index_granularity = 100",
		"CREATE OR REPLACE VIEW d.v AS SELECT file, disk, engine FROM d.t LEFT JOIN system.tables ON name = file",
		"INSERT INTO d.t SELECT number, 'FROM', 'INTO OUTFILE' FROM numbers(10)", "INSERT INTO d.t VALUES (1, 'file(', 'x')",
		"ALTER TABLE d.t DELETE WHERE n = 3 SETTINGS mutations_sync = 1", "ALTER TABLE d.t ADD COLUMN x UInt8", "DELETE FROM d.t WHERE n = 4",
		"OPTIMIZE TABLE d.t FINAL", "CHECK TABLE d.t", "DETACH TABLE d.t", "ATTACH TABLE d.t", "RENAME TABLE d.t TO d.u", "SELECT * FROM d.u",
		"CREATE TEMPORARY TABLE z (n UInt8)", "SHOW TABLES FROM d", "SELECT count() FROM system.parts", "TRUNCATE TABLE d.u", "DROP DATABASE d",
	} {
		if r := ask(t, s, "POST", "", sql, key...); r.status != 200 {
			t.Errorf("%s: %d %s", sql, r.status, r.body)
		}
	}
}
