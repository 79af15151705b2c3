package pipeline

import (
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Hosts are networks ("10.1.0.0/16"), addresses and host names.
type Hosts []string

// Wanted describes a valid value, for messages about a wrong one.
func (Hosts) Wanted() string {
	return "a list of networks and hosts, such as [10.1.0.0/16, intranet.example] (true, for all of them, is not taken any more)"
}

var hostName = regexp.MustCompile(`^[a-z0-9_-]+(\.[a-z0-9_-]+)*$`)

func (k checks) hosts(path string, list Hosts) {
	for _, entry := range list {
		_, network := netip.ParsePrefix(entry)
		_, address := netip.ParseAddr(strings.Trim(entry, "[]"))
		if network != nil && address != nil && !hostName.MatchString(entry) || strings.Trim(entry, "0123456789.") == "" && address != nil {
			k.Problem(path, "%q is neither a network (10.1.0.0/16), nor an address, nor a host name in lower case (xn--… for other letters)", entry)
		}
	}
}

// Service is an address on which a part of the pipeline listens.
type Service struct {
	// Address is host:port; an empty host means every address of the machine.
	Address string
	// TLS: the part uses TLS.
	TLS bool
}

// Services returns the addresses of the pipeline's own parts, which are not to be crawled: brokers, S3, ClickHouse,
// the metrics of every process, the monitor, and the proxy and the resolver of fetch.
func (c *Config) Services() []Service {
	var all []Service
	for _, b := range c.Kafka.Brokers {
		all = append(all, Service{b, c.Kafka.TLS.Enabled})
	}
	for _, raw := range []string{c.S3.Endpoint, c.ClickHouse.URL, c.Stages.Fetch.Proxy} {
		if s, ok := ServiceOf(raw); ok {
			all = append(all, s)
		}
	}
	for _, address := range []string{c.Stages.Fetch.Resolver, c.Stages.Prioritize.Address, c.Local.Metrics} {
		all = append(all, listeners(address, false, 1)...)
	}
	for _, x := range c.Stages.all() {
		all = append(all, listeners(x.common.Metrics, false, x.common.Replicas)...)
	}
	all = append(all, listeners(c.Stages.Monitor.Address, c.Stages.Monitor.TLSCert != "", c.Stages.Monitor.Replicas)...)
	slices.SortFunc(all, func(a, b Service) int { return strings.Compare(a.Address, b.Address) })
	return slices.Compact(all)
}

// serviceHost returns the host of a URL; empty if it has none.
func serviceHost(raw string) string {
	s, _ := ServiceOf(raw)
	host, _, _ := net.SplitHostPort(s.Address)
	return host
}

// ServiceOf returns the service that a URL points to; false if it has no host. The default port is that of its scheme.
func ServiceOf(raw string) (Service, bool) {
	u, err := url.Parse(raw)
	if err != nil || u.Host == "" {
		return Service{}, false
	}
	tls := u.Scheme == "https"
	port := u.Port()
	if port == "" {
		port = map[bool]string{false: "80", true: "443"}[tls]
	}
	return Service{net.JoinHostPort(u.Hostname(), port), tls}, true
}

// listeners returns the addresses on which the replicas of a process listen, of which the first is given.
func listeners(address string, tls bool, replicas int) (all []Service) {
	for n := range max(replicas, 1) {
		if at, err := ReplicaAddress(address, n); err == nil && at != "" && !strings.HasSuffix(at, ":0") {
			all = append(all, Service{at, tls})
		}
	}
	return all
}

// ReplicaAddress returns the address on which a replica listens: its port is that of the setting, plus its number, or 0 = any free
// one. Without a setting there is none.
func ReplicaAddress(setting string, replica int) (string, error) {
	if setting == "" {
		return "", nil
	}
	host, text, err := net.SplitHostPort(setting)
	if err != nil {
		return "", err
	}
	port, err := strconv.ParseUint(text, 10, 16)
	if err != nil {
		return "", fmt.Errorf("port %q: %w", text, err)
	}
	if port != 0 {
		port += uint64(replica)
	}
	return net.JoinHostPort(host, strconv.FormatUint(port, 10)), nil
}
