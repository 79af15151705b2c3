package shark

import (
	"fmt"

	"forager/internal/page/text"
	"forager/internal/platform/modelfile"
)

// Kinds of files.
const (
	FishKind  = "fish-search"
	SharkKind = "shark-search"
)

const fileVersion = 1

// Marshal returns the guide's file: the same guide gives the same bytes.
func (f *Fish) Marshal() []byte {
	var e modelfile.Encoder
	f.query.encode(&e)
	for _, n := range []int{f.settings.Depth, f.settings.Width, f.settings.Least} {
		e.Uint(uint64(n))
	}
	return modelfile.Seal(FishKind, fileVersion, e.Bytes())
}

// UnmarshalFish reads what Marshal wrote. Errors are those of package modelfile.
func UnmarshalFish(b []byte) (*Fish, error) {
	return unmarshal(b, FishKind, func(d *modelfile.Decoder, q *Query) (*Fish, error) {
		return NewFish(q, FishSettings{
			Depth: int(d.Uint("depth", maxDepth)), Width: int(d.Uint("width", maxCount)), Least: int(d.Uint("least words", maxCount)),
		})
	})
}

// Marshal returns the guide's file: the same guide gives the same bytes.
func (s *Shark) Marshal() []byte {
	var e modelfile.Encoder
	s.query.encode(&e)
	for _, v := range []float64{s.settings.Decay, s.settings.Inherited, s.settings.Anchor} {
		e.Float(v)
	}
	e.Uint(uint64(s.settings.Reach))
	return modelfile.Seal(SharkKind, fileVersion, e.Bytes())
}

// UnmarshalShark reads what Marshal wrote. Errors are those of package modelfile.
func UnmarshalShark(b []byte) (*Shark, error) {
	return unmarshal(b, SharkKind, func(d *modelfile.Decoder, q *Query) (*Shark, error) {
		return NewShark(q, Settings{
			Decay: d.Float("decay"), Inherited: d.Float("share of what is inherited"), Anchor: d.Float("share of the anchor"),
			Reach: int(d.Uint("reach", maxReach)),
		})
	})
}

// unmarshal reads a file of a kind, the query first.
func unmarshal[G any](b []byte, kind string, rest func(*modelfile.Decoder, *Query) (*G, error)) (*G, error) {
	_, body, err := modelfile.Open(b, kind, fileVersion)
	if err != nil {
		return nil, fmt.Errorf("guide %s: %w", kind, err)
	}
	d := modelfile.NewDecoder(body)
	g, err := func() (*G, error) {
		q, err := decodeQuery(d)
		if err != nil {
			return nil, err
		}
		g, bad := rest(d, q)
		if d.Err() == nil && bad != nil {
			d.Fail("%v", bad)
		}
		return g, d.End()
	}()
	if err != nil {
		return nil, fmt.Errorf("guide %s: %w", kind, err)
	}
	return g, nil
}

func (q *Query) encode(e *modelfile.Encoder) {
	e.String(q.cut.String())
	e.Uint(uint64(len(q.words)))
	for _, w := range q.words {
		e.String(w.Word)
		e.Float(w.Weight)
	}
}

func decodeQuery(d *modelfile.Decoder) (*Query, error) {
	how := d.String("settings of words")
	var words []Word
	for i := range d.Len("words", 9) {
		w := Word{d.String("word"), d.Float("weight")}
		if i > 0 && w.Word <= words[i-1].Word {
			d.Fail("word %q behind %q", w.Word, words[i-1].Word)
		}
		if words = append(words, w); d.Err() != nil {
			break
		}
	}
	if d.Err() != nil {
		return nil, d.Err()
	}
	cut, err := text.ParseSettings(how)
	if err != nil {
		return nil, fmt.Errorf("%w: %w; make it again", modelfile.ErrForeign, err)
	}
	q, err := Ask(words, cut)
	if err != nil {
		d.Fail("%v", err)
		return nil, d.Err()
	}
	return q, nil
}
