package scope

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"forager/internal/web/weburl"
	"forager/schemas"
)

// Reason is the reason of a refusal; "" is no refusal.
type Reason string

// The reasons. Excluded, HostCap, Gate and Replay are determined by the frontier, which counts requests and has the gates and the excludes;
// they are here so that the set is in one place. Replay refuses not a link but the
// repetition of a request that did not fail, or has been repeated already.
const (
	Excluded       Reason = "excluded"
	OutOfHosts     Reason = "scope:hosts"
	OutOfPrefixes  Reason = "scope:prefixes"
	OutOfList      Reason = "scope:url-list"
	Depth          Reason = "depth"
	HostCap        Reason = "host-cap"
	Gate           Reason = "gate"
	Replay         Reason = "replay"
	TrapLength     Reason = "trap:length"
	TrapSegments   Reason = "trap:segments"
	TrapRepeats    Reason = "trap:repeats"
	TrapParameters Reason = "trap:parameters"
)

// Scope decides by a schemas.Scope. It is immutable and safe for concurrent use.
type Scope struct {
	hosts    map[string]bool
	prefixes []string
	list     *List
	maxDepth uint32 // seeds have 0
	bounded  bool   // by maxDepth
}

// New returns a Scope; list is the content of the object that s.UrlList names, nil exactly if it names none.
func New(s *schemas.Scope, list *List) (*Scope, error) {
	if (s.GetUrlList() != "") != (list != nil) {
		return nil, fmt.Errorf("scope: the URL list is named %q, and its content is there: %t", s.GetUrlList(), list != nil)
	}
	out := &Scope{prefixes: s.GetPrefixes(), list: list, maxDepth: s.GetMaxDepth(), bounded: s.GetMaxDepth() > 0}
	if s.GetSeedsOnly() {
		out.maxDepth, out.bounded = 0, true
	}
	if hosts := s.GetHosts(); len(hosts) > 0 {
		out.hosts = make(map[string]bool, len(hosts))
		for _, h := range hosts {
			if h == "" {
				return nil, errors.New("scope: an empty host would let every host through")
			}
			out.hosts[strings.ToLower(h)] = true
		}
	}
	if slices.Contains(out.prefixes, "") {
		return nil, errors.New("scope: an empty prefix would let every URL through")
	}
	return out, nil
}

// Check returns the reason why a canonical URL found at a depth (hops from a seed) may not be fetched, or "".
func (s *Scope) Check(url string, depth uint32) Reason {
	if s.bounded && depth > s.maxDepth {
		return Depth
	}
	if s.hosts != nil && !s.host(weburl.Host(url)) {
		return OutOfHosts
	}
	if len(s.prefixes) > 0 && !s.prefixed(url) {
		return OutOfPrefixes
	}
	if s.list != nil {
		if !s.list.Has(url) {
			return OutOfList
		}
		return ""
	}
	return trap(url)
}

// host reports whether the host, or a domain above it, is listed; a listed host without a port covers every port.
func (s *Scope) host(host string) bool {
	if s.domain(host) {
		return true
	}
	port := strings.LastIndexByte(host, ':')
	return port > strings.LastIndexByte(host, ']') && s.domain(host[:port])
}

func (s *Scope) domain(name string) bool {
	for name != "" {
		if s.hosts[name] {
			return true
		}
		_, name, _ = strings.Cut(name, ".")
	}
	return false
}

func (s *Scope) prefixed(url string) bool {
	for _, p := range s.prefixes {
		if strings.HasPrefix(url, p) {
			return true
		}
	}
	return false
}
