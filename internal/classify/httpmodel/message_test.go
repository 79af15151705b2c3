package httpmodel

import (
	"encoding/json"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"forager/internal/platform/modelfile"
	"forager/internal/platform/strictyaml"

	"forager/internal/page/text"
	"forager/schemas"
)

const two = "url: http://h/\ntopics: [/B/, A/C]\n"

func TestReadAnswers(t *testing.T) {
	p := predicate(t, two, "") // classes A/C, B, Other
	for _, c := range []struct {
		answer   string
		want     []float64
		expected string
	}{
		{`{"pages":[{"probabilities":{"B":0.25,"A/C":0.5}}]}`, []float64{.5, .25, .25}, ""},
		{`{"pages":[{"probabilities":{},"more":[1]}],"version":7}`, []float64{0, 0, 1}, ""},
		{`{"pages":[{"probabilities":{"B":0.5,"A/C":0.5000005}}]}`, []float64{.5000002499998749, .499999750000125, 0}, ""},
		{`{"pages":[{"probabilities":{"B":0.5,"A/C":0.51}}]}`, nil, "sum to 1.01"},
		{`{"pages":[{"probabilities":{"B":-0.1}}]}`, nil, `the probability of "B" is -0.1`},
		{`{"pages":[{"probabilities":{"B":1.1}}]}`, nil, `the probability of "B" is 1.1`},
		{`{"pages":[{"probabilities":{"B":1e999}}]}`, nil, "not the JSON"},
		{`{"pages":[{"probabilities":{"B":NaN}}]}`, nil, "not the JSON"},
		{`{"pages":[{"probabilities":{"B":"0.5"}}]}`, nil, "not the JSON"},
		{`{"pages":[{"probabilities":{"Other":0.5}}]}`, nil, `"Other" is not one of the topics`},
		{`{"pages":[{"probabilities":{"A":0.5}}]}`, nil, `"A" is not one of the topics`},
		{`{"pages":[{"probabilities":null}]}`, nil, "neither"},
		{`{"pages":[null]}`, nil, "neither"},
		{`{"pages":[{"probabilities":{},"error":"x"}]}`, nil, "both"},
		{`{"pages":[]}`, nil, "on 0 pages, asked was about 1"},
		{`{"pages":[{"error":"x"},{"error":"x"}]}`, nil, "on 2 pages"},
		{`{}`, nil, "on 0 pages"},
		{`[]`, nil, "not the JSON"},
		{`{"pages":[{"error":"x"}]} {}`, nil, "not the JSON"},
		{``, nil, "not the JSON"},
	} {
		posteriors, refused, err := p.read([]byte(c.answer), 1)
		if c.expected != "" {
			if err == nil || !strings.Contains(err.Error(), c.expected) {
				t.Errorf("%s: %v does not contain %q", c.answer, err, c.expected)
			}
			continue
		}
		if err != nil || !slices.Equal(posteriors[0], c.want) || refused[0] != "" {
			t.Errorf("%s: %v, %q, %v", c.answer, posteriors, refused, err)
		}
	}
}

// TestAnswersComeBack: the response of a service is what is read, and posteriors sum to 1.
func TestAnswersComeBack(t *testing.T) {
	p := predicate(t, two, "")
	rapid.Check(t, func(t *rapid.T) {
		b := rapid.Float64Range(0, 1).Draw(t, "B")
		ac := rapid.Float64Range(0, 1-b).Draw(t, "A/C")
		answer, err := json.Marshal(map[string]any{"pages": []any{map[string]any{"probabilities": map[string]float64{"B": b, "A/C": ac}}}})
		if err != nil {
			t.Fatal(err)
		}
		posteriors, _, err := p.read(answer, 1)
		if err != nil {
			t.Fatal(err)
		}
		got := posteriors[0]
		if math.Abs(got[0]-ac) > 1e-9 || math.Abs(got[1]-b) > 1e-9 || math.Abs(got[0]+got[1]+got[2]-1) > 1e-12 {
			t.Fatalf("%s: %v", answer, got)
		}
	})
}

func FuzzAnswer(f *testing.F) {
	p := predicate(f, two, "")
	f.Add([]byte(`{"pages":[{"probabilities":{"B":0.25,"A/C":0.5}},{"error":"x"}]}`))
	f.Add([]byte(`{"pages":[{"probabilities":{"B":1e-320}},{"probabilities":{"B":1}}]}`))
	f.Fuzz(func(t *testing.T, answer []byte) {
		posteriors, refused, err := p.read(answer, 2)
		if err != nil {
			return
		}
		for i, x := range posteriors {
			sum := 0.0
			for _, v := range x {
				if !(v >= 0 && v <= 1) {
					t.Fatalf("%q: %v", answer, x)
				}
				sum += v
			}
			if refused[i] == "" && math.Abs(sum-1) > 1e-9 {
				t.Fatalf("%q: %v", answer, x)
			}
		}
	})
}

