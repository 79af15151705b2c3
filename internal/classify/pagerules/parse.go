package pagerules

import (
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"unicode/utf8"

	"forager/internal/classify/taxonomy"
)

const (
	// maxDepth bounds the nesting of parentheses and nots.
	maxDepth = 100
	// maxProgram bounds the total number of instructions of the regular expressions of a file.
	maxProgram = 200_000
	// maxProblems is the number of problems that are reported.
	maxProblems = 20
)

// Parse parses rules. name is the file's, for errors; each error begins with name:line: and names the topic of its
// rule, and all are returned together, the first 20.
func Parse(name, source string) (*Rules, error) {
	r := &Rules{name: name, source: source, words: make(map[string]int)}
	p := &parser{rules: r}
	switch {
	case len(source) > maxFile:
		return nil, fmt.Errorf("%s has %d bytes, rules have %d at most", name, len(source), maxFile)
	case !utf8.ValidString(source):
		return nil, fmt.Errorf("%s is not text in UTF-8", name)
	}
	for _, b := range p.blocks(strings.TrimPrefix(source, "\ufeff")) {
		p.rule(b)
	}
	if len(r.rules) == 0 && len(p.problems) == 0 {
		return nil, fmt.Errorf("%s has no rule; one is a topic, a colon and a condition", name)
	}
	if n := len(p.problems); n > maxProblems {
		p.problems = append(p.problems[:maxProblems], fmt.Errorf("%s: and %d more", name, n-maxProblems))
	}
	if err := errors.Join(p.problems...); err != nil {
		return nil, err
	}
	r.finish()
	return r, nil
}

// block is the text of one rule.
type block struct {
	topic string
	line  int      // of its first line
	lines []string // the condition; "" for comment lines
	colon bool     // there is one after the topic
}

type parser struct {
	rules    *Rules
	problems []error
	program  int // instructions so far

	// Of the current rule.
	tokens []token
	at     int
	depth  int
}

// problem is an error in a rule; parsing the rule ends there.
type problem struct {
	line int
	text string
}

func (p *parser) fail(line int, format string, args ...any) {
	panic(problem{line, fmt.Sprintf(format, args...)})
}

func (p *parser) report(line int, topic, text string) {
	p.problems = append(p.problems, fmt.Errorf("%s:%d: rule %.80q: %s", p.rules.name, line, topic, text))
}

// blocks splits a file into its rules.
func (p *parser) blocks(source string) (all []block) {
	for i, line := range strings.Split(source, "\n") {
		line = strings.TrimSuffix(line, "\r")
		trimmed := strings.TrimSpace(line)
		switch {
		case trimmed == "" || trimmed[0] == '#':
			if len(all) > 0 {
				all[len(all)-1].lines = append(all[len(all)-1].lines, "")
			}
		case line[0] == ' ' || line[0] == '\t':
			if len(all) == 0 {
				p.report(i+1, trimmed, "goes on with a rule, and there is none above; a rule begins at the begin of a line")
				continue
			}
			all[len(all)-1].lines = append(all[len(all)-1].lines, line)
		default:
			topic, rest, ok := strings.Cut(line, ": ")
			if !ok {
				topic, ok = strings.CutSuffix(trimmed, ":")
			}
			all = append(all, block{topic: strings.TrimSpace(topic), line: i + 1, lines: []string{rest}, colon: ok})
		}
	}
	return all
}

// rule parses one rule, or reports its problem.
func (p *parser) rule(b block) {
	defer func() {
		if x := recover(); x != nil {
			found, ok := x.(problem)
			if !ok {
				panic(x)
			}
			p.report(found.line, b.topic, found.text)
		}
	}()
	if !b.colon {
		p.fail(b.line, `there is no ": " between topic and condition`)
	}
	topic, err := taxonomy.ParseTopic(b.topic)
	if err != nil {
		p.fail(b.line, "%v", err)
	}
	p.tokens, p.at, p.depth = p.tokens[:0], 0, 0
	for i, line := range b.lines {
		p.scan(line, b.line+i)
	}
	if len(p.tokens) == 0 {
		p.fail(b.line, "has no condition")
	}
	c := p.condition()
	if t := p.peek(); t.kind != end {
		p.fail(t.line, `%s where "and", "or" or the end of the rule is wanted`, t)
	}
	p.rules.rules = append(p.rules.rules, rule{topic: topic, line: b.line, condition: c})
}

// Kinds of tokens.
const (
	word = iota
	quoted
	sign // ( ) ,
	end
)

type token struct {
	kind int
	text string
	line int
}

func (t token) String() string {
	if t.kind == end {
		return "the end of the rule"
	}
	return fmt.Sprintf("%q", t.text)
}

