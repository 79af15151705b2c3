package examples

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// importDump reads a dump and returns its examples as JSON Lines.
func importDump(t testing.TB, content, structure []byte, s Settings) (string, *Summary, error) {
	t.Helper()
	in, err := NewIntake(s)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	d := Dump{Content: bytes.NewReader(content), ContentName: "content"}
	if structure != nil {
		d.Structure, d.StructureName = bytes.NewReader(structure), "structure"
	}
	if err := ReadDMOZ(t.Context(), d, in); err != nil {
		return "", nil, err
	}
	var out strings.Builder
	w := NewWriter(&out)
	sum, err := in.Finish(w.Write)
	return out.String(), sum, err
}

func sample(t testing.TB, name string) []byte {
	t.Helper()
	b, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// counts are the counts of a summary by reason.
func counts(list []Count) map[Reason]int64 {
	m := make(map[Reason]int64)
	for _, c := range list {
		m[c.Reason] = c.Count
	}
	return m
}

func TestDumpWithEveryFault(t *testing.T) {
	got, sum, err := importDump(t, sample(t, "content.rdf.u8"), sample(t, "structure.rdf.u8"), Settings{})
	if err != nil {
		t.Fatal(err)
	}
	want := `{"url":"ftp://old.example/","topics":["Sky/Comets"],"text":"An archive"}
{"url":"http://indigo.example/","topics":["Crafts/Dyeing & Bleaching"],"text":"Indigo\nBlue by any name   &nosuch; &."}
{"url":"http://looms.example/","topics":["Crafts/Dyeing & Bleaching","Crafts/Weaving"],"text":"Looms & Shuttles\nWooden looms, shuttles and heddles <made by hand>."}
{"url":"http://madder.example/","topics":["Crafts/Dyeing & Bleaching"],"text":"Madder “red”\nRoots & bark, Réseda,  and café."}
{"url":"http://new.example/","topics":["Sky/Novae"],"text":"New <b>topic</b>"}
{"url":"http://say\"what.example/","topics":["Sky/Comets"],"text":"A host of quotes"}
{"url":"http://tails.example/","topics":["Sky/Comets"],"text":"Tails\nIon tails & <dust> tails"}
{"url":"http://unclosed.example/","topics":["Crafts/Dyeing & Bleaching"],"text":"Nothing closes this\nnor this"}
{"url":"http://weavers.example/a?b=1&copy=2","topics":["Crafts/Weaving"],"text":"Weavers' Guild\nCourses for beginners é the \"tabby\" > and < the twill."}
`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(map[Reason]int64{NoText: 1, NoTopic: 1}, counts(sum.Refused)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(map[Reason]int64{
		NotClosed: 3, BrokenTag: 1, Encoding: 2, Controls: 1, Ampersands: 3, TopicAbove: 2, NotInStructure: 1,
	}, counts(sum.Repaired)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(&Structure{Topics: 7, Empty: 4, Symbolic: 4, Dangling: 1, Astray: 1, OnCircles: 2}, sum.Structure); diff != "" {
		t.Error(diff)
	}
	if sum.Read != 12 || sum.Examples != 9 || sum.Repeated != 1 || sum.Differing != 1 || sum.Topics != 4 || sum.Labels != 10 {
		t.Errorf("%+v", sum)
	}
}

func TestOnlyAndWithout(t *testing.T) {
	got, sum, err := importDump(t, sample(t, "content.rdf.u8"), nil, Settings{Only: []string{"/Crafts/"}, Without: []string{"Crafts/Weaving"}})
	if err != nil || strings.Count(got, "\n") != 4 || strings.Contains(got, "Weaving\"") || sum.LeftOut != 7 || sum.Structure != nil {
		t.Errorf("%v %+v\n%s", err, sum, got)
	}
	if _, err := NewIntake(Settings{Only: []string{"A//B"}}); err == nil {
		t.Error("a topic that is none is taken for a filter")
	}
}

// TestEveryCut: a dump that is cut off anywhere is refused with the place, and returns the complete part with
// Settings.Lossy.
func TestEveryCut(t *testing.T) {
	content, structure := sample(t, "content.rdf.u8"), sample(t, "structure.rdf.u8")
	whole, _, err := importDump(t, content, nil, Settings{})
	if err != nil {
		t.Fatal(err)
	}
	last := bytes.LastIndex(content, []byte("</RDF>"))
	for n := range len(content) {
		_, _, err := importDump(t, content[:n], nil, Settings{})
		if n < last+len("</RDF") && (err == nil || !strings.Contains(err.Error(), "content")) {
			t.Fatalf("cut at %d: %v", n, err)
		}
		got, _, err := importDump(t, content[:n], nil, Settings{Lossy: true})
		if err != nil && !errors.Is(err, ErrNothing) && !strings.Contains(err.Error(), "no ExternalPage") {
			t.Fatalf("cut at %d, lossy: %v", n, err)
		}
		known := 0
		for line := range strings.Lines(got) {
			if strings.Contains(whole, line) {
				known++
			}
		}
		if wrong := strings.Count(got, "\n") - known; wrong > 2 { // the one at hand, and looms, which comes twice
			t.Fatalf("cut at %d: %d examples are not those of the whole dump:\n%s", n, wrong, got)
		}
	}
	for n := range bytes.LastIndex(structure, []byte("</RDF>")) {
		if _, _, err := importDump(t, content, structure[:n], Settings{}); err == nil || !strings.Contains(err.Error(), "structure") {
			t.Fatalf("structure cut at %d: %v", n, err)
		}
	}
}

// TestEveryByte changes every byte to others that are significant: each time at most two pages differ.
func TestEveryByte(t *testing.T) {
	content := sample(t, "content.rdf.u8")
	whole, _, err := importDump(t, content, nil, Settings{})
	if err != nil {
		t.Fatal(err)
	}
	for at := range content {
		for k := range 3 {
			c := []byte{0, '<', '>', '"', '&', '/', 'x', '\n', 0xff}[(at+3*k)%9]
			damaged := bytes.Clone(content)
			damaged[at] = c
			got, _, err := importDump(t, damaged, nil, Settings{})
			if err != nil {
				if !errors.Is(err, errBrokenOff) {
					t.Fatalf("byte %d is %q: %v", at, c, err)
				}
				continue
			}
			lost := 0
			for line := range strings.Lines(whole) {
				if !strings.Contains(got, line) {
					lost++
				}
			}
			if lost > 2 {
				t.Fatalf("byte %d is %q: %d pages are not as they were:\n%s", at, c, lost, got)
			}
		}
	}
}

func TestReadersThatFail(t *testing.T) {
	half := io.MultiReader(bytes.NewReader(sample(t, "content.rdf.u8")[:700]), iotest.ErrReader(errors.New("disk gone")))
	in, err := NewIntake(Settings{})
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	if err := ReadDMOZ(t.Context(), Dump{Content: half, ContentName: "c"}, in); err == nil || err.Error() != "c, byte 700: disk gone" {
		t.Errorf("%v", err)
	}
	for content, expected := range map[string]string{"": "no ExternalPage", "<RDF></RDF>": "no ExternalPage", "{}": "no ExternalPage"} {
		if _, _, err := importDump(t, []byte(content), nil, Settings{}); err == nil || !strings.Contains(err.Error(), expected) {
			t.Errorf("%q: %v", content, err)
		}
	}
	if _, _, err := importDump(t, sample(t, "content.rdf.u8"), []byte("<RDF></RDF>"), Settings{}); err == nil || !strings.Contains(err.Error(), "no Topic") {
		t.Errorf("structure of nothing: %v", err)
	}
}

// TestPortionsOfReads: the result does not depend on the sizes of reads.
func TestPortionsOfReads(t *testing.T) {
	content := sample(t, "content.rdf.u8")
	long := strings.Repeat("long ", maxField/4)
	content = bytes.Replace(content, []byte("Wooden"), []byte(long+"Wooden"), 1)
	content = bytes.Replace(content, []byte("http://madder.example/"), []byte("http://madder.example/?"+strings.Repeat("x", maxTag)), 2)
	want, sum, err := importDump(t, content, nil, Settings{})
	if err != nil || counts(sum.Repaired)[LongField] != 1 || counts(sum.Repaired)[BrokenTag] != 3 {
		t.Fatal(err, sum)
	}
	in, err := NewIntake(Settings{})
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	if err := ReadDMOZ(t.Context(), Dump{Content: iotest.OneByteReader(bytes.NewReader(content))}, in); err != nil {
		t.Fatal(err)
	}
	var got strings.Builder
	if _, err := in.Finish(NewWriter(&got).Write); err != nil || got.String() != want {
		t.Errorf("byte by byte: %v\n%s", err, cmp.Diff(want, got.String()))
	}
}

func TestCirclesAreThoseOfAMatrix(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 7).Draw(t, "topics")
		x := &structure{number: make(map[uint64]uint32)}
		reach := make([][]bool, n)
		for i := range n {
			x.topic(fmt.Sprint(i))
			reach[i] = make([]bool, n)
		}
		for range rapid.IntRange(0, 12).Draw(t, "links") {
			a, b := rapid.IntRange(0, n-1).Draw(t, "from"), rapid.IntRange(0, n-1).Draw(t, "to")
			x.next[a] = append(x.next[a], uint32(b)|rapid.SampledFrom([]uint32{0, symbolicBit}).Draw(t, "kind"))
			reach[a][b] = true
		}
		for k := range n {
			for i := range n {
				for j := range n {
					reach[i][j] = reach[i][j] || reach[i][k] && reach[k][j]
				}
			}
		}
		want := int64(0)
		for i := range n {
			if reach[i][i] {
				want++
			}
		}
		if got := x.circles(); got != want {
			t.Fatalf("%d on circles, want %d", got, want)
		}
	})
}

