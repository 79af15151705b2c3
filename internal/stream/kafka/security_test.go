package kafka_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"forager/internal/platform/pipeline"
	"forager/internal/stream"
	"forager/internal/stream/streamtest"
)

// certificate makes a key pair for 127.0.0.1 and writes the certificate as a PEM file.
func certificate(t *testing.T) (tls.Certificate, string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o644); err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, path
}

func TestPasswordsAndCertificates(t *testing.T) {
	pair, ca := certificate(t)
	b := streamtest.Embedded(t, kfake.EnableSASL(), kfake.Superuser("SCRAM-SHA-512", "app", "right"), kfake.Superuser("SCRAM-SHA-256", "app", "right"),
		kfake.Superuser("PLAIN", "app", "right"), kfake.TLS(&tls.Config{Certificates: []tls.Certificate{pair}}))
	s := newSecured(t, b, b.Addr, ca)
	s.right(t)
	// Apache Kafka responds to a wrong password with an error; the embedded broker closes the
	// connection, unless it is configured.
	b.Fake().ControlKey(kmsg.SASLAuthenticate.Int16(), func(req kmsg.Request) (kmsg.Response, error, bool) {
		b.Fake().KeepControl()
		resp := req.ResponseKind().(*kmsg.SASLAuthenticateResponse)
		resp.ErrorCode = kerr.SaslAuthenticationFailed.Code
		return resp, nil, true
	})
	s.wrong(t)
}

// secured is a broker that requires TLS and a password: the user app's is "right".
type secured struct {
	broker   *streamtest.Broker
	addr, ca string
	in, out  string
	topics   map[string]pipeline.Topic
}

func newSecured(t *testing.T, b *streamtest.Broker, addr, ca string) *secured {
	t.Setenv("STREAM_RIGHT", "right")
	t.Setenv("STREAM_WRONG", "wrong")
	s := &secured{broker: b, addr: addr, ca: ca, in: b.Topic("in"), out: b.Topic("out"), topics: make(map[string]pipeline.Topic)}
	for _, name := range []string{s.in, s.out} {
		s.topics[name] = pipeline.Topic{Partitions: 1, Retention: time.Hour, MaxMessageBytes: 1 << 20}
	}
	return s
}

func (s *secured) config(mechanism, password, ca string) pipeline.Kafka {
	cfg := s.broker.Config()
	cfg.Brokers = []string{s.addr}
	cfg.TLS = pipeline.TLS{Enabled: true, CA: ca}
	cfg.SASL = pipeline.SASL{Mechanism: mechanism, User: "app", PasswordEnv: password}
	return cfg
}

// right checks that a stage runs by every mechanism.
func (s *secured) right(t *testing.T) {
	n := int64(0)
	for _, mechanism := range []string{"scram-sha-512", "scram-sha-256", "plain"} {
		c, _ := streamtest.Dial(t, s.config(mechanism, "STREAM_RIGHT", s.ca), s.topics)
		if _, err := c.Setup(streamtest.Within(t, 60*time.Second)); err != nil {
			t.Fatal(mechanism, err)
		}
		streamtest.Send(t, c, streamtest.Numbers(s.in, 0, 10))
		n += 10
		r := streamtest.Run(t, func(ctx context.Context) error { return streamtest.CopyTo("secure", s.in, s.out).Run(ctx, c) })
		streamtest.Eventually(t, func() bool { at, err := c.Committed(t.Context(), "secure", s.in); return err == nil && at[0] == n })
		if err := r.End(); err != nil {
			t.Fatal(mechanism, err)
		}
	}
}

// wrong checks that what is wrong stops a stage at once, and is named.
func (s *secured) wrong(t *testing.T) {
	_, stranger := certificate(t)
	for name, cfg := range map[string]pipeline.Kafka{
		"SASL scram":  s.config("scram-sha-512", "STREAM_WRONG", s.ca),
		"SASL plain":  s.config("plain", "STREAM_WRONG", s.ca),
		"certificate": s.config("scram-sha-512", "STREAM_RIGHT", stranger),
	} {
		c, _ := streamtest.Dial(t, cfg, s.topics)
		err := streamtest.Run(t, func(ctx context.Context) error { return streamtest.CopyTo("secure", s.in, s.out).Run(ctx, c) }).Wait(streamtest.Within(t, 60*time.Second))
		if !stream.IsBroken(err) || !strings.Contains(strings.ToLower(err.Error()), strings.ToLower(strings.Fields(name)[0])) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
