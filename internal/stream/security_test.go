package stream

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

	"forager/internal/pipeline"
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
	_, stranger := certificate(t)
	t.Setenv("STREAM_RIGHT", "right")
	t.Setenv("STREAM_WRONG", "wrong")
	b := streamtest.Embedded(t, kfake.EnableSASL(), kfake.Superuser("SCRAM-SHA-512", "app", "right"), kfake.Superuser("SCRAM-SHA-256", "app", "right"),
		kfake.Superuser("PLAIN", "app", "right"), kfake.TLS(&tls.Config{Certificates: []tls.Certificate{pair}}))
	with := func(mechanism, password, ca string) pipeline.Kafka {
		cfg := b.Config()
		cfg.TLS = pipeline.TLS{Enabled: true, CA: ca}
		cfg.SASL = pipeline.SASL{Mechanism: mechanism, User: "app", PasswordEnv: password}
		return cfg
	}
	topics := map[string]pipeline.Topic{}
	in, out := b.Topic("in"), b.Topic("out")
	for _, name := range []string{in, out} {
		topics[name] = pipeline.Topic{Partitions: 1, Retention: time.Hour, MaxMessageBytes: 1 << 20}
	}
	n := int64(0)
	for _, mechanism := range []string{"scram-sha-512", "scram-sha-256", "plain"} {
		c, _ := dial(t, with(mechanism, "STREAM_RIGHT", ca), topics)
		if _, err := c.Setup(within(t, 20*time.Second)); err != nil {
			t.Fatal(mechanism, err)
		}
		if _, err := c.Produce(within(t, 20*time.Second), numbers(in, 0, 10)); err != nil {
			t.Fatal(mechanism, err)
		}
		n += 10
		r := run(t, func(ctx context.Context) error { return c.RunStateless(ctx, copyTo("secure", in, out)) })
		eventually(t, func() bool { at, _ := committed(t, c, "secure", in, 0); return at == n })
		if err := r.end(); err != nil {
			t.Fatal(mechanism, err)
		}
	}
	// What is wrong stops a stage at once, and names itself. Apache Kafka answers a wrong password
	// with an error; the embedded broker only hangs up, unless it is told.
	b.Fake().ControlKey(kmsg.SASLAuthenticate.Int16(), func(req kmsg.Request) (kmsg.Response, error, bool) {
		b.Fake().KeepControl()
		resp := req.ResponseKind().(*kmsg.SASLAuthenticateResponse)
		resp.ErrorCode = kerr.SaslAuthenticationFailed.Code
		return resp, nil, true
	})
	for name, cfg := range map[string]pipeline.Kafka{
		"SASL":        with("scram-sha-512", "STREAM_WRONG", ca),
		"SASL plain":  with("plain", "STREAM_WRONG", ca),
		"certificate": with("scram-sha-512", "STREAM_RIGHT", stranger),
	} {
		c, _ := dial(t, cfg, topics)
		err := run(t, func(ctx context.Context) error { return c.RunStateless(ctx, copyTo("secure", in, out)) }).wait(within(t, 30*time.Second))
		if !IsBroken(err) || !strings.Contains(strings.ToLower(err.Error()), strings.ToLower(strings.Fields(name)[0])) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
