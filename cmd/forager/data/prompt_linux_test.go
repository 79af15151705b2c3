package data_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"forager/cmd/forager/demo"
	"forager/cmd/forager/root"
	"forager/cmd/internal/cli"
	"forager/infra/local/clickhouse"
	"forager/internal/platform/analytics"
	"forager/internal/platform/pipeline"
)

// runsForager makes this program the command forager.
const runsForager = "TEST_RUNS_FORAGER"

func TestMain(m *testing.M) {
	if os.Getenv(runsForager) != "" {
		cli.Execute("forager", root.Run)
	}
	os.Exit(m.Run())
}

// patience is how long something may take on a busy machine.
const patience = 20 * time.Second

// terminal is a pseudo terminal on which a command runs.
type terminal struct {
	t      *testing.T
	master *os.File
	cmd    *exec.Cmd
	unread string // what was printed after what was expected last
}

// control calls f with the descriptor of a file, which keeps its deadlines.
func control(file *os.File, f func(fd int) error) error {
	c, err := file.SyscallConn()
	if err != nil {
		return err
	}
	controlErr := c.Control(func(fd uintptr) { err = f(int(fd)) })
	return errors.Join(controlErr, err)
}

// started starts forager on a terminal.
func started(t *testing.T, state string, args ...string) *terminal {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { master.Close() })
	var number uint32
	if err := control(master, func(fd int) (err error) {
		number, err = unix.IoctlGetUint32(fd, unix.TIOCGPTN)
		return errors.Join(err, unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0), unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: 40, Col: 120}))
	}); err != nil {
		t.Fatal(err)
	}
	slave, err := os.OpenFile(fmt.Sprint("/dev/pts/", number), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer slave.Close()
	p := &terminal{t: t, master: master, cmd: exec.Command(os.Args[0], args...)}
	p.cmd.Env = append(os.Environ(), runsForager+"=1", "XDG_STATE_HOME="+state, "TERM=xterm")
	p.cmd.Stdin, p.cmd.Stdout, p.cmd.Stderr = slave, slave, slave
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.cmd.Process.Kill() })
	p.expect("forager> ")
	return p
}

// expect reads until the command has printed a text, and returns what came before it.
func (p *terminal) expect(want string) string {
	p.t.Helper()
	if err := p.master.SetReadDeadline(time.Now().Add(patience)); err != nil {
		p.t.Fatal(err)
	}
	b := make([]byte, 4096)
	for !strings.Contains(p.unread, want) {
		n, err := p.master.Read(b)
		if err != nil {
			p.t.Fatalf("%v; %q is not in what was printed: %q", err, want, p.unread)
		}
		p.unread += string(b[:n])
	}
	before, after, _ := strings.Cut(p.unread, want)
	p.unread = after
	return before
}

// types types a text and waits for what it leads to.
func (p *terminal) types(text, want string) string {
	p.t.Helper()
	if _, err := p.master.WriteString(text); err != nil {
		p.t.Fatal(err)
	}
	return p.expect(want)
}

// ends types a text that ends the command.
func (p *terminal) ends(text string) {
	p.t.Helper()
	if _, err := p.master.WriteString(text); err != nil {
		p.t.Fatal(err)
	}
	for b := make([]byte, 4096); ; {
		if _, err := p.master.Read(b); errors.Is(err, syscall.EIO) {
			break
		} else if err != nil {
			p.t.Fatal(err)
		}
	}
	if err := p.cmd.Wait(); err != nil {
		p.t.Errorf("after %q: %v", text, err)
	}
	p.ordinary()
}

// ordinary checks that the terminal has the mode that it had at first.
func (p *terminal) ordinary() {
	p.t.Helper()
	var mode *unix.Termios
	if err := control(p.master, func(fd int) (err error) {
		mode, err = unix.IoctlGetTermios(fd, unix.TCGETS)
		return err
	}); err != nil {
		p.t.Fatal(err)
	}
	if want := uint32(unix.ECHO | unix.ICANON | unix.ISIG); mode.Lflag&want != want {
		p.t.Errorf("mode of the terminal after the command: %+v", mode)
	}
}

