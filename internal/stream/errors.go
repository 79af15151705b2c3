package stream

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"

	"github.com/segmentio/kafka-go"
)

// class is what the runtime does about an error.
type class int

const (
	// perRecord: the record fails by itself; bounded tries, then poison.
	perRecord class = iota
	// unavailable: wait with back-off for ever, and say so.
	unavailable
	// broken: a bug or a broken promise; stop loudly.
	broken
	// lost: this member's generation is over; another may own the partition now.
	lost
	// ended: the work was called off (its context ended); the record stays unanswered.
	ended
)

func (c class) String() string {
	return [...]string{"record", "unavailable", "broken", "lost", "ended"}[c]
}

type classified struct {
	class class
	err   error
}

func (e *classified) Error() string { return e.err.Error() }
func (e *classified) Unwrap() error { return e.err }

// Unavailable marks err as the absence of something that will come back (a server, a model
// that is not published yet): the runtime waits with back-off for ever and tries again.
// Unavailable(nil) is nil.
func Unavailable(err error) error { return classify(unavailable, err) }

// Broken marks err as a bug or a broken promise: the runtime stops and the process exits
// non-zero. Broken(nil) is nil.
func Broken(err error) error { return classify(broken, err) }

func classify(c class, err error) error {
	if err == nil {
		return nil
	}
	return &classified{c, err}
}

// IsUnavailable and IsBroken tell how err was marked, outermost mark first.
func IsUnavailable(err error) bool { return classOf(err) == unavailable }
func IsBroken(err error) bool      { return classOf(err) == broken }

// classOf decides what is done about an error of a stage's logic. Only marks count, and the
// end of a context: a stage that parses foreign bytes gets io.ErrUnexpectedEOF from them too,
// which says nothing about a server.
func classOf(err error) class {
	var c *classified
	switch {
	case errors.As(err, &c):
		return c.class
	case errors.As(err, new(*OffsetError)):
		return broken
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded), errors.Is(err, kafka.ErrGenerationEnded):
		return ended
	}
	return perRecord
}

// brokerClass decides whether an error of a call to the broker is worth another try. What it
// does not know is taken as the network's: such errors come in every shape (EOF, reset, no
// route, no leader, a time-out of the call) and all pass.
func brokerClass(err error) class {
	var c *classified
	if errors.As(err, &c) {
		return c.class
	}
	var code kafka.Error
	if errors.As(err, &code) {
		switch code {
		case kafka.IllegalGeneration, kafka.UnknownMemberId, kafka.RebalanceInProgress, kafka.FencedInstanceID:
			return lost
		case kafka.MessageSizeTooLarge, kafka.RecordListTooLarge, kafka.InvalidMessageSize, kafka.InvalidRecord,
			kafka.InvalidTimestamp, kafka.UnsupportedForMessageFormat, kafka.UnsupportedCompressionType,
			kafka.OffsetMetadataTooLarge, kafka.InvalidCommitOffsetSize, kafka.OffsetOutOfRange,
			kafka.InvalidTopic, kafka.InvalidPartitionNumber, kafka.InvalidReplicationFactor,
			kafka.InvalidReplicaAssignment, kafka.InvalidConfiguration, kafka.PolicyViolation,
			kafka.InvalidRequest, kafka.InvalidRequiredAcks, kafka.UnsupportedVersion,
			kafka.InconsistentGroupProtocol, kafka.InvalidGroupId, kafka.InvalidSessionTimeout, kafka.GroupMaxSizeReached,
			kafka.TopicAuthorizationFailed, kafka.GroupAuthorizationFailed, kafka.ClusterAuthorizationFailed,
			kafka.BrokerAuthorizationFailed, kafka.UnsupportedSASLMechanism, kafka.IllegalSASLState,
			kafka.SASLAuthenticationFailed, kafka.SecurityDisabled:
			return broken
		}
		return unavailable
	}
	var (
		authority x509.UnknownAuthorityError
		hostname  x509.HostnameError
		invalid   x509.CertificateInvalidError
		header    tls.RecordHeaderError
	)
	switch {
	case errors.As(err, new(*OffsetError)), errors.As(err, new(*SizeError)):
		return broken
	case errors.As(err, &authority), errors.As(err, &hostname), errors.As(err, &invalid), errors.As(err, &header):
		return broken
	case errors.Is(err, context.Canceled), errors.Is(err, kafka.ErrGenerationEnded):
		return ended
	}
	return unavailable
}

// OffsetError says that an offset to go on from is not in the partition.
type OffsetError struct {
	Topic     string
	Partition int
	// Offset asked for; the partition holds [First, End).
	Offset, First, End int64
	// Group whose committed offset it is; empty where none is concerned.
	Group string
}

func (e *OffsetError) Error() string {
	whose := "offset"
	if e.Group != "" {
		whose = "offset committed by group " + e.Group
	}
	s := fmt.Sprintf("%s %d is not in %s/%d, which holds [%d, %d)", whose, e.Offset, e.Topic, e.Partition, e.First, e.End)
	switch {
	case e.Offset < e.First:
		s += ": retention removed records before they were read; raise the topic's retention in pipeline.yaml"
	default:
		s += ": the topic was made anew or lost records"
	}
	if e.Group != "" {
		s += fmt.Sprintf("; to go on without them, stop the stage and run kafka-consumer-groups --group %s --topic %s:%d --reset-offsets --to-earliest --execute, then start its crawls again under new names", e.Group, e.Topic, e.Partition)
	} else {
		s += "; state that needs them cannot be rebuilt from this topic"
	}
	return s
}

// SizeError says that a message is larger than its topic takes.
type SizeError struct {
	Topic string
	// Size of the message and the topic's limit, bytes.
	Size, Max int
}

func (e *SizeError) Error() string {
	return fmt.Sprintf("message of %d bytes for %s, which takes %d", e.Size, e.Topic, e.Max)
}
