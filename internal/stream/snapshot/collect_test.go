package snapshot

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"pgregory.net/rapid"

	"forager/internal/stream/state"
)

var here = Of{Stage: "lots", Topic: "in", Partition: 2, Layout: "1"}

func fine(context.Context, *Manifest) error { return nil }

// owner is a process that makes snapshots of its directory, request by request.
type owner struct {
	maker    Maker
	fs       vfs.FS
	next     int // number of the next file
	progress int64
	began    time.Time // of the upload in progress
	yield    func(string) bool
	point    func() (string, bool)
	stop     func()
}

type races struct {
	t      *rapid.T
	bucket *bucket
	owners []*owner
	acting *owner
	late   bool // uploads have no deadline
}

var errKilled = errors.New("killed")

// change changes the directory of an owner, as compactions do: tables come and go, and none is changed.
func (r *races) change(o *owner) {
	write := func(name string, content []byte) {
		f, err := o.fs.Create(name, vfs.WriteCategoryUnspecified)
		if err == nil {
			_, err = f.Write(content)
		}
		if err = errors.Join(err, f.Close()); err != nil {
			r.t.Fatal(err)
		}
	}
	for range rapid.IntRange(0, 2).Draw(r.t, "tables") {
		// The contents are few, so that two owners have the same.
		write(fmt.Sprintf("dir/%06d.sst", o.next), fmt.Appendf(nil, "table %d", rapid.IntRange(0, 9).Draw(r.t, "content")))
		o.next++
	}
	names, err := o.fs.List("dir")
	if err != nil {
		r.t.Fatal(err)
	}
	for _, name := range names {
		if rapid.IntRange(0, 3).Draw(r.t, "compacted") == 0 {
			if err := o.fs.Remove("dir/" + name); err != nil {
				r.t.Fatal(err)
			}
		}
	}
	o.progress += int64(rapid.IntRange(0, 3).Draw(r.t, "progress"))
	write("dir/MANIFEST-000001", fmt.Appendf(nil, "%d", o.progress))
}

// begin begins an upload and a collection of an owner.
func (r *races) begin(o *owner) {
	r.change(o)
	o.began = r.bucket.now
	o.point, o.stop = iter.Pull(func(yield func(string) bool) {
		o.yield = yield
		report, err := o.maker.Upload(context.Background(), o.fs, "dir", Manifest{Marks: state.Marks{Input: o.progress}.String()}, true)
		if err != nil {
			return
		}
		o.began = time.Time{} // a collection has no end by the clock
		_, _ = o.maker.Collect(context.Background(), report.Key, fine)
	})
}

// run continues an owner until its next request.
func (r *races) run(o *owner) {
	if o.point == nil {
		r.begin(o)
	}
	r.acting = o
	if _, more := o.point(); !more {
		o.point = nil
	}
}

// request is a point; the deadline of an upload ends its requests.
func (r *races) request(call, key string) error {
	o := r.acting
	if !o.yield(call + " " + key) {
		return errKilled
	}
	if !o.began.IsZero() && r.bucket.now.Sub(o.began) > uploadTime && !r.late {
		return context.DeadlineExceeded
	}
	return nil
}

// whole fails unless every chunk of every manifest is stored.
func (r *races) whole() error {
	for _, name := range r.bucket.keys(here.manifests()) {
		m, unfit := decode(name, r.bucket.objects[here.manifests()+name].body)
		if unfit != nil {
			return unfit
		}
		for _, f := range m.Files {
			for _, c := range f.Chunks {
				if _, ok := r.bucket.objects[here.chunks()+c]; !ok {
					return fmt.Errorf("manifest %s has lost chunk %s of %s", name, c, f.Name)
				}
			}
		}
	}
	return nil
}

// simulate runs owners that race, stall and are killed.
func simulate(t *rapid.T, late bool) error {
	r := &races{t: t, bucket: newBucket(), late: late}
	spawn := func() *owner {
		o := &owner{fs: vfs.NewMem(), maker: Maker{Bucket: r.bucket, Of: here, Limit: NewLimit(0), time: func() time.Time { return r.bucket.now }}}
		if began := r.bucket.now; late {
			o.maker.time = func() time.Time { return began }
		}
		if err := o.fs.MkdirAll("dir", 0o755); err != nil {
			t.Fatal(err)
		}
		return o
	}
	defer func() {
		for _, o := range r.owners {
			if o.point != nil {
				o.stop()
			}
		}
	}()
	r.bucket.before = r.request
	for range 3 {
		r.owners = append(r.owners, spawn())
	}
	for range rapid.IntRange(30, 120).Draw(t, "steps") {
		i := rapid.IntRange(0, 2).Draw(t, "owner")
		switch o := r.owners[i]; rapid.IntRange(0, 19).Draw(t, "event") {
		case 0: // killed; another begins in its place
			if o.point != nil {
				r.acting = o
				o.stop()
			}
			r.owners[i] = spawn()
			r.owners[i].progress = o.progress
		case 1, 2:
			r.bucket.now = r.bucket.now.Add(time.Duration(rapid.IntRange(0, 50).Draw(t, "minutes")) * time.Minute)
		default:
			for range rapid.IntRange(1, 12).Draw(t, "requests") {
				if r.run(o); o.point == nil {
					break
				}
			}
		}
		if err := r.whole(); err != nil {
			return err
		}
	}
	for _, o := range r.owners {
		if o.point != nil {
			r.acting = o
			o.stop()
			o.point = nil
		}
	}
	// What is not needed goes in the end, whatever was left behind.
	r.bucket.before = nil
	last := spawn()
	for range Keep + 1 {
		for _, o := range r.owners {
			last.progress = max(last.progress, o.progress+1)
		}
		last.progress++
		r.change(last)
		report, err := last.maker.Upload(context.Background(), last.fs, "dir", Manifest{Marks: state.Marks{Input: last.progress}.String()}, true)
		if err != nil {
			return err
		}
		r.bucket.now = r.bucket.now.Add(2 * keepTime)
		if _, err := last.maker.Collect(context.Background(), report.Key, fine); err != nil {
			return err
		}
		if err := r.whole(); err != nil {
			return err
		}
	}
	if n := len(r.bucket.keys(here.manifests())); n > Keep+1 {
		return fmt.Errorf("%d manifests are left", n)
	}
	needed := make(map[string]bool)
	for _, name := range r.bucket.keys(here.manifests()) {
		m, _ := decode(name, r.bucket.objects[here.manifests()+name].body)
		for _, f := range m.Files {
			for _, c := range f.Chunks {
				needed[c] = true
			}
		}
	}
	for _, c := range r.bucket.keys(here.chunks()) {
		if !needed[c] && r.bucket.now.Sub(r.bucket.objects[here.chunks()+c].modified) > 4*keepTime {
			return fmt.Errorf("chunk %s is left", c)
		}
	}
	return nil
}

// Owners that race, stall and are killed at any request: every manifest in the bucket keeps all its chunks, and nothing stays for good.
func TestCollectionsLeaveWhatIsNeeded(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		if err := simulate(t, false); err != nil {
			t.Fatal(err)
		}
	})
}

// The test above would notice an upload that goes on after its time.
func TestTheRacesSeeLateUploads(t *testing.T) {
	for seed := range 200 {
		if rapid.Custom(func(t *rapid.T) bool { return simulate(t, true) != nil }).Example(seed) {
			return
		}
	}
	t.Error("200 races saw nothing")
}
