//go:build kafka

package kafka_test

import (
	"os"
	"testing"

	"forager/internal/stream/streamtest"
)

// TestKafkaPasswordsAndCertificates is TestPasswordsAndCertificates on the Apache Kafka that
// FORAGER_KAFKA_SECURE names.
func TestKafkaPasswordsAndCertificates(t *testing.T) {
	addr, ca := os.Getenv("FORAGER_KAFKA_SECURE"), os.Getenv("FORAGER_KAFKA_CA")
	if addr == "" || ca == "" {
		t.Fatal("FORAGER_KAFKA_SECURE and FORAGER_KAFKA_CA name no broker; make test-kafka starts one")
	}
	s := newSecured(t, streamtest.Start(t), addr, ca)
	s.right(t)
	s.wrong(t)
}