func TestSettingsThatAreRefused(t *testing.T) {
	for _, c := range []struct{ source, expected string }{
		{"", "url: is missing"},
		{"url: http://h/", "topics: is missing"},
		{"url: ftp://h/\ntopics: [A]", "not an http:// or https:// address"},
		{"url: http://u:p@h/\ntopics: [A]", "token_env"},
		{"url: http://h/\ntopics: [Other]", "leave over"},
		{"url: http://h/\ntopics: [A/Other]", "leave over"},
		{"url: http://h/\ntopics: [A//B]", `topic "A//B"`},
		{"url: http://h/\ntopics: [A, /A]", "count twice"},
		{"url: http://h/\ntopics: [A/B, A]", "count twice"},
		{"url: http://h/\ntopics: [A]\nsend: [html]", `"html" is not one of`},
		{"url: http://h/\ntopics: [A]\nsend: []", "send: is empty"},
		{"url: http://h/\ntopics: [A]\nbatch: 0", "batch: is 0"},
		{"url: http://h/\ntopics: [A]\ntimeout: 0s", "timeout: is 0s"},
		{"url: http://h/\ntopics: [A]\ntimeout: soon", "timeout: \"soon\""},
		{"url: http://h/\ntopics: [A]\nbreaker: {pause: 2h}", "breaker.pause: is 2h"},
		{"url: http://h/\ntopics: [A]\nmethod: GET", "method: unknown field"},
	} {
		_, err := Parse("p.yaml", c.source, "")
		var e *strictyaml.Error
		if !errors.As(err, &e) || !strings.Contains(err.Error(), c.expected) || !strings.Contains(err.Error(), "p.yaml") {
			t.Errorf("%q: %v does not contain %q", c.source, err, c.expected)
		}
	}
}

func TestFileOfAPredicate(t *testing.T) {
	source := two + "fallback: schools"
	p := predicate(t, source, "schools/1f")
	b := p.Marshal()
	again, err := Unmarshal(b)
	if err != nil || string(again.Marshal()) != string(b) || again.Fallback() != "schools/1f" || again.Source() != source || again.Name() != "p.yaml" {
		t.Errorf("%+v, %v", again, err)
	}
	if !slices.Equal(again.Classes(), []string{"A/C", "B", "Other"}) || !slices.Equal(again.topics(), []string{"A/C", "B"}) {
		t.Errorf("classes %q, topics %q", again.Classes(), again.topics())
	}
	if _, err := Unmarshal(b[:len(b)-1]); !errors.Is(err, modelfile.ErrDamaged) {
		t.Errorf("cut: %v", err)
	}
	if _, err := Unmarshal(modelfile.Seal(FileKind, 2, nil)); !errors.Is(err, modelfile.ErrNewer) {
		t.Errorf("newer: %v", err)
	}
}

// TestTextOfAPage: words are sent in their case where it is known, adjacent characters of unspaced scripts without a space.
func TestTextOfAPage(t *testing.T) {
	p := &schemas.Page{LeafLengths: []uint32{5, 0, 1}}
	for at, x := range []struct {
		term  string
		shape text.Shape
	}{{"nasa's", text.Capitals}, {"ann", text.Capital}, {"met", text.Lower}, {"世", text.Lower}, {"界", text.Joined}, {"iphone", text.Mixed}} {
		p.Terms, p.Tokens = append(p.Terms, x.term), append(p.Tokens, uint32(at))
		p.Shapes = text.AppendShape(p.Shapes, at, x.shape)
	}
	const whole = "NASA's Ann met 世界\niphone"
	for limit, want := range map[int]string{100: whole, len(whole): whole, len(whole) - 1: "NASA's Ann met 世界", 9: "NASA's", 0: ""} {
		if got, err := textOf(p, 0, len(p.Tokens), p.LeafLengths, limit); err != nil || got != want {
			t.Errorf("of %d bytes: %q, %v; want %q", limit, got, err, want)
		}
	}
	p.Tokens[2] = 99
	if _, err := textOf(p, 0, len(p.Tokens), p.LeafLengths, 100); err == nil {
		t.Error("a term that is not there: no error")
	}
}
