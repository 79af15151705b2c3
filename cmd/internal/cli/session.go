package cli

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
	ExitOK      = 0
	ExitFailure = 1
	ExitUsage   = 2
)

// Globals are the flags of every command.
type Globals struct {
	Config string `help:"The pipeline file." default:"pipeline.yaml" short:"c" type:"path" env:"FORAGER_CONFIG"`
	JSON   bool   `help:"Print one JSON document instead of text." name:"json"`

	Within time.Duration `help:"Time to wait for the broker's answer." default:"30s"`
}

// Session is passed to every command.
type Session struct {
	context.Context
	// Stdout and err take text; data is standard output for other bytes.
	Stdout, Stderr, Data io.Writer
	console              *console
	JSON                 bool
	Config               string
	Log                  *slog.Logger
	// Ends are called after the command.
	Ends []func()
	// Within bounds the wait for the broker's first response; 0 = half a minute.
	Within time.Duration
}

// Patience is how long to wait for the broker's first response.
func (s *Session) Patience() time.Duration {
	if s.Within <= 0 {
		return 30 * time.Second
	}
	return s.Within
}

// Pipeline reads the pipeline file.
func (s *Session) Pipeline() (*pipeline.Config, error) { return pipeline.Load(s.Config) }

// Status replaces the previous line on a terminal, and prints a further line elsewhere.
func (s *Session) Status(format string, args ...any) {
	if s.console != nil {
		s.console.status(format, args...)
		return
	}
	fmt.Fprintf(s.Stderr, format+"\n", args...)
}

// TempDir makes a temporary folder in parent, empty = where the system has them, and returns the function that removes it. An interruption of the command
// removes it, too.
func TempDir(ctx context.Context, parent, pattern string) (dir string, remove func(), err error) {
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

// Print writes v as JSON, or text by calling f.
func (s *Session) Print(v any, f func(w io.Writer)) error {
	if !s.JSON {
		f(s.Stdout)
		return nil
	}
	e := json.NewEncoder(s.Stdout)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(v)
}

// errUsage marks an error in how the command was called.
type errUsage struct{ error }

func (e errUsage) Unwrap() error { return e.error }

// AsUsage marks an error as one of usage.
func AsUsage(err error) error { return errUsage{err} }

// Usagef returns an error of usage (exit code 2).
func Usagef(format string, args ...any) error { return errUsage{fmt.Errorf(format, args...)} }

// remedy suggests what to do about a part that does not respond, if the error does not.
func remedy(err error) string {
	if !errors.Is(err, objects.ErrUnavailable) && !analytics.Away(err) || strings.Contains(err.Error(), "forager doctor") {
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

// Leaving describes what continues, or is to be done, after an interruption; other errors are returned unchanged.
func Leaving(err error, format string, args ...any) error {
	if !errors.Is(err, context.Canceled) {
		return err
	}
	return errLeft{err, fmt.Sprintf(format, args...)}
}

// Grace is how long a command may take to end after a signal.
const Grace = 1500 * time.Millisecond

// Program is a command line: one of the commands forager and forager-lab.
type Program struct {
	Name, Description string
	// Commands points to a struct with globals and a field for each command.
	Commands any
	Globals  *Globals
}

// Execute runs a program in this process until it ends or is interrupted, and exits.
func Execute(name string, run func(ctx context.Context, args []string, stdout, stderr io.Writer) int) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	left := new(progress.Leftovers)
	context.AfterFunc(ctx, func() {
		stop() // a second signal ends the process at once
		time.Sleep(Grace)
		left.Remove()
		fmt.Fprintln(os.Stderr, name+": interrupted")
		os.Exit(ExitFailure)
	})
	os.Exit(run(progress.Keep(ctx, left), os.Args[1:], os.Stdout, os.Stderr))
}

// Run parses the arguments and runs the command.
func (p Program) Run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	exit := -1
	c := p.Globals
	parser, err := kong.New(p.Commands,
		kong.Name(p.Name),
		kong.Description(p.Description),
		kong.Writers(stdout, stderr),
		kong.Exit(func(code int) { exit = code }),
		kong.UsageOnError(),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, NoExpandSubcommands: true, WrapUpperBound: 100}),
	)
	if err != nil {
		fmt.Fprintln(stderr, p.Name+":", err)
		return ExitFailure
	}
	if len(args) == 0 {
		args = []string{"--help"}
	}
	k, err := parser.Parse(args)
	if exit >= 0 {
		return exit // --help has printed
	}
	if err != nil {
		fmt.Fprintf(stderr, "%s: %v\nTry: %[1]s --help\n", p.Name, err)
		return ExitUsage
	}
	console := newConsole(stderr)
	out := &printer{console: console, to: stdout, json: c.JSON}
	data := &printer{console: console, to: stdout, raw: !Interactive(stdout)}
	messages := &printer{console: console, to: stderr}
	s := &Session{
		Context: progress.Observe(ctx, console), Stdout: out, Stderr: messages, Data: data, console: console, JSON: c.JSON, Config: c.Config, Within: c.Within,
		Log: slog.New(slog.NewTextHandler(messages, &slog.HandlerOptions{Level: slog.LevelWarn})),
	}
	err = k.Run(s)
	for _, end := range s.Ends {
		end()
	}
	console.close()
	for _, t := range []*printer{out, data, messages} {
		t.flush()
	}
	if failed := cmp.Or(out.err, data.err); err == nil && failed != nil {
		err = fmt.Errorf("standard output: %w", failed)
	}
	if err != nil {
		if errors.Is(err, context.Canceled) && ctx.Err() != nil {
			text := "interrupted"
			if left := (errLeft{}); errors.As(err, &left) {
				text += "; " + left.what
			}
			fmt.Fprintln(messages, p.Name+":", text)
			return ExitFailure
		}
		fmt.Fprintf(messages, "%s: %v%s\n", p.Name, err, remedy(err))
		if usage := (errUsage{}); errors.As(err, &usage) {
			return ExitUsage
		}
		return ExitFailure
	}
	return ExitOK
}
