package pipeline

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
)

// Login has the credentials of a client of a part. All fields are empty if the part requires none.
type Login struct {
	// Mechanism of SASL, for Kafka only.
	Mechanism      string
	User, Password string
}

// LateLogin is a login that is looked up until there is one: that of an embedded part may be generated after this process
// has started.
type LateLogin struct {
	lookUp func() (Login, error)
	known  atomic.Pointer[Login]
}

// Later returns the login that lookUp finds, now or later.
func Later(lookUp func() (Login, error)) *LateLogin { return &LateLogin{lookUp: lookUp} }

// Get returns the login. One without a password is looked up again at the next call.
func (l *LateLogin) Get() (Login, error) {
	if known := l.known.Load(); known != nil {
		return *known, nil
	}
	login, err := l.lookUp()
	if err == nil && login.Password != "" {
		l.known.Store(&login)
	}
	return login, err
}

// Known reports whether Get has found a password.
func (l *LateLogin) Known() bool { return l.known.Load() != nil }

// secret is a file DATA/secrets/PART.json: the login of an embedded part. It is made when the part is started for the
// first time, and is valid for the loopback ports that the part then had, so that it is never sent to another server.
type secret struct {
	Ports    []string `json:"ports"`
	User     string   `json:"user"`
	Password string   `json:"password"`
}

// embedded is where the login of a part may be, if it is an embedded one: its file, and the ports of its loopback
// addresses. The zero value is that of an external part.
type embedded struct {
	file  string
	ports []string
}

// findSecrets sets the places of the logins of parts that may be embedded.
func (c *Config) findSecrets() {
	at := func(part string, addresses []string) embedded {
		var ports []string
		for _, a := range addresses {
			host, port, err := net.SplitHostPort(a)
			if err != nil || !Loopback(host) {
				return embedded{}
			}
			ports = append(ports, port)
		}
		slices.Sort(ports)
		return embedded{filepath.Join(c.SecretsDir(), part+".json"), ports}
	}
	address := func(raw string) []string {
		s, _ := ServiceOf(raw)
		return []string{s.Address}
	}
	if c.Kafka.SASL.Mechanism == "" && !c.Kafka.TLS.Enabled {
		c.Kafka.embedded = at("kafka", c.Kafka.Brokers)
	}
	if s := c.S3; s.AccessKeyEnv == "" && s.SecretKeyEnv == "" && (s.AccessKey == "" && s.SecretKey == "" || s.published()) {
		c.S3.embedded = at("s3", address(s.Endpoint))
	}
	if c.ClickHouse.PasswordEnv == "" {
		c.ClickHouse.embedded = at("clickhouse", address(c.ClickHouse.URL))
	}
}

// Loopback reports whether a host of an address is this machine's loopback.
func Loopback(host string) bool {
	ip := net.ParseIP(strings.Trim(host, "[]"))
	return strings.EqualFold(host, "localhost") || ip != nil && ip.IsLoopback()
}

// StateDir returns the folder of the state of a stage.
func (c *Config) StateDir(stage string) string { return filepath.Join(c.Data, "state", stage) }

// AddressFile is a file in the state folder of a stage with the address at which a replica answers questions, and its token.
func AddressFile(stateDir string, replica int) string {
	return filepath.Join(stateDir, fmt.Sprint("address-", replica))
}

// SecretsDir returns the folder of generated passwords.
func (c *Config) SecretsDir() string { return filepath.Join(c.Data, "secrets") }