// scan splits a line into tokens.
func (p *parser) scan(line string, number int) {
	for i := 0; i < len(line); {
		switch c := line[i]; {
		case c == ' ' || c == '\t':
			i++
		case c == '#':
			return
		case c == '(' || c == ')' || c == ',':
			p.tokens = append(p.tokens, token{sign, line[i : i+1], number})
			i++
		case c == '"' || c == '\'' || c == '`':
			n := strings.IndexByte(line[i+1:], c)
			if n < 0 {
				p.fail(number, "a string begins with %c and does not end in its line", c)
			}
			p.tokens = append(p.tokens, token{quoted, line[i+1 : i+1+n], number})
			i += n + 2
		default:
			n := strings.IndexAny(line[i:], " \t(),\"'`#")
			if n < 0 {
				n = len(line) - i
			}
			p.tokens = append(p.tokens, token{word, line[i : i+n], number})
			i += n
		}
	}
}

func (p *parser) peek() token {
	if p.at < len(p.tokens) {
		return p.tokens[p.at]
	}
	return token{kind: end, line: p.tokens[len(p.tokens)-1].line}
}

// take consumes the next token if it is the given one.
func (p *parser) take(kind int, text string) bool {
	t := p.peek()
	if t.kind != kind || t.text != text {
		return false
	}
	p.at++
	return true
}

func (p *parser) condition() condition {
	all := anyOf{p.conjunction()}
	for p.take(word, "or") {
		all = append(all, p.conjunction())
	}
	if len(all) == 1 {
		return all[0]
	}
	return all
}

func (p *parser) conjunction() condition {
	all := allOf{p.unit()}
	for p.take(word, "and") {
		all = append(all, p.unit())
	}
	if len(all) == 1 {
		return all[0]
	}
	return all
}

func (p *parser) unit() condition {
	if p.depth++; p.depth > maxDepth {
		p.fail(p.peek().line, "parentheses and nots are nested deeper than %d", maxDepth)
	}
	defer func() { p.depth-- }()
	switch {
	case p.take(word, "not"):
		return not{p.unit()}
	case p.take(sign, "("):
		c := p.condition()
		if t := p.peek(); !p.take(sign, ")") {
			p.fail(t.line, `%s where ")" is wanted`, t)
		}
		return c
	}
	return p.test()
}

// test parses a field, an operator and strings.
func (p *parser) test() condition {
	t := p.peek()
	field := slices.Index(fieldNames[:], t.text)
	if t.kind != word || field < 0 {
		p.fail(t.line, `%s where one of %s, "not" or "(" is wanted`, t, strings.Join(fieldNames[:], ", "))
	}
	p.at++
	how := p.peek()
	if how.kind != word || how.text != "has" && how.text != "matches" {
		p.fail(how.line, `%s behind %s, where "has" or "matches" is wanted`, how, t.text)
	}
	p.at++
	var tests anyOf
	for first := true; first || p.take(sign, ","); first = false {
		s := p.peek()
		if s.kind != quoted {
			p.fail(s.line, `%s where a string in quotes is wanted`, s)
		}
		p.at++
		if how.text == "has" {
			tests = append(tests, p.phrase(field, s))
		} else {
			tests = append(tests, p.expression(field, s))
		}
	}
	if len(tests) == 1 {
		return tests[0]
	}
	return tests
}

func (p *parser) phrase(field int, s token) condition {
	c := phrase{field: field}
	joined := []byte(" ")
	for w := range wordsOf(field, s.text) {
		n, known := p.rules.words[w]
		if !known {
			n = len(p.rules.words)
			p.rules.words[w] = n
		}
		c.words = append(c.words, n)
		joined = append(append(joined, w...), ' ')
	}
	p.rules.uses[field].words = true
	switch len(c.words) {
	case 0:
		p.fail(s.line, "there is no word in %q", s.text)
	case 1:
	default:
		c.joined = joined
		p.rules.uses[field].joined = true
	}
	return c
}

func (p *parser) expression(field int, s token) condition {
	x, err := regexp.Compile(s.text)
	if err != nil {
		var at *syntax.Error
		if errors.As(err, &at) {
			p.fail(s.line, "regular expression `%s`: %s: `%s`", s.text, at.Code, at.Expr)
		}
		p.fail(s.line, "regular expression `%s`: %v", s.text, err)
	}
	if p.program += programSize(s.text); p.program > maxProgram {
		p.fail(s.line, "regular expression `%s`: all expressions together are too large; above all numbers in {} make them so", s.text)
	}
	if field == body {
		p.rules.uses[field].joined = true
	} else {
		p.rules.uses[field].whole = true
	}
	return expression{field, x}
}

// programSize returns the number of instructions of a regular expression that compiles.
func programSize(s string) int {
	parsed, err := syntax.Parse(s, syntax.Perl)
	if err != nil {
		return maxProgram + 1
	}
	program, err := syntax.Compile(parsed.Simplify())
	if err != nil {
		return maxProgram + 1
	}
	return len(program.Inst)
}
