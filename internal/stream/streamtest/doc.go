// Package streamtest provides a Kafka broker for tests: an embedded one in the test's process, or the one that the
// environment variable FORAGER_KAFKA (host:port) names. The same test functions run on both (make test, make test-kafka).
//
// A real broker is shared with other tests. Therefore every topic and group name that a test uses comes from Broker.Topic
// and Broker.Config.
package streamtest
