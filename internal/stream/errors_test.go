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
		want Class
	}{
		{plain, ClassRecord},
		{io.ErrUnexpectedEOF, ClassRecord}, // the error of a truncated page; no server is unavailable
		{&net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}, ClassRecord},
		{Unavailable(plain), ClassUnavailable},
		{Broken(plain), ClassBroken},
		{fmt.Errorf("load critic: %w", Unavailable(plain)), ClassUnavailable},
		{fmt.Errorf("load critic: %w", Broken(plain)), ClassBroken},
		{Broken(Unavailable(plain)), ClassBroken},
		{Unavailable(Broken(plain)), ClassUnavailable},
		{&OffsetError{}, ClassBroken},
		{fmt.Errorf("replay: %w", &OffsetError{}), ClassBroken},
		{&SizeError{}, ClassRecord},
		{context.Canceled, ClassEnded},
		{fmt.Errorf("fetch: %w", context.DeadlineExceeded), ClassEnded},
		{Unavailable(context.DeadlineExceeded), ClassUnavailable},
		{errors.Join(plain, Broken(plain)), ClassBroken},
	} {
		if got := ClassOf(k.err); got != k.want {
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
		err, want := errors.New("cause"), ClassRecord
		for _, step := range rapid.SliceOfN(rapid.IntRange(0, 2), 0, 8).Draw(t, "steps") {
			switch step {
			case 0:
				err = fmt.Errorf("around: %w", err)
			case 1:
				err, want = Unavailable(err), ClassUnavailable
			case 2:
				err, want = Broken(err), ClassBroken
			}
		}
		if got := ClassOf(err); got != want {
			t.Fatalf("%v: %v, want %v", err, got, want)
		}
		if IsBroken(err) != (want == ClassBroken) || IsUnavailable(err) != (want == ClassUnavailable) {
			t.Fatalf("%v: broken %v, unavailable %v", err, IsBroken(err), IsUnavailable(err))
		}
	})
}
