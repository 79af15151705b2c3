package stream

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"syscall"
	"testing"

	"github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol"
	"pgregory.net/rapid"

	"forager/internal/stream/state"
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

func TestBrokerClass(t *testing.T) {
	for _, k := range []struct {
		err  error
		want class
	}{
		// The network.
		{io.EOF, unavailable},
		{io.ErrUnexpectedEOF, unavailable},
		{syscall.ECONNRESET, unavailable},
		{&net.OpError{Op: "dial", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}, unavailable},
		{&net.DNSError{Err: "no such host", IsNotFound: true}, unavailable},
		{context.DeadlineExceeded, unavailable}, // of one request; the caller's context is looked at before
		{os.ErrDeadlineExceeded, unavailable},
		{errors.New("something new"), unavailable},
		// Routing, before metadata is there.
		{protocol.NewErrNoTopic("t"), unavailable},
		{protocol.NewErrNoPartition("t", 1), unavailable},
		{protocol.NewErrNoLeader("t", 1), unavailable},
		// The broker, for a while.
		{kafka.UnknownTopicOrPartition, unavailable},
		{kafka.LeaderNotAvailable, unavailable},
		{kafka.NotLeaderForPartition, unavailable},
		{kafka.RequestTimedOut, unavailable},
		{kafka.NotEnoughReplicas, unavailable},
		{kafka.NotEnoughReplicasAfterAppend, unavailable},
		{kafka.GroupCoordinatorNotAvailable, unavailable},
		{kafka.NotCoordinatorForGroup, unavailable},
		{kafka.GroupLoadInProgress, unavailable},
		{kafka.KafkaStorageError, unavailable},
		{kafka.ThrottlingQuotaExceeded, unavailable},
		{kafka.InvalidMessage, unavailable}, // corrupt on the way
		{kafka.Unknown, unavailable},
		// Permanent.
		{kafka.MessageSizeTooLarge, broken},
		{kafka.InvalidRecord, broken},
		{kafka.OffsetOutOfRange, broken},
		{kafka.TopicAuthorizationFailed, broken},
		{kafka.GroupAuthorizationFailed, broken},
		{kafka.SASLAuthenticationFailed, broken},
		{kafka.UnsupportedSASLMechanism, broken},
		{kafka.InvalidTopic, broken},
		{kafka.InvalidReplicationFactor, broken},
		{kafka.PolicyViolation, broken},
		{kafka.UnsupportedVersion, broken},
		{kafka.InvalidSessionTimeout, broken},
		{kafka.InconsistentGroupProtocol, broken},
		{kafka.OffsetMetadataTooLarge, broken},
		{x509.UnknownAuthorityError{}, broken},
		{&tls.CertificateVerificationError{Err: x509.UnknownAuthorityError{}}, broken},
		{x509.HostnameError{Certificate: new(x509.Certificate), Host: "h"}, broken},
		{tls.RecordHeaderError{Msg: "first record does not look like a TLS handshake"}, broken},
		// This member alone.
		{kafka.IllegalGeneration, lost},
		{kafka.UnknownMemberId, lost},
		{kafka.RebalanceInProgress, lost},
		{kafka.FencedInstanceID, lost},
		// Called off.
		{context.Canceled, ended},
		// Marks win.
		{Broken(io.EOF), broken},
		{Unavailable(kafka.InvalidTopic), unavailable},
	} {
		for _, err := range []error{k.err, fmt.Errorf("kafka.(*Client).Produce: %w", k.err)} {
			if got := brokerClass(err); got != k.want {
				t.Errorf("%v (%T): %v, want %v", err, k.err, got, k.want)
			}
		}
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

// What is wrong with a state does not go away by itself: nothing waits for it.
func TestStateErrorIsBroken(t *testing.T) {
	s := openStore(t, state.Options{Dir: t.TempDir()})
	defer s.Close()
	err := s.Set([]byte{0}, nil) // a reserved key
	if !IsBroken(err) || brokerClass(err) != broken {
		t.Errorf("%v is of the class %s", err, classOf(err))
	}
}