// MakeSecret returns the login of an embedded part (kafka, s3, clickhouse), which it generates at the first time. If
// the pipeline file has keys for the part, these are returned.
func (c *Config) MakeSecret(part string) (Login, error) {
	e := map[string]embedded{"kafka": c.Kafka.embedded, "s3": c.S3.embedded, "clickhouse": c.ClickHouse.embedded}[part]
	if e.file == "" {
		switch part {
		case "s3":
			return c.S3.Login()
		case "kafka":
			return c.Kafka.Login()
		}
		return c.ClickHouse.Login()
	}
	s, err := e.read()
	if err != nil {
		return Login{}, err
	}
	if s == nil || !slices.Equal(s.Ports, e.ports) {
		if s == nil {
			s = &secret{User: map[string]string{"clickhouse": "default"}[part], Password: rand.Text()}
			if s.User == "" {
				s.User = "forager"
			}
		}
		s.Ports = e.ports
		if err := s.write(e.file); err != nil {
			return Login{}, fmt.Errorf("write the password of the embedded %s: %w", part, err)
		}
	}
	return s.login(part == "kafka"), nil
}

func (s *secret) login(sasl bool) Login {
	l := Login{User: s.User, Password: s.Password}
	if sasl {
		l.Mechanism = "scram-sha-256"
	}
	return l
}

// read returns nil if there is no file yet.
func (e embedded) read() (*secret, error) {
	if e.file == "" {
		return nil, nil
	}
	info, err := os.Stat(e.file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read a generated password: %w", err)
	}
	if info.Mode().Perm()&0o077 != 0 {
		return nil, fmt.Errorf("%s can be read by other users (mode %o): end the pipeline (forager down) and remove the file, so that a new password is made", e.file, info.Mode().Perm())
	}
	b, err := os.ReadFile(e.file)
	if err != nil {
		return nil, fmt.Errorf("read a generated password: %w", err)
	}
	s := new(secret)
	if err := json.Unmarshal(b, s); err != nil || s.User == "" || s.Password == "" {
		return nil, fmt.Errorf("%s holds no password: end the pipeline (forager down) and remove the file, so that a new one is made", e.file)
	}
	return s, nil
}

// write replaces the file atomically.
func (s *secret) write(file string) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return err
	}
	b, err := json.Marshal(s)
	if err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(file), ".new-*") // mode 0600
	if err != nil {
		return err
	}
	_, err = f.Write(append(b, '\n'))
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), file)
	}
	if err != nil {
		os.Remove(f.Name())
	}
	return err
}

// generated returns the login of the embedded part at these ports; ok is false if there is none.
func (e embedded) generated(sasl bool) (Login, bool, error) {
	s, err := e.read()
	if err != nil || s == nil || !slices.Equal(s.Ports, e.ports) {
		return Login{}, false, err
	}
	return s.login(sasl), true, nil
}

// Login returns the user of kafka.sasl, or that of the embedded broker.
func (k Kafka) Login() (Login, error) {
	if k.SASL.Mechanism == "" {
		l, _, err := k.embedded.generated(true)
		return l, err
	}
	password, err := Password(k.SASL.PasswordEnv)
	if err != nil {
		return Login{}, fmt.Errorf("kafka.sasl.password_env: %w", err)
	}
	return Login{k.SASL.Mechanism, k.SASL.User, password}, nil
}

// published reports whether the keys are those that pipeline files had before keys were generated:
// they are public.
func (s S3) published() bool { return s.AccessKey == "forager" && s.SecretKey == "forager-secret" }

// Outdated returns what to do about keys that earlier versions had in every pipeline file; "" = the keys are
// others.
func (s S3) Outdated() string {
	switch {
	case !s.published():
		return ""
	case s.embedded.file != "":
		return "s3.access_key and s3.secret_key of the pipeline file are those of every earlier version: remove both lines (the embedded S3 has generated keys, which are used in their place)"
	}
	return "s3.access_key and s3.secret_key of the pipeline file are those of every earlier version, so that they protect nothing: give the server at " + s.Endpoint + " others"
}

