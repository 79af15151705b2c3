package data

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/peterh/liner"

	"forager/cmd/internal/cli"
	"forager/internal/platform/analytics"
	"forager/internal/platform/pipeline"
	tables "forager/schemas/clickhouse"
)

// promptHelp is printed before the documented queries.
const promptHelp = `A statement ends with ; at the end of a line. Tab completes names, Up and Ctrl-R find earlier statements, Ctrl-C
cancels a statement, exit or Ctrl-D ends. These queries run by name; those about a crawl take its name, as in loss CRAWL:

`

// maxRemembered is the longest statement of the history, in bytes; the history has at most liner.HistoryLimit.
const maxRemembered = 4000

// prompt reads statements from the terminal and runs them.
func (c *QueryCommand) prompt(s *cli.Session, cfg *pipeline.Config, db *analytics.DB) error {
	words, err := db.Words(s)
	switch {
	case err != nil && (analytics.Unavailable(err) || s.Err() != nil):
		return err
	case err != nil:
		fmt.Fprintln(s.Stderr, "names are not completed:", err)
	}
	editor := liner.NewLiner()
	defer editor.Close()
	defer context.AfterFunc(s, func() { _ = editor.Close() })() // the process may end while the editor reads
	editor.SetCtrlCAborts(true)
	editor.SetMultiLineMode(true)
	editor.SetTabCompletionStyle(liner.TabPrints)
	editor.SetWordCompleter(completer(words))
	history, err := openHistory(editor)
	if err != nil {
		fmt.Fprintln(s.Stderr, "statements of earlier prompts are missing:", err)
	}
	defer history.Close()

	// An interrupt ends the statement that runs, not the command. While the editor reads, Ctrl-C is none.
	signal.Reset(os.Interrupt)
	between := make(chan os.Signal, 1)
	signal.Notify(between, os.Interrupt)
	defer signal.Stop(between)
	for s.Err() == nil {
		text, err := readStatement(editor)
		if errors.Is(err, io.EOF) {
			fmt.Fprintln(s.Stdout)
			return nil
		} else if err != nil {
			return fmt.Errorf("read from the terminal: %w", err)
		}
		if entry := oneLine(text); len(entry) <= maxRemembered && !strings.ContainsFunc(entry, unicode.IsControl) {
			editor.AppendHistory(entry)
			fmt.Fprintln(history, entry) // the prompt is of use without a history
		}
		if strings.TrimSuffix(text, ";") == "exit" {
			return nil
		}
		running := *s
		var stop context.CancelFunc
		running.Context, stop = signal.NotifyContext(s, os.Interrupt)
		switch err = c.run(&running, cfg, db, text); {
		case err != nil && running.Err() != nil:
			fmt.Fprintln(s.Stderr, "cancelled")
		case err != nil:
			fmt.Fprintln(s.Stderr, err)
		}
		stop()
	}
	return s.Err()
}

// run runs a statement, a documented query by its name, or help.
func (c *QueryCommand) run(s *cli.Session, cfg *pipeline.Config, db *analytics.DB, text string) error {
	if strings.TrimSuffix(text, ";") == "help" {
		fmt.Fprint(s.Stdout, promptHelp)
		return list(s)
	}
	q, crawl, ok := named(text)
	switch {
	case !ok:
		q, crawl = tables.Query{SQL: text}, c.Crawl
	case q.OfCrawl && crawl == "":
		crawl = c.Crawl
	}
	if err := c.check(q, crawl); err != nil {
		return err
	}
	return c.answer(s, cfg, db, q, crawl)
}

// named returns the documented query that a line names, and the crawl after the name.
func named(text string) (q tables.Query, crawl string, ok bool) {
	words := strings.Fields(strings.TrimSuffix(text, ";"))
	if len(words) == 0 || len(words) > 2 {
		return q, "", false
	}
	q, ok = documented(words[0])
	return q, strings.Join(words[1:], ""), ok
}

// readStatement reads lines up to one that ends with a semicolon. exit, help and the names of queries need none.
func readStatement(editor *liner.State) (text string, err error) {
	for label := "forager> "; ; {
		line, err := editor.Prompt(label)
		switch {
		case errors.Is(err, liner.ErrPromptAborted):
			line, text = "", ""
		case err != nil:
			return "", err
		}
		text = strings.TrimSpace(text + "\n" + line)
		if _, _, ok := named(text); ok || text == "exit" || text == "help" || strings.HasSuffix(text, ";") {
			return text, nil
		}
		if label = "      -> "; text == "" {
			label = "forager> "
		}
	}
}

// quotedOrComment matches literals, quoted names and comments.
var quotedOrComment = regexp.MustCompile("(?s)'(?:[^'\\\\]|\\\\.)*'|\"(?:[^\"\\\\]|\\\\.)*\"|`(?:[^`\\\\]|\\\\.)*`|--[^\n]*|/\\*.*?\\*/")

// oneLine returns a statement as one line without comments, as the editor and its history have one line each.
func oneLine(text string) string {
	text = quotedOrComment.ReplaceAllStringFunc(text, func(s string) string {
		if s[0] == '-' || s[0] == '/' {
			return " "
		}
		return strings.ReplaceAll(s, "\n", `\n`)
	})
	return strings.ReplaceAll(text, "\n", " ")
}

var (
	lastWord  = regexp.MustCompile(`\w*$`)
	afterFrom = regexp.MustCompile(`(?i)\b(FROM|JOIN|TABLE|DESCRIBE)\s+(\w+\.)?$`)
)

// completer completes the word before the cursor: after FROM by tables, elsewhere by all words. Keywords may be typed in lower case.
func completer(words []analytics.Word) liner.WordCompleter {
	for _, q := range allDocumented() {
		words = append(words, analytics.Word{Name: q.Name})
	}
	return func(text string, cursor int) (head string, found []string, tail string) {
		line := []rune(text)
		head = string(line[:cursor])
		word := lastWord.FindString(head)
		head = strings.TrimSuffix(head, word)
		ofTables := afterFrom.MatchString(head)
		for _, prefix := range []string{word, strings.ToUpper(word)} {
			for _, w := range words {
				if (w.Relation || !ofTables && word != "") && strings.HasPrefix(w.Name, prefix) {
					found = append(found, w.Name)
				}
			}
			if len(found) > 0 {
				break
			}
		}
		slices.Sort(found)
		return head, slices.Compact(found), string(line[cursor:])
	}
}

// openHistory gives the editor the statements of earlier prompts, and returns the file to which further ones are appended.
func openHistory(editor *liner.State) (*os.File, error) {
	dir := os.Getenv("XDG_STATE_HOME")
	if dir == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			return nil, err
		}
		dir = filepath.Join(home, ".local", "state")
	}
	dir = filepath.Join(dir, "forager")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(filepath.Join(dir, "query_history"), os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	n, err := editor.ReadHistory(f)
	if err != nil {
		return f, fmt.Errorf("%s: %w", f.Name(), err)
	}
	if n > liner.HistoryLimit {
		if err = f.Truncate(0); err == nil {
			_, err = editor.WriteHistory(f)
		}
	}
	return f, err
}
