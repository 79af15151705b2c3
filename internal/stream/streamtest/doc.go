// Package streamtest gives tests a Kafka broker: an embedded one in the test's own process, or
// the one that FORAGER_KAFKA (host:port) names, so that the same test functions run on both
// (make test, make test-kafka).
//
// Brokers are shared with other tests when they are real: every topic and group name a test
// uses comes from Broker.Topic and Broker.Config.
package streamtest
