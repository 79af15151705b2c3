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
	// Addr is its host:port; it stays the same over Stop and Restart.
	Addr string
	run  string
	dir  string
	opts []kfake.Opt
	fake *kfake.Cluster
}

// Start gives the broker that FORAGER_KAFKA names, or else an embedded one.
func Start(t testing.TB) *Broker {
	t.Helper()
	if addr := os.Getenv(Variable); addr != "" {
		return &Broker{Addr: addr, run: newRun()}
	}
	return Embedded(t)
}

// Embedded starts an embedded broker, durable in a folder of the test, whatever FORAGER_KAFKA
// says: for tests that stop it, make it fail or need it with further options. It ends with the
// test.
func Embedded(t testing.TB, opts ...kfake.Opt) *Broker {
	t.Helper()
	b := &Broker{run: newRun(), dir: t.TempDir(), Addr: FreeAddr(t), opts: opts}
	b.Restart(t)
	t.Cleanup(b.Stop)
	return b
}

// FreeAddr is a loopback address on which nobody listens, nor will.
func FreeAddr(t testing.TB) string {
	t.Helper()
	addresses, err := freeport.Addresses(1)
	if err != nil {
		t.Fatal(err)
	}
	return addresses[0]
}

func newRun() string { return strings.ToLower(rand.Text()[:10]) }

// Stop ends an embedded broker. Its data stay.
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

// Fake is the embedded broker, for its faults (ControlKey); nil for a real one.
func (b *Broker) Fake() *kfake.Cluster { return b.fake }

// Config is how to reach the broker. Its group prefix is the test's own; the session time-out
// is short.
func (b *Broker) Config() pipeline.Kafka {
	return pipeline.Kafka{Brokers: []string{b.Addr}, Group: "test-" + b.run, Replication: 1, SessionTimeout: 4 * time.Second}
}

// Topic is a topic name of the test's own.
func (b *Broker) Topic(name string) string { return name + "." + b.run }
