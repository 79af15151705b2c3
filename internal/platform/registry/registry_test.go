package registry

import (
	"bytes"
	"errors"
	"fmt"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"forager/internal/platform/objects/objectstest/memory"
	"forager/internal/rank/apprentice"
	"forager/schemas"
)

func counts(t *testing.T) *apprentice.Counts {
	c := apprentice.NewCounts()
	for i, r := range []float64{.1, .9, .8} {
		if err := c.Add([]*schemas.Feature{{Term: fmt.Sprint("t", i), Offset: 1, Count: 1}}, r); err != nil {
			t.Fatal(err)
		}
	}
	return c
}

func TestAModelIsFoundAsItWasKept(t *testing.T) {
	store := memory.Bucket{}
	m, data := Apprentice("chem", "schools/1f", counts(t), 40, 17, time.UnixMilli(5))
	for range 2 { // an interrupted publication is begun again
		if err := Keep(t.Context(), store, m, data); err != nil {
			t.Fatal(err)
		}
	}
	out, err := Announcement(m)
	if err != nil {
		t.Fatal(err)
	}
	read := new(schemas.ModelPublished)
	if err := proto.Unmarshal(out.Value, read); err != nil || !proto.Equal(read, m) {
		t.Errorf("announced %v, %v", read, err)
	}
	if string(out.Key) != "chem/apprentice" || out.Headers[schemas.HeaderCrawl] != "chem" || out.Headers[schemas.HeaderVersion] != "1" {
		t.Errorf("key %q, headers %v", out.Key, out.Headers)
	}
	if read.GetLeaps() != 3 || read.GetPages() != 40 || read.GetTrainedThrough() != 17 || read.GetCritic() != "schools/1f" {
		t.Errorf("announced %v", read)
	}
	got, err := Fetch(t.Context(), store, read)
	if err != nil || !bytes.Equal(got, data) {
		t.Errorf("%d bytes came back, %v", len(got), err)
	}
	if c, err := apprentice.UnmarshalCounts(got); err != nil || !bytes.Equal(c.Marshal(), data) {
		t.Errorf("the model does not come back: %v", err)
	}
}

func TestKeysKeepModelsApart(t *testing.T) {
	m, _ := Apprentice("chem", "", counts(t), 40, 17, time.Time{})
	again := proto.CloneOf(m)
	again.Retrained = true
	_, name, _ := bytes.Cut([]byte(m.GetVersion()), []byte("/"))
	critic := Critic("schools", []byte("bytes"), nil, time.Time{})
	for _, c := range []struct {
		m    *schemas.ModelPublished
		want string
	}{{m, "chem/apprentice"}, {again, "chem/apprentice/" + string(name)}, {critic, "/critic/schools"}} {
		if out, err := Announcement(c.m); err != nil || string(out.Key) != c.want {
			t.Errorf("key %q, want %q (%v)", out.Key, c.want, err)
		}
	}
}

func TestOtherBytesUnderTheNameAreRefused(t *testing.T) {
	store := memory.Bucket{}
	m := Critic("schools", []byte("model"), nil, time.Time{})
	store[m.GetObject()] = []byte("mod")
	if err := Keep(t.Context(), store, m, []byte("model")); !errors.Is(err, ErrOther) {
		t.Errorf("half a model under the name: %v", err)
	}
	if string(store[m.GetObject()]) != "mod" {
		t.Error("the object was overwritten")
	}
	if b, err := Fetch(t.Context(), store, m); err == nil {
		t.Errorf("half a model is read as %q", b)
	}
}
