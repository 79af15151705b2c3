package deploy

import (
	"context"
	"errors"
	"fmt"
	"net"

	"forager/cmd/internal/cli"
	"forager/internal/operate"
	"forager/internal/platform/pipeline"
	"forager/internal/web/webclient"
)

// checkResolver queries the name servers of the root zone, which every resolver has: any response will do.
func checkResolver(ctx context.Context, r *net.Resolver) error {
	_, err := r.LookupNS(ctx, ".")
	var dns *net.DNSError
	if errors.As(err, &dns) && dns.IsNotFound {
		return nil
	}
	return err
}

// checkNetwork checks what fetch needs to reach the web. Behind a proxy the resolver serves only to refuse names of private
// addresses (docs/decisions/0060), so crawls go on without it; a proxy of stored pages needs none.
func checkNetwork(ctx context.Context, cfg *pipeline.Config, add func(what, detail, fix string, err error)) {
	f := &cfg.Stages.Fetch
	const wait = "; crawls wait and go on by themselves"
	what, fix := "that of this machine answers", "see /etc/resolv.conf and the network of this machine"
	if f.Resolver != "" {
		what, fix = f.Resolver+" answers", "start the DNS server, or correct stages.fetch.resolver"
	}
	if f.Proxy == "" {
		add("resolver", what, fix+wait, checkResolver(ctx, webclient.Resolver(f.Resolver)))
		return
	}
	c, err := webclient.New(webclient.Settings{Proxy: f.Proxy, HeaderTimeout: f.HeaderTimeout, Connections: 1})
	if err == nil {
		defer c.Close()
		err = c.CheckProxy(ctx)
	}
	add("proxy", f.Proxy+" takes connections", "start the proxy, or correct stages.fetch.proxy"+wait, err)
	if err == nil && c.ProxyIsOffline(ctx) {
		add("resolver", "not needed: the proxy serves stored pages", "", nil)
	} else if err := checkResolver(ctx, webclient.Resolver(f.Resolver)); err != nil {
		add("resolver", fmt.Sprintf("does not answer (%v): crawls go on, and only the proxy refuses private addresses; %s", err, fix), "", nil)
	} else {
		add("resolver", what, "", nil)
	}
}

// checkCrawls names the crawls whose network is unreachable.
func checkCrawls(ctx context.Context, s *cli.Session, cfg *pipeline.Config, add func(what, detail, fix string, err error)) {
	b, err := cli.OpenTopics(ctx, s, cfg)
	if err != nil {
		add("crawls", "", "see kafka", err)
		return
	}
	defer b.Close()
	waits := 0
	for _, name := range b.Known() {
		if st := b.Status(name); st.GetOutage() != nil && !operate.Ended(st) {
			waits++
			add("crawl", "", "fetch reaches nothing: start the proxy, or see the network of its machine; the crawl goes on by itself",
				fmt.Errorf("%s: %s", name, operate.WaitingFor(st)))
		}
	}
	if waits == 0 {
		add("crawls", "none waits for the network", "", nil)
	}
}
