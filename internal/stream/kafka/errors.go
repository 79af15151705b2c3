package kafka

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"

	"github.com/segmentio/kafka-go"

	"forager/internal/stream"
)

// brokerClass returns the class of an error of a call to the broker. An unknown error is taken for
// one of the network (EOF, reset, no route, no leader, timeout), which is temporary.
func brokerClass(err error) stream.Class {
	if class, ok := stream.Marked(err); ok {
		return class
	}
	var code kafka.Error
	if errors.As(err, &code) {
		switch code {
		case kafka.IllegalGeneration, kafka.UnknownMemberId, kafka.RebalanceInProgress, kafka.FencedInstanceID:
			return stream.ClassLost
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
			return stream.ClassBroken
		}
		return stream.ClassUnavailable
	}
	var (
		authority x509.UnknownAuthorityError
		hostname  x509.HostnameError
		invalid   x509.CertificateInvalidError
		header    tls.RecordHeaderError
	)
	switch {
	case errors.As(err, new(*stream.OffsetError)), errors.As(err, new(*stream.SizeError)):
		return stream.ClassBroken
	case errors.As(err, &authority), errors.As(err, &hostname), errors.As(err, &invalid), errors.As(err, &header):
		return stream.ClassBroken
	case errors.Is(err, context.Canceled), errors.Is(err, kafka.ErrGenerationEnded):
		return stream.ClassEnded
	}
	return stream.ClassUnavailable
}
