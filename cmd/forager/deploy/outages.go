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
	what, fix := "that of this machine answers", "see /etc/resolv.conf and the network of this machine"
	if server := cfg.Stages.Fetch.Resolver; server != "" {
		what, fix = server+" answers", "start the DNS server, or correct stages.fetch.resolver"
	}
	add("resolver", what, fix+"; crawls wait and go on by themselves", checkResolver(ctx, webclient.Resolver(cfg.Stages.Fetch.Resolver)))
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
