package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"forager/internal/platform/pipeline"
	"forager/internal/web/webclient"
	"forager/schemas"
)

// waitingFor describes in one line what a crawl waits for because it is unreachable; empty = nothing.
func waitingFor(st *schemas.CrawlStatus) string {
	var parts []string
	if o := st.GetOutage(); o != nil {
		parts = append(parts, fmt.Sprintf("network unreachable since %s (%s): %d URLs wait, next probe %s, nothing is charged",
			clockTime(o.GetSince()), o.GetCause(), st.GetQueued(), clockTime(o.GetNextProbe())))
	}
	u := st.GetUnreachable()
	if u.GetHosts() > 0 {
		text := fmt.Sprintf("%s not answer", counted(u.GetHosts(), "host does", "hosts do"))
		if u.GetHost() != "" {
			text += fmt.Sprintf(" (%s: %s)", u.GetHost(), u.GetCause())
		}
		text += fmt.Sprintf(": %s", counted(u.GetUrls(), "URL waits", "URLs wait"))
		if at := u.GetNextTry(); at > 0 {
			text += ", next try " + clockTime(at)
		}
		parts = append(parts, text+", given up after "+clockTime(u.GetUntil()))
	}
	if u.GetGivenUpHosts() > 0 {
		parts = append(parts, fmt.Sprintf("%s given up with %s", counted(u.GetGivenUpHosts(), "host was", "hosts were"), counted(u.GetGivenUpUrls(), "URL", "URLs")))
	}
	return strings.Join(parts, "; ")
}

func counted(n uint64, one, more string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprint(n, " ", more)
}

// clockTime is a time of the log, with its date if that is not today.
func clockTime(ms int64) string {
	t := time.UnixMilli(ms).UTC()
	if t.Format(time.DateOnly) == time.Now().UTC().Format(time.DateOnly) {
		return t.Format("15:04:05Z")
	}
	return t.Format("2006-01-02T15:04:05Z")
}

// why is the end reason of a crawl, or what it waits for.
func (x *standing) why() string {
	if x.Reason != "" && x.Waiting != "" {
		return x.Reason + "; " + x.Waiting
	}
	return x.Reason + x.Waiting
}

// checkProxy connects to the proxy of fetch, if there is one.
func checkProxy(ctx context.Context, cfg *pipeline.Config) error {
	c, err := webclient.New(webclient.Settings{Proxy: cfg.Stages.Fetch.Proxy, HeaderTimeout: cfg.Stages.Fetch.HeaderTimeout, Connections: 1})
	if err != nil {
		return err
	}
	defer c.Close()
	return c.CheckProxy(ctx)
}

// checkResolver queries the name servers of the root zone, which every resolver has: any response will do.
func checkResolver(ctx context.Context, r *net.Resolver) error {
	_, err := r.LookupNS(ctx, ".")
	var dns *net.DNSError
	if errors.As(err, &dns) && dns.IsNotFound {
		return nil
	}
	return err
}

// checkNetwork checks what fetch needs to reach the web.
func checkNetwork(ctx context.Context, cfg *pipeline.Config, add func(what, detail, fix string, err error)) {
	if proxy := cfg.Stages.Fetch.Proxy; proxy != "" {
		add("proxy", proxy+" takes connections", "start the proxy, or correct stages.fetch.proxy; crawls wait and go on by themselves", checkProxy(ctx, cfg))
		return
	}
	add("resolver", "answers", "see /etc/resolv.conf and the network of this machine; crawls wait and go on by themselves", checkResolver(ctx, net.DefaultResolver))
}

// checkCrawls names the crawls whose network is unreachable.
func checkCrawls(ctx context.Context, s *session, cfg *pipeline.Config, add func(what, detail, fix string, err error)) {
	b, err := openBooks(ctx, s, cfg)
	if err != nil {
		add("crawls", "", "see kafka", err)
		return
	}
	defer b.close()
	waits := 0
	for _, name := range b.known() {
		if st := b.status(name); st.GetOutage() != nil && !ended(st) {
			waits++
			add("crawl", "", "fetch reaches nothing: start the proxy, or see the network of its machine; the crawl goes on by itself",
				fmt.Errorf("%s: %s", name, waitingFor(st)))
		}
	}
	if waits == 0 {
		add("crawls", "none waits for the network", "", nil)
	}
}
