package critic

import (
	"strings"
	"testing"
)

func FuzzExamplesTrainACritic(f *testing.F) {
	f.Add("http://h/1\tA/B\tone two\nhttp://h/2\tC\tthree")
	f.Add("x\tA/Other\t\xff\ny\tB\tA\x00\nx\tC\tz")
	f.Fuzz(func(t *testing.T, lines string) {
		var e Examples
		for line := range strings.Lines(lines) {
			url, rest, _ := strings.Cut(line, "\t")
			topic, text, _ := strings.Cut(rest, "\t")
			before := e.Len() + e.Repeated()
			if err := e.AddText(url, []string{topic}, text); (err == nil) != (e.Len()+e.Repeated() == before+1) {
				t.Fatalf("%q: %v, %d examples, then %d", line, err, before, e.Len()+e.Repeated())
			}
		}
		m, _, err := Train(&e, Settings{})
		if err != nil {
			return
		}
		again, err := Unmarshal(m.Marshal())
		if err != nil || string(again.Marshal()) != string(m.Marshal()) {
			t.Errorf("the model of %q does not come back: %v", lines, err)
		}
	})
}
