package judges

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"forager/internal/critic"
	"forager/internal/modelfile"
	"forager/internal/positive"
)

func TestOpenKnowsEveryKind(t *testing.T) {
	var labelled critic.Examples
	var liked positive.Examples
	for i := range 10 {
		url, text := fmt.Sprintf("http://x.test/%d", i), fmt.Sprintf("words of page %d acid base salt", i%5)
		if err := labelled.AddText(url, []string{fmt.Sprint("topic", i%2)}, text); err != nil {
			t.Fatal(err)
		}
		liked.Liked = append(liked.Liked, positive.Read(url, text))
		liked.Background = append(liked.Background, positive.Read(url+"/b", text+" and others"))
	}
	bayes, _, err := critic.Train(&labelled, critic.Settings{})
	if err != nil {
		t.Fatal(err)
	}
	like, _, err := positive.Train("topic", &liked, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		file    []byte
		classes []string
	}{{bayes.Marshal(), bayes.Classes()}, {like.Marshal(), like.Classes()}} {
		j, err := Open(c.file)
		if err != nil || !slices.Equal(j.Classes(), c.classes) {
			t.Fatalf("%v, %v", j, err)
		}
		if j, err := Open(c.file[:len(c.file)-1]); j != nil || !errors.Is(err, modelfile.ErrDamaged) {
			t.Errorf("cut short: %v, %v", j, err)
		}
	}
	for name, b := range map[string][]byte{"nothing": nil, "another kind": modelfile.Seal("apprentice", 1, nil), "text": []byte("hello, world, and more of it, until there is enough of it for a line of 64")} {
		if j, err := Open(b); j != nil || err == nil {
			t.Errorf("%s was opened as %v", name, j)
		}
	}
}
