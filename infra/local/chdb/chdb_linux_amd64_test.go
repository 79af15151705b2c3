package chdb

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"
)

// TestMain also serves as the process of TestKilledProcessLosesNothing.
func TestMain(m *testing.M) {
	if dir := os.Getenv("FORAGER_TEST_CHDB"); dir != "" {
		if err := insertForEver(dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	os.Exit(m.Run())
}

func insertForEver(dir string) error {
	c, err := Connect(dir)
	if err != nil {
		return err
	}
	if _, err := c.Query("CREATE DATABASE d; CREATE TABLE d.t (n UInt64) ENGINE = MergeTree ORDER BY n", "TabSeparated"); err != nil {
		return err
	}
	for n := 0; ; n++ {
		r, err := c.Query(fmt.Sprintf("INSERT INTO d.t SELECT %d", n), "TabSeparated")
		if err != nil {
			return err
		}
		r.Free()
		fmt.Println(n)
	}
}

func connect(t *testing.T, dir string) *Conn {
	t.Helper()
	c, err := Connect(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func query(t *testing.T, c *Conn, sql string, params ...Param) string {
	t.Helper()
	r, err := c.Query(sql, "TabSeparated", params...)
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	defer r.Free()
	return string(r.Data)
}

func TestNilDereferenceIsStillRecovered(t *testing.T) {
	c := connect(t, t.TempDir())
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 20 {
				if r, err := c.Query("SELECT 1", "TabSeparated"); err == nil {
					r.Free()
				}
				func() {
					defer func() {
						if recover() == nil {
							t.Error("no panic")
						}
					}()
					var p *int
					*p = 1
				}()
			}
		})
	}
	wg.Wait()
}

func TestQuery(t *testing.T) {
	c := connect(t, t.TempDir())
	if got := query(t, c, "SELECT {a:String}, {b:Array(UInt8)}, {c:Nullable(String)}",
		Param{"a", `tab\t'quote' back\\slash`}, Param{"b", "[1,2]"}, Param{"c", `\N`}); got != "tab\\t\\'quote\\' back\\\\slash\t[1,2]\t\\N\n" {
		t.Errorf("parameters came back as %q", got)
	}
	if got := query(t, c, "SELECT 7 AS x FORMAT JSONEachRow"); got != "{\"x\":7}\n" {
		t.Errorf("FORMAT in the text: %q", got)
	}
	_, err := c.Query("SELECT * FROM missing", "TabSeparated")
	var e *Exception
	if !errors.As(err, &e) || e.Code != 60 || !strings.HasPrefix(e.Message, "Code: 60. DB::Exception: ") {
		t.Errorf("a missing table: %#v", err)
	}
	c.Close()
	if _, err := c.Query("SELECT 1", "TabSeparated"); err == nil {
		t.Error("a closed connection answers")
	}
}

func TestFailedQueryLeavesNothingBehind(t *testing.T) {
	c := connect(t, t.TempDir())
	_, err := c.Query("SELECT throwIf(number = 50, 'stop') FROM numbers(100) SETTINGS max_block_size = 1, max_threads = 1", "TabSeparated")
	if err == nil {
		t.Fatal("the query did not fail")
	}
	if got := query(t, c, "SELECT 'next'"); got != "next\n" {
		t.Errorf("the next result is %q", got)
	}
}

func TestRowsComeAsFiles(t *testing.T) {
	c := connect(t, t.TempDir())
	query(t, c, "CREATE DATABASE d; CREATE TABLE d.t (n UInt64, s String) ENGINE = MergeTree ORDER BY n")
	for format, rows := range map[string]string{
		"CSV": "1,\"a\n\nb\"\n", "JSONEachRow": `{"n":2,"s":"x\n\ny"}`, "Values": "(1+2, upper('z'))", "TabSeparated": "",
	} {
		fd, err := unix.MemfdCreate("rows", unix.MFD_CLOEXEC)
		if err != nil {
			t.Fatal(err)
		}
		f := os.NewFile(uintptr(fd), "rows")
		if _, err := f.WriteString(rows); err != nil {
			t.Fatal(err)
		}
		query(t, c, fmt.Sprintf("INSERT INTO d.t FROM INFILE '/proc/self/fd/%d' COMPRESSION 'none' FORMAT %s", fd, format))
		f.Close()
	}
	if got, want := query(t, c, "SELECT * FROM d.t ORDER BY n"), "1\ta\\n\\nb\n2\tx\\n\\ny\n3\tZ\n"; got != want {
		t.Errorf("rows %q, want %q", got, want)
	}
}

func TestConnectionsRunSideBySideAndAreKilled(t *testing.T) {
	dir := t.TempDir()
	slow, fast := connect(t, dir), connect(t, dir)
	ended := make(chan error, 1)
	go func() {
		_, err := slow.Query("SELECT sleepEachRow(0.1) FROM numbers(3000) SETTINGS max_block_size = 1, log_comment = 'slow'", "Null")
		ended <- err
	}()
	for query(t, fast, "SELECT count() FROM system.processes WHERE Settings['log_comment'] = 'slow'") != "1\n" {
		select {
		case err := <-ended:
			t.Fatalf("the slow query ended: %v", err)
		default:
		}
	}
	query(t, fast, "KILL QUERY WHERE Settings['log_comment'] = 'slow'")
	var e *Exception
	if err := <-ended; !errors.As(err, &e) || e.Code != 394 {
		t.Errorf("the killed query ended with %v, want code 394", err)
	}
	if got := query(t, slow, "SELECT 1"); got != "1\n" {
		t.Errorf("its connection then answers %q", got)
	}
}

func TestFoldersOneAfterTheOther(t *testing.T) {
	first, second := t.TempDir(), t.TempDir()
	c := connect(t, first)
	query(t, c, "CREATE DATABASE d; CREATE TABLE d.t (n UInt64) ENGINE = MergeTree ORDER BY n; INSERT INTO d.t SELECT number FROM numbers(10)")
	if other, err := Connect(second); err == nil {
		other.Close()
		t.Error("two folders are open at once")
	}
	c.Close()
	c = connect(t, second)
	if got := query(t, c, "SELECT count() FROM system.databases WHERE name = 'd'"); got != "0\n" {
		t.Errorf("the second folder holds the first's database (%q)", got)
	}
	c.Close()
	c = connect(t, first)
	if got := query(t, c, "SELECT count() FROM d.t"); got != "10\n" {
		t.Errorf("the first folder holds %q rows, want 10", got)
	}
}

func TestKilledProcessLosesNothing(t *testing.T) {
	dir := t.TempDir()
	lib, err := Find()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "FORAGER_TEST_CHDB="+dir, Env+"="+lib)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	acknowledged := -1
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if acknowledged, err = strconv.Atoi(lines.Text()); err != nil {
			t.Fatal(err)
		}
		if acknowledged == 40 {
			cmd.Process.Kill()
		}
	}
	cmd.Wait()
	if acknowledged < 40 {
		t.Fatalf("the process ended after row %d", acknowledged)
	}
	c := connect(t, dir)
	if got := query(t, c, fmt.Sprintf("SELECT count() FROM d.t WHERE n <= %d", acknowledged)); got != fmt.Sprintf("%d\n", acknowledged+1) {
		t.Errorf("%s rows are left of %d acknowledged", strings.TrimSpace(got), acknowledged+1)
	}
}

func TestFind(t *testing.T) {
	t.Setenv(Env, "/nowhere/libchdb.so")
	if _, err := Find(); err == nil || !strings.Contains(err.Error(), Env) {
		t.Errorf("a wrong variable: %v", err)
	}
	t.Setenv(Env, "")
	if p, err := Find(); err != nil || !strings.HasSuffix(p, "libchdb.so") {
		t.Errorf("found %q, %v", p, err)
	}
	t.Chdir("/")
	if p, err := Find(); err == nil {
		t.Errorf("found %q above the root", p)
	} else if !strings.Contains(err.Error(), "make deps") {
		t.Errorf("the message has no advice: %v", err)
	}
}
