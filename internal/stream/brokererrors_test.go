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
)

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