// served is the pipeline file of a ClickHouse with tables, and that database.
func served(t *testing.T) (path string, db *analytics.DB) {
	t.Helper()
	s, err := clickhouse.Start(t.Context(), t.TempDir(), "127.0.0.1:0", clickhouse.Settings{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	path, err = demo.WriteDemoPipeline("../../../pipeline.yaml", t.TempDir(), "", demo.Setting{Value: s.URL(), Path: []string{"clickhouse", "url"}})
	if err != nil {
		t.Fatal(err)
	}
	if db, err = analytics.Open(pipeline.ClickHouse{URL: s.URL(), Database: "forager", User: "default"}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	if err := db.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	return path, db
}

func TestPrompt(t *testing.T) {
	path, _ := served(t)
	state := t.TempDir()
	p := started(t, state, "query", "--config", path)
	p.types("SELECT 6 * -- lines\r", "      -> ")
	p.types("7 AS n, 'a--\r", "      -> ")
	p.types("b' AS m;\r", " 42 ")
	if before := p.types("SELECT 'a' || char(27, 91, 51, 49, 109) AS n;\r", `a\x1b[31m`); strings.Contains(before, "\x1b[31m") {
		t.Errorf("the result controls the terminal: %q", before)
	}
	p.types("SELECT nothing;\r", "UNKNOWN_IDENTIFIER")
	p.types("DROP TABLE fetches_rows;\r", "--write permits other statements")
	p.types("SELECT garbage", "garbage")
	p.types("\x03", "^C")
	p.types("help\r", "harvest rate of every crawl")
	p.types("loss\r", "give --crawl NAME")
	p.types("loss nothing\r", `no rows of a crawl "nothing"`)
	p.types("outcomes\r", "forager> ")

	p.types("sel\t", "SELECT")                   // a keyword
	p.types(" countSubs\t", "countSubstrings")   // a function
	p.types("(source_temp\t", "source_tempered") // a column
	p.types(") AS n FROM judg\t", "judgements")
	p.types("\t", "judgements_rows") // the second time it lists them
	p.types("\x03", "^C")
	p.types("SELECT 1000 + 234 AS n;\r", " 1234 ")
	p.ends("\x04")

	file := filepath.Join(state, "forager", "query_history")
	if info, err := os.Stat(file); err != nil || info.Mode() != 0o600 {
		t.Errorf("history: %v, %v", info, err)
	}
	earlier, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, append(bytes.Repeat([]byte("SELECT 0;\n"), 2000), earlier...), 0o600); err != nil {
		t.Fatal(err)
	}
	p = started(t, state, "query", "--config", path)
	p.types("\x1b[A", "SELECT 1000 + 234 AS n;")
	p.types("\r", " 1234 ")
	p.types("\x12T 6", `7 AS n, 'a--\nb' AS m;`)
	p.types("\r", " 42 ") // its comment does not hide the second line
	p.ends("exit\r")
	if kept, err := os.ReadFile(file); err != nil || bytes.Count(kept, []byte("\n")) > 1100 || !bytes.HasSuffix(kept, []byte(" AS m;\nexit\n")) {
		t.Errorf("history is %d bytes, %v", len(kept), err)
	}
	p = started(t, os.DevNull, "query", "--config", path) // where no history can be kept
	p.types("SELECT 1000 + 234 AS n;\r", " 1234 ")
	p.ends("exit;\r")
}

// TestPromptCancels: an interrupt ends the statement that runs, also on the server, and not the prompt.
func TestPromptCancels(t *testing.T) {
	path, db := served(t)
	running := func(want bool) {
		t.Helper()
		tick := time.NewTicker(20 * time.Millisecond)
		defer tick.Stop()
		for deadline := time.Now().Add(patience); ; <-tick.C {
			r, err := db.Query(t.Context(), "SELECT count() FROM system.processes WHERE query LIKE '%1000000000000%' AND query NOT LIKE '%processes%'", nil)
			if err != nil {
				t.Fatal(err)
			}
			if (fmt.Sprint(r.Rows[0][0]) != "0") == want {
				return
			}
			if time.Now().After(deadline) {
				t.Fatalf("statements that run: %v", r.Rows)
			}
		}
	}
	for _, statement := range []string{
		"SELECT sum(cityHash64(number)) FROM numbers(1000000000000);", "INSERT INTO FUNCTION null('x UInt64') SELECT cityHash64(number) FROM numbers(1000000000000);",
	} {
		p := started(t, t.TempDir(), "query", "--config", path, "--write")
		p.types(statement+"\r", "\n")
		running(true)
		p.types("\x03", "cancelled")
		running(false)
		p.types("SELECT 1000 + 234 AS n;\r", " 1234 ")
		p.ends("\x04")
	}
}

// TestPromptEndsAfterATermination: the terminal has its mode again.
func TestPromptEndsAfterATermination(t *testing.T) {
	path, _ := served(t)
	p := started(t, t.TempDir(), "query", "--config", path)
	p.types("SELECT", "SELECT")
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	p.expect("interrupted")
	p.cmd.Wait()
	if code := p.cmd.ProcessState.ExitCode(); code != cli.ExitFailure {
		t.Errorf("exit code %d", code)
	}
	p.ordinary()
}
