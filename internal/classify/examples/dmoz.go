package examples

import (
	"context"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/cespare/xxhash/v2"
)

// What is repaired in a dump.
const (
	NotClosed  Reason = "element that nothing closes"
	BrokenTag  Reason = "tag that does not end"
	Encoding   Reason = "bytes that are not UTF-8, read as windows-1252"
	Controls   Reason = "control characters, read as spaces"
	Ampersands Reason = "& that begins no entity"
	TopicAbove Reason = "page without a topic, taken for one of the topic element above it"
	LongField  Reason = "text that is too long, cut"
	// NotInStructure is counted, not repaired.
	NotInStructure Reason = "topic that the structure does not know"
)

// top is the root of the directory.
const top = "Top"

// Dump is the parts of a dump.
type Dump struct {
	// Content is content.rdf.u8, and ContentName its name in reports.
	Content     io.Reader
	ContentName string
	// Structure is structure.rdf.u8; nil = missing.
	Structure     io.Reader
	StructureName string
}

// ReadDMOZ reads a dump of DMOZ or Curlie. A page's text is its title and description. Topics are named without
// the root, Top. Errors are those of the readers and of the intake, and, with the offset, content that is no dump
// or is cut off (unless Settings.Lossy).
func ReadDMOZ(ctx context.Context, d Dump, in *Intake) error {
	r := dmoz{in: in, name: d.ContentName}
	if d.Structure != nil {
		var err error
		if r.structure, err = readStructure(ctx, d.Structure, d.StructureName, in); err != nil {
			return err
		}
		in.sum.Structure = &r.structure.Structure
	}
	if err := r.read(ctx, newRDFScanner(d.Content)); err != nil {
		return err
	}
	if r.structure != nil {
		r.structure.count()
	}
	return nil
}

// dmoz reads content.rdf.u8.
type dmoz struct {
	in        *Intake
	name      string
	structure *structure

	within string // the current element: Topic, ExternalPage, or empty
	field  string // the field of it that is being read
	page   dmozPage
	above  string // the last Topic
	pages  int64
	ended  bool
}

// dmozPage is an ExternalPage as it is in the file.
type dmozPage struct {
	at                                   int64
	about, title, description, topicName []byte
}

func (r *dmoz) place(at int64) Place { return Place{Source: r.name, Unit: "byte", At: at} }

// offEnd counts or returns that a dump is cut off.
func offEnd(s *rdfScanner, name string, in *Intake) error {
	at := Place{Source: name, Unit: "byte", At: s.at()}
	if !in.settings.Lossy {
		return fmt.Errorf("%s: %w; get it again, or take what there is (lossy)", at, errBrokenOff)
	}
	in.repair(BrokenOff, at, errBrokenOff.Error())
	return nil
}

func (r *dmoz) read(ctx context.Context, s *rdfScanner) error {
	if err := s.each(ctx, r.name, r.take); err != nil {
		return err
	}
	if err := r.end(s.at(), false); err != nil {
		return err
	}
	if r.pages == 0 {
		return fmt.Errorf("%s has no ExternalPage: is it the content.rdf.u8 of a dump?", r.name)
	}
	if !r.ended {
		return offEnd(s, r.name, r.in)
	}
	return nil
}

// take handles a token.
func (r *dmoz) take(t rdfToken) error {
	if t.kind == rdfText {
		r.text(t)
		return nil
	}
	if t.broken {
		r.in.repair(BrokenTag, r.place(t.at), t.name)
	}
	if t.kind == rdfClose {
		return r.close(t)
	}
	r.leave(t.at)
	switch t.name {
	case "ExternalPage", "Topic":
		if err := r.end(t.at, false); err != nil {
			return err
		}
		r.within = t.name
		if r.within == "Topic" {
			r.above, _ = rdfString(t.value)
			return nil
		}
		r.pages++
		p := &r.page
		p.at, p.about = t.at, append(p.about[:0], t.value...)
		p.title, p.description, p.topicName = p.title[:0], p.description[:0], p.topicName[:0]
	case "d:Title", "d:Description", "topic":
		if r.within == "ExternalPage" && !t.empty {
			r.field = t.name
		}
	}
	return nil
}

// text adds to the current field.
func (r *dmoz) text(t rdfToken) {
	var to *[]byte
	switch r.field {
	case "d:Title":
		to = &r.page.title
	case "d:Description":
		to = &r.page.description
	case "topic":
		to = &r.page.topicName
	default:
		return
	}
	value := t.value
	if left := maxField - len(*to); len(value) > left {
		r.in.repair(LongField, r.place(r.page.at), r.field)
		r.field = ""
		for left > 0 && !utf8.RuneStart(value[left]) {
			left--
		}
		value = value[:left]
	}
	*to = append(*to, value...)
}

// leave ends a field at another tag.
func (r *dmoz) leave(at int64) {
	if r.field != "" {
		r.in.repair(NotClosed, r.place(at), r.field)
		r.field = ""
	}
}

func (r *dmoz) close(t rdfToken) error {
	switch {
	case t.name == r.field:
		r.field = ""
	case t.name == "RDF":
		r.ended = true
		r.leave(t.at)
		return r.end(t.at, false)
	case t.name == r.within:
		r.leave(t.at)
		return r.end(t.at, true)
	}
	return nil
}

// end completes the current element.
func (r *dmoz) end(at int64, closed bool) error {
	within := r.within
	r.within, r.field = "", ""
	if within != "" && !closed {
		r.in.repair(NotClosed, r.place(at), within)
	}
	if within != "ExternalPage" {
		return nil
	}
	p := &r.page
	place := r.place(p.at)
	topic := r.clean(place, p.topicName)
	if topic == "" {
		if topic = r.above; topic != "" {
			r.in.repair(TopicAbove, place, topic)
		}
	}
	url, title, description := r.clean(place, p.about), r.clean(place, p.title), r.clean(place, p.description)
	name := topicOf(topic)
	if name == "" {
		r.in.Refuse(NoTopic, place, fmt.Sprintf("%.200q", topic))
		return nil
	}
	if !r.structure.page(name) {
		r.in.repair(NotInStructure, place, name)
	}
	return r.in.Add(place, url, []string{name}, strings.TrimSpace(title+"\n"+description))
}

// clean converts a field to text and counts what was repaired.
func (r *dmoz) clean(at Place, b []byte) string {
	s, f := rdfString(b)
	if f.encoding {
		r.in.repair(Encoding, at, s)
	}
	if f.controls {
		r.in.repair(Controls, at, s)
	}
	if f.entities {
		r.in.repair(Ampersands, at, s)
	}
	return strings.TrimSpace(strings.TrimSuffix(s, "]]>")) // the end of a CDATA section, whose begin the scanner drops
}

// topicOf returns the name of a topic without the root; empty for the root.
func topicOf(id string) string {
	name, ok := strings.CutPrefix(strings.Trim(strings.TrimSpace(id), "/"), top)
	if !ok {
		return strings.Trim(id, "/")
	}
	if name != "" && name[0] != '/' {
		return top + name // a topic such as Toppings
	}
	return strings.Trim(name, "/")
}

func hashOf(topic string) uint64 { return xxhash.Sum64String(topic) }
