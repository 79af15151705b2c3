package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/alecthomas/kong"

	"forager/internal/platform/analytics"
	"forager/internal/platform/objects"
	"forager/internal/platform/pipeline"
	"forager/internal/platform/progress"
)

// Exit codes of the command.
const (
	exitOK      = 0
	exitFailure = 1
	exitUsage   = 2
)

// commands is the whole command line.
type commands struct {
	Config string `help:"The pipeline file." default:"pipeline.yaml" short:"c" type:"path" env:"FORAGER_CONFIG"`
	JSON   bool   `help:"Print one JSON document instead of text." name:"json"`

	Within time.Duration `help:"How long the broker may take to answer." default:"30s"`

	Doctor     doctorCommand     `cmd:"" help:"Check the pipeline file and everything it points to."`
	Setup      setupCommand      `cmd:"" help:"Create topics, bucket and tables; report what differs."`
	Reload     reloadCommand     `cmd:"" help:"Load ClickHouse's tables anew from the topics."`
	Up         upCommand         `cmd:"" help:"Start the embedded parts that are needed and all stages, as processes."`
	Supervise  superviseCommand  `cmd:"" hidden:""`
	Down       downCommand       `cmd:"" help:"Stop what up started."`
	Critic     criticCommand     `cmd:"" help:"Train, publish, correct and explain critics."`
	Guide      guideCommand      `cmd:"" help:"Train and publish guides: rankers that look at pages."`
	Localgraph localgraphCommand `cmd:"" help:"Show the graph of links around known targets."`
	Crawl      crawlCommand      `cmd:"" help:"Start, watch, steer, stop and delete crawls."`
	Models     modelsCommand     `cmd:"" help:"List and inspect models; roll a crawl back to an older one."`
	Dead       deadCommand       `cmd:"" help:"List, show and replay records that no stage could handle."`
	Report     reportCommand     `cmd:"" help:"Harvest and loss of a crawl, what it learned, where its data is."`
	Export     exportCommand     `cmd:"" help:"Write the pages of a crawl as WARC, JSON Lines or URLs."`
	Query      queryCommand      `cmd:"" help:"Ask ClickHouse about pages, links and what was learned."`
	Retrain    retrainCommand    `cmd:"" help:"Train a crawl's apprentice again from the topics or the archive."`
	Verify     verifyCommand     `cmd:"" help:"Audit a crawl from outside the stages."`
	ServeWeb   serveWebCommand   `cmd:"" help:"Serve a WARC file as a web, behind an HTTP proxy."`
	Experiment experimentCommand `cmd:"" help:"Crawl a frozen web in one process, with every ranker."`
	Demo       demoCommand       `cmd:"" help:"Crawl a web twice, soft focus and apprentice, and report both."`
	Completion completionCommand `cmd:"" help:"Completion of commands and names for a shell."`
	Complete   completeCommand   `cmd:"" hidden:""`
	Bench      benchCommand      `cmd:"" help:"Crawl webs at full speed; CPU, memory and latency of every process."`
	Soak       soakCommand       `cmd:"" help:"A long crawl of a synthetic web; rate, memory, open files and goroutines by tenths."`

	ServeSimweb      serveSimwebCommand      `cmd:"" name:"serve-simweb" help:"Serve synthetic webs, behind an HTTP proxy."`
	ExperimentSimweb experimentSimwebCommand `cmd:"" name:"experiment-simweb" help:"Compare rankers on synthetic webs, in this process."`

	BenchFloor benchFloorCommand `cmd:"" hidden:"" help:"Fetch URLs and parse the pages, nothing else."`
}

// session is passed to every command.
type session struct {
	context.Context
	// out and err take text; data is standard output for other bytes.
	out, err, data io.Writer
	console        *console
	json           bool
	config         string
	log            *slog.Logger
	// ends are called after the command.
	ends []func()
	// within bounds the wait for the broker's first response; 0 = half a minute.
	within time.Duration
}

// patience is how long to wait for the broker's first response.
func (s *session) patience() time.Duration {
	if s.within <= 0 {
		return 30 * time.Second
	}
	return s.within
}

// pipeline reads the pipeline file.
func (s *session) pipeline() (*pipeline.Config, error) { return pipeline.Load(s.config) }

// status replaces the previous line on a terminal, and prints a further line elsewhere.
func (s *session) status(format string, args ...any) {
	if s.console != nil {
		s.console.status(format, args...)
		return
	}
	fmt.Fprintf(s.err, format+"\n", args...)
}

