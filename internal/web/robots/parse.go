package robots

import (
	"bytes"
	"encoding/binary"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode/utf16"
)

// MaxSize is how many bytes of a robots.txt are read (RFC 9309 §2.5: at least 500 KiB).
const MaxSize = 500 << 10

// maxDelay bounds a Crawl-delay; with a longer one a crawl would only wait for the host.
const maxDelay = 24 * time.Hour

// File is a parsed robots.txt. It is immutable and may be shared.
type File struct {
	// groups are the rules that follow one or more user-agent lines.
	groups [][]rule
	// agents has the indexes of the groups of every agent, ascending. Names are in lower case; "*" applies where
	// no other group does.
	agents map[string][]int32
	delays map[string]time.Duration // by agent
	size   int
}

// Size returns the approximate memory of the file, bytes: at most about 20 times the length of its text.
func (f *File) Size() int { return f.size }

// Memory of an entry of File in addition to its text, bytes.
const (
	agentSize = 128
	ruleSize  = 48
	groupSize = 48
)

var fields = map[string]func(*parser, string){
	"user-agent": (*parser).userAgent,
	"useragent":  (*parser).userAgent,
	"user agent": (*parser).userAgent,

	"allow": (*parser).allow,

	"disallow":  (*parser).disallow,
	"dissallow": (*parser).disallow,
	"dissalow":  (*parser).disallow,
	"disalow":   (*parser).disallow,
	"diasllow":  (*parser).disallow,
	"disallaw":  (*parser).disallow,

	"crawl-delay": (*parser).crawlDelay,
	"crawl delay": (*parser).crawlDelay,
	"crawldelay":  (*parser).crawlDelay,
}

type parser struct {
	file   File
	closed bool // the last group has a rule: a user-agent line begins another
	// Agents of the last user-agent lines and the longest Crawl-delay after them. A rule or a Crawl-delay ends the
	// run: the next user-agent line begins another.
	run      []string
	runEnded bool
	delay    time.Duration // -1 = none
}

// Parse parses a robots.txt. Every sequence of bytes is valid: lines that cannot be read are ignored (RFC 9309
// §2.3.1.5).
func Parse(b []byte) *File {
	if len(b) > MaxSize {
		b = b[:MaxSize]
		b = b[:bytes.LastIndexAny(b, "\r\n")+1] // half a line would forbid more, or less, than the whole
	}
	p := parser{file: File{agents: make(map[string][]int32), delays: make(map[string]time.Duration), size: len(b)}, closed: true, delay: -1}
	for rest := decode(b); rest != ""; {
		var line string
		if end := strings.IndexAny(rest, "\r\n"); end >= 0 {
			line, rest = rest[:end], rest[end+1:]
		} else {
			line, rest = rest, ""
		}
		line, _, _ = strings.Cut(line, "#")
		field, value, ok := strings.Cut(line, ":")
		if !ok {
			continue
		}
		if read := fields[strings.ToLower(strings.Trim(field, " \t"))]; read != nil {
			read(&p, strings.Trim(value, " \t"))
		}
	}
	p.endRun()
	return &p.file
}

// decode returns a file as a string, without its byte order mark.
func decode(b []byte) string {
	var order binary.ByteOrder
	switch {
	case bytes.HasPrefix(b, []byte("\xef\xbb\xbf")):
		return string(b[3:])
	case bytes.HasPrefix(b, []byte("\xff\xfe")):
		order = binary.LittleEndian
	case bytes.HasPrefix(b, []byte("\xfe\xff")):
		order = binary.BigEndian
	default:
		return string(b)
	}
	units := make([]uint16, 0, len(b)/2)
	for b = b[2:]; len(b) >= 2; b = b[2:] {
		units = append(units, order.Uint16(b))
	}
	return string(utf16.Decode(units))
}

func (p *parser) userAgent(value string) {
	f := &p.file
	if p.closed {
		f.groups = append(f.groups, nil)
		f.size += groupSize
		p.closed = false
	}
	if p.runEnded {
		p.endRun()
	}
	name, group := agentName(value), int32(len(f.groups)-1)
	p.run = append(p.run, name)
	groups, ok := f.agents[name]
	if ok && groups[len(groups)-1] == group {
		return
	}
	f.agents[name] = append(groups, group)
	if f.size += 4; !ok {
		f.size += agentSize
	}
}

// endRun sets the delay of the agents of the run. It visits each once, however many delays the run has.
func (p *parser) endRun() {
	if p.delay >= 0 {
		for _, agent := range p.run {
			p.file.delays[agent] = max(p.file.delays[agent], p.delay)
		}
	}
	p.run, p.runEnded, p.delay = p.run[:0], false, -1
}

// agentName returns the product token that a user-agent line names, in lower case, "*", or "" if it names none.
func agentName(value string) string {
	end := strings.IndexFunc(value, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_' || r == '.')
	})
	switch {
	case end < 0:
		return strings.ToLower(value)
	case value == "*" || strings.HasPrefix(value, "* ") || strings.HasPrefix(value, "*\t"):
		return "*"
	}
	return strings.ToLower(value[:end])
}

func (p *parser) allow(value string)    { p.rule(value, true) }
func (p *parser) disallow(value string) { p.rule(value, false) }

func (p *parser) rule(value string, allow bool) {
	if len(p.file.groups) == 0 {
		return // §2.2.2: rules outside groups are ignored
	}
	p.closed, p.runEnded = true, true
	if value == "" || value[0] != '/' && value[0] != '*' {
		return
	}
	r, rules := newRule(value, allow), &p.file.groups[len(p.file.groups)-1]
	*rules = append(*rules, r)
	p.file.size += ruleSize + r.size()
}

func (p *parser) crawlDelay(value string) {
	p.runEnded = true
	seconds, err := strconv.ParseFloat(value, 64)
	if err != nil || math.IsNaN(seconds) || math.IsInf(seconds, 0) || seconds < 0 {
		return
	}
	delay := maxDelay
	if seconds < maxDelay.Seconds() {
		delay = time.Duration(seconds * float64(time.Second))
	}
	p.delay = max(p.delay, delay)
}
