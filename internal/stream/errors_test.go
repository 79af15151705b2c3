package stream

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"syscall"
	"testing"

	"pgregory.net/rapid"
)

func TestClassOf(t *testing.T) {
	plain := errors.New("plain")
	for _, k := range []struct {
		err  error
		want class
	}{
		{plain, perRecord},
		{io.ErrUnexpectedEOF, perRecord}, // the error of a truncated page; no server is unavailable
		{&net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}, perRecord},
		{Unavailable(plain), unavailable},
		{Broken(plain), broken},
		{fmt.Errorf("load critic: %w", Unavailable(plain)), unavailable},
		{fmt.Errorf("load critic: %w", Broken(plain)), broken},
		{Broken(Unavailable(plain)), broken},
		{Unavailable(Broken(plain)), unavailable},
		{&OffsetError{}, broken},
		{fmt.Errorf("replay: %w", &OffsetError{}), broken},
		{&SizeError{}, perRecord},
		{context.Canceled, ended},
		{fmt.Errorf("fetch: %w", context.DeadlineExceeded), ended},
		{Unavailable(context.DeadlineExceeded), unavailable},
		{CalledOff, ended},
		{errors.Join(plain, Broken(plain)), broken},
	} {
		if got := classOf(k.err); got != k.want {
			t.Errorf("%v (%T): %v, want %v", k.err, k.err, got, k.want)
		}
	}
	if Unavailable(nil) != nil || Broken(nil) != nil {
		t.Error("a mark on nothing is something")
	}
	if !errors.Is(Broken(plain), plain) || Broken(plain).Error() != "plain" {
		t.Error("a mark hides the error")
	}
}

// Whatever is wrapped around a mark, the outermost mark decides.
func TestTheOutermostMarkDecides(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		err, want := errors.New("cause"), perRecord
		for _, step := range rapid.SliceOfN(rapid.IntRange(0, 2), 0, 8).Draw(t, "steps") {
			switch step {
			case 0:
				err = fmt.Errorf("around: %w", err)
			case 1:
				err, want = Unavailable(err), unavailable
			case 2:
				err, want = Broken(err), broken
			}
		}
		if got := classOf(err); got != want {
			t.Fatalf("%v: %v, want %v", err, got, want)
		}
		if IsBroken(err) != (want == broken) || IsUnavailable(err) != (want == unavailable) {
			t.Fatalf("%v: broken %v, unavailable %v", err, IsBroken(err), IsUnavailable(err))
		}
	})
}