// Login returns the access key as the user and the secret key as the password.
func (s S3) Login() (Login, error) {
	if l, ok, err := s.embedded.generated(false); ok || err != nil {
		return l, err
	}
	l := Login{User: s.AccessKey, Password: s.SecretKey}
	var err error
	if s.AccessKeyEnv != "" {
		if l.User, err = Password(s.AccessKeyEnv); err != nil {
			return Login{}, fmt.Errorf("s3.access_key_env: %w", err)
		}
	}
	if s.SecretKeyEnv != "" {
		if l.Password, err = Password(s.SecretKeyEnv); err != nil {
			return Login{}, fmt.Errorf("s3.secret_key_env: %w", err)
		}
	}
	return l, nil
}

// URL returns the address of a folder of the bucket.
func (s S3) URL(folder string) string {
	return strings.TrimRight(s.Endpoint, "/") + "/" + s.Bucket + "/" + folder
}

// Login returns the user of ClickHouse.
func (c ClickHouse) Login() (Login, error) {
	if l, ok, err := c.embedded.generated(false); ok || err != nil {
		return l, err
	}
	password, err := Password(c.PasswordEnv)
	if err != nil {
		return Login{}, fmt.Errorf("clickhouse.password_env: %w", err)
	}
	return Login{User: c.User, Password: password}, nil
}

// minToken is the least length of the token of the monitor.
const minToken = 16

// Token returns the token that the monitor requires: that of token_env, or one that is generated the first time.
func (c *Config) Token() (string, error) {
	if env := c.Stages.Monitor.TokenEnv; env != "" {
		token, err := Password(env)
		if err == nil && len(token) < minToken {
			err = fmt.Errorf("the token has %d characters, %d are needed", len(token), minToken)
		}
		if err != nil {
			return "", fmt.Errorf("stages.monitor.token_env: %w", err)
		}
		return token, nil
	}
	e := embedded{file: filepath.Join(c.SecretsDir(), "monitor.json")}
	s, err := e.read()
	if err != nil || s != nil {
		return s.password(), err
	}
	s = &secret{User: "operator", Password: rand.Text()}
	if err := s.write(e.file); err != nil {
		return "", fmt.Errorf("write the token of the monitor: %w", err)
	}
	if s, err = e.read(); err != nil { // another process may have written one at the same time
		return "", err
	}
	return s.password(), nil
}

func (s *secret) password() string {
	if s == nil {
		return ""
	}
	return s.Password
}

// Password reads the password of an environment variable; no name means no password.
func Password(env string) (string, error) {
	if env == "" {
		return "", nil
	}
	p, ok := os.LookupEnv(env)
	if !ok {
		return "", errors.New("the environment variable " + env + " named by the pipeline file is not set")
	}
	return p, nil
}

// MakeData makes the data folder, which other users must not read: it holds fetched pages and passwords. An existing
// one gets these permissions too, with Forager's files in it.
func (c *Config) MakeData() error {
	if err := os.MkdirAll(c.Data, 0o700); err != nil {
		return fmt.Errorf("make the data folder: %w", err)
	}
	info, err := os.Stat(c.Data)
	if err != nil {
		return fmt.Errorf("data folder: %w", err)
	}
	if info.Mode().Perm()&0o077 == 0 {
		return nil
	}
	for _, own := range []string{"local", "state", "logs", "run", "secrets"} {
		err := filepath.WalkDir(filepath.Join(c.Data, own), func(path string, d fs.DirEntry, err error) error {
			if errors.Is(err, fs.ErrNotExist) { // removed meanwhile, or never created
				return nil
			}
			if err != nil || d.Type()&fs.ModeSymlink != 0 {
				return err
			}
			info, err := d.Info()
			if err == nil && info.Mode().Perm()&0o077 != 0 {
				err = os.Chmod(path, info.Mode().Perm()&^0o077)
			}
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			return err
		})
		if err != nil {
			return fmt.Errorf("close the data folder to other users: %w", err)
		}
	}
	if err := os.Chmod(c.Data, info.Mode().Perm()&^0o077); err != nil {
		return fmt.Errorf("close the data folder to other users: %w", err)
	}
	return nil
}