// tempDir creates a folder for temporary files; remove removes it with its contents.
func (s *session) tempDir(parent, pattern string) (dir string, remove func(), err error) {
	return tempDir(s, parent, pattern)
}

func tempDir(ctx context.Context, parent, pattern string) (dir string, remove func(), err error) {
	done, err := progress.Leave(ctx, func() (func(), error) {
		dir, err = os.MkdirTemp(parent, pattern)
		return func() { removeAll(dir) }, err
	})
	return dir, func() { removeAll(dir); done() }, err
}

// removeAll removes a folder into which another process may still write.
func removeAll(dir string) {
	for range 10 {
		if os.RemoveAll(dir) == nil {
			return
		}
	}
}

// print writes v as JSON, or text by calling f.
func (s *session) print(v any, f func(w io.Writer)) error {
	if !s.json {
		f(s.out)
		return nil
	}
	e := json.NewEncoder(s.out)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(v)
}

// errUsage marks an error in how the command was called.
type errUsage struct{ error }

func (e errUsage) Unwrap() error { return e.error }

func usagef(format string, args ...any) error { return errUsage{fmt.Errorf(format, args...)} }

// remedy suggests what to do about a part that does not respond, if the error does not.
func remedy(err error) string {
	away := errors.Is(err, objects.ErrUnavailable) || analytics.Unavailable(err)
	if !away || strings.Contains(err.Error(), "forager doctor") {
		return ""
	}
	return " (forager up starts what is needed, forager doctor finds the fault)"
}

// errLeft is an interruption after which something continues.
type errLeft struct {
	error
	what string
}

func (e errLeft) Unwrap() error { return e.error }

// leaving describes what continues, or is to be done, after an interruption; other errors are returned unchanged.
func leaving(err error, format string, args ...any) error {
	if !errors.Is(err, context.Canceled) {
		return err
	}
	return errLeft{err, fmt.Sprintf(format, args...)}
}

// grace is how long a command may take to end after a signal.
const grace = 1500 * time.Millisecond

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	left := new(progress.Leftovers)
	context.AfterFunc(ctx, func() {
		stop() // a second signal ends the process at once
		time.Sleep(grace)
		left.Remove()
		fmt.Fprintln(os.Stderr, "forager: interrupted")
		os.Exit(exitFailure)
	})
	os.Exit(run(progress.Keep(ctx, left), os.Args[1:], os.Stdout, os.Stderr))
}

// run is the whole command, without the handling of the process.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	var c commands
	exit := -1
	parser, err := kong.New(&c,
		kong.Name("forager"),
		kong.Description("A focused crawler that learns which links lead to pages on the topic."),
		kong.Writers(stdout, stderr),
		kong.Exit(func(code int) { exit = code }),
		kong.UsageOnError(),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, NoExpandSubcommands: true, WrapUpperBound: 100}),
	)
	if err != nil {
		fmt.Fprintln(stderr, "forager:", err)
		return exitFailure
	}
	if len(args) == 0 {
		args = []string{"--help"}
	}
	k, err := parser.Parse(args)
	if exit >= 0 {
		return exit // --help has printed
	}
	if err != nil {
		fmt.Fprintf(stderr, "forager: %v\nTry: forager --help\n", err)
		return exitUsage
	}
	console := newConsole(stderr)
	out := &printer{console: console, to: stdout, json: c.JSON}
	data := &printer{console: console, to: stdout, raw: !interactive(stdout)}
	told := &printer{console: console, to: stderr}
	s := &session{
		Context: progress.Observe(ctx, console), out: out, err: told, data: data, console: console, json: c.JSON, config: c.Config, within: c.Within,
		log: slog.New(slog.NewTextHandler(told, &slog.HandlerOptions{Level: slog.LevelWarn})),
	}
	err = k.Run(s)
	for _, end := range s.ends {
		end()
	}
	console.close()
	for _, t := range []*printer{out, data, told} {
		t.flush()
	}
	if failed := cmp.Or(out.err, data.err); err == nil && failed != nil {
		err = fmt.Errorf("standard output: %w", failed)
	}
	if err != nil {
		if errors.Is(err, context.Canceled) && ctx.Err() != nil {
			said := "interrupted"
			if left := (errLeft{}); errors.As(err, &left) {
				said += "; " + left.what
			}
			fmt.Fprintln(told, "forager:", said)
			return exitFailure
		}
		fmt.Fprintf(told, "forager: %v%s\n", err, remedy(err))
		if usage := (errUsage{}); errors.As(err, &usage) {
			return exitUsage
		}
		return exitFailure
	}
	return exitOK
}
