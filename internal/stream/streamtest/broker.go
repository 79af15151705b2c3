package streamtest

import (
	"crypto/rand"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"

	"forager/internal/platform/freeport"
	"forager/internal/platform/pipeline"
)

// Variable is the environment variable that names a real broker.
const Variable = "FORAGER_KAFKA"

// Broker is a Kafka broker for one test.
type Broker struct {
	// Addr is its host:port, which Stop and Restart do not change.
	Addr string
	run  string
	dir  string
	opts []kfake.Opt
	fake *kfake.Cluster
}

// Start returns the broker that FORAGER_KAFKA names, or else an embedded one.
func Start(t testing.TB) *Broker {
	t.Helper()
	if addr := os.Getenv(Variable); addr != "" {
		return &Broker{Addr: addr, run: newRun()}
	}
	return Embedded(t)
}

// Embedded starts an embedded broker, durable in a folder of the test, independent of
// FORAGER_KAFKA: for tests that stop it, make it fail or need further options. It ends with the
// test.
func Embedded(t testing.TB, opts ...kfake.Opt) *Broker {
	t.Helper()
	b := &Broker{run: newRun(), dir: t.TempDir(), Addr: FreeAddr(t), opts: opts}
	b.Restart(t)
	t.Cleanup(b.Stop)
	return b
}

// FreeAddr returns a loopback address on which no server listens or will listen.
func FreeAddr(t testing.TB) string {
	t.Helper()
	addresses, err := freeport.Addresses(1)
	if err != nil {
		t.Fatal(err)
	}
	return addresses[0]
}

func newRun() string { return strings.ToLower(rand.Text()[:10]) }

// Stop stops an embedded broker. Its data are kept.
func (b *Broker) Stop() {
	if b.fake != nil {
		b.fake.Close()
		b.fake = nil
	}
}

// Restart starts an embedded broker that is stopped, with its data.
func (b *Broker) Restart(t testing.TB) {
	t.Helper()
	addr, err := net.ResolveTCPAddr("tcp", b.Addr)
	if err != nil {
		t.Fatal(err)
	}
	b.fake, err = kfake.NewCluster(append([]kfake.Opt{
		kfake.NumBrokers(1), kfake.Ports(addr.Port), kfake.DataDir(b.dir),
		kfake.GroupMinSessionTimeout(time.Second),
	}, b.opts...)...)
	if err != nil {
		t.Fatalf("start the embedded broker: %v", err)
	}
}

// Fake returns the embedded broker, to inject faults (ControlKey); nil for a real one.
func (b *Broker) Fake() *kfake.Cluster { return b.fake }

// Config returns the settings of a client of the broker. The group prefix is unique to the test;
// the session timeout is short.
func (b *Broker) Config() pipeline.Kafka {
	return pipeline.Kafka{Brokers: []string{b.Addr}, Group: "test-" + b.run, Replication: 1, SessionTimeout: 4 * time.Second}
}

// Topic returns a topic name that is unique to the test.
func (b *Broker) Topic(name string) string { return name + "." + b.run }