// FuzzDump: any bytes are read or refused with a place, with the same result a second time.
func FuzzDump(f *testing.F) {
	f.Add(sample(f, "content.rdf.u8"), sample(f, "structure.rdf.u8"))
	f.Add([]byte("<ExternalPage about='x'><d:Title>y<topic>Top/Z</RDF>"), []byte("<Topic r:id=\"Top\"><narrow r:resource=\"Top\"/></RDF>"))
	f.Add([]byte("<ExternalPage about=\"<RDF\n<!--<![CDATA[&#;&amp"), []byte("<symbolic1><?"))
	f.Fuzz(func(t *testing.T, content, structure []byte) {
		got, sum, err := importDump(t, content, structure, Settings{Lossy: true})
		again, _, errAgain := importDump(t, content, structure, Settings{Lossy: true})
		if got != again || (err == nil) != (errAgain == nil) {
			t.Fatalf("twice: %v %v\n%s\n%s", err, errAgain, got, again)
		}
		if err == nil && int(sum.Examples) != strings.Count(got, "\n") {
			t.Fatalf("%d examples are counted", sum.Examples)
		}
		if err == nil && sum.Examples+sum.Repeated+sum.Refusals()+sum.LeftOut != sum.Read {
			t.Fatalf("the books do not add up: %+v", sum)
		}
	})
}
