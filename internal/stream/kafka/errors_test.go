package kafka

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

	"forager/internal/stream"
)

func TestBrokerClass(t *testing.T) {
	for _, k := range []struct {
		err  error
		want stream.Class
	}{
		// The network.
		{io.EOF, stream.ClassUnavailable},
		{io.ErrUnexpectedEOF, stream.ClassUnavailable},
		{syscall.ECONNRESET, stream.ClassUnavailable},
		{&net.OpError{Op: "dial", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}, stream.ClassUnavailable},
		{&net.DNSError{Err: "no such host", IsNotFound: true}, stream.ClassUnavailable},
		{context.DeadlineExceeded, stream.ClassUnavailable}, // of one request; the caller's context is looked at before
		{os.ErrDeadlineExceeded, stream.ClassUnavailable},
		{errors.New("something new"), stream.ClassUnavailable},
		// Routing, before metadata is there.
		{protocol.NewErrNoTopic("t"), stream.ClassUnavailable},
		{protocol.NewErrNoPartition("t", 1), stream.ClassUnavailable},
		{protocol.NewErrNoLeader("t", 1), stream.ClassUnavailable},
		// The broker, for a while.
		{kafka.UnknownTopicOrPartition, stream.ClassUnavailable},
		{kafka.LeaderNotAvailable, stream.ClassUnavailable},
		{kafka.NotLeaderForPartition, stream.ClassUnavailable},
		{kafka.RequestTimedOut, stream.ClassUnavailable},
		{kafka.NotEnoughReplicas, stream.ClassUnavailable},
		{kafka.NotEnoughReplicasAfterAppend, stream.ClassUnavailable},
		{kafka.GroupCoordinatorNotAvailable, stream.ClassUnavailable},
		{kafka.NotCoordinatorForGroup, stream.ClassUnavailable},
		{kafka.GroupLoadInProgress, stream.ClassUnavailable},
		{kafka.KafkaStorageError, stream.ClassUnavailable},
		{kafka.ThrottlingQuotaExceeded, stream.ClassUnavailable},
		{kafka.InvalidMessage, stream.ClassUnavailable}, // corrupt on the way
		{kafka.Unknown, stream.ClassUnavailable},
		// Permanent.
		{kafka.MessageSizeTooLarge, stream.ClassBroken},
		{kafka.InvalidRecord, stream.ClassBroken},
		{kafka.OffsetOutOfRange, stream.ClassBroken},
		{kafka.TopicAuthorizationFailed, stream.ClassBroken},
		{kafka.GroupAuthorizationFailed, stream.ClassBroken},
		{kafka.SASLAuthenticationFailed, stream.ClassBroken},
		{kafka.UnsupportedSASLMechanism, stream.ClassBroken},
		{kafka.InvalidTopic, stream.ClassBroken},
		{kafka.InvalidReplicationFactor, stream.ClassBroken},
		{kafka.PolicyViolation, stream.ClassBroken},
		{kafka.UnsupportedVersion, stream.ClassBroken},
		{kafka.InvalidSessionTimeout, stream.ClassBroken},
		{kafka.InconsistentGroupProtocol, stream.ClassBroken},
		{kafka.OffsetMetadataTooLarge, stream.ClassBroken},
		{x509.UnknownAuthorityError{}, stream.ClassBroken},
		{&tls.CertificateVerificationError{Err: x509.UnknownAuthorityError{}}, stream.ClassBroken},
		{x509.HostnameError{Certificate: new(x509.Certificate), Host: "h"}, stream.ClassBroken},
		{tls.RecordHeaderError{Msg: "first record does not look like a TLS handshake"}, stream.ClassBroken},
		// This member alone.
		{kafka.IllegalGeneration, stream.ClassLost},
		{kafka.UnknownMemberId, stream.ClassLost},
		{kafka.RebalanceInProgress, stream.ClassLost},
		{kafka.FencedInstanceID, stream.ClassLost},
		// Called off.
		{context.Canceled, stream.ClassEnded},
		// Marks win.
		{stream.Broken(io.EOF), stream.ClassBroken},
		{stream.Unavailable(kafka.InvalidTopic), stream.ClassUnavailable},
	} {
		for _, err := range []error{k.err, fmt.Errorf("kafka.(*Client).Produce: %w", k.err)} {
			if got := brokerClass(err); got != k.want {
				t.Errorf("%v (%T): %v, want %v", err, k.err, got, k.want)
			}
		}
	}
}
