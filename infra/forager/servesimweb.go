package main

import (
	"fmt"

	"forager/infra/simweb"
)

type serveSimwebCommand struct {
	Seeds     []uint64 `help:"A web for each seed." default:"1"`
	Language  uint64   `help:"Seed of the vocabularies and topics." default:"1"`
	Pages     uint64   `help:"Pages of each web." default:"100000"`
	Cues      string   `help:"Where around links the words about their targets stand: ${enum}." enum:"peaked,uniform,absent" default:"peaked"`
	Hazards   bool     `help:"Switch every hazard on."`
	TopicURLs bool     `name:"topic-urls" help:"Put topics into URLs."`
	Listen    string   `help:"Loopback address of the proxy." default:"127.0.0.1:18081"`
	AccessLog string   `help:"Append one JSON line a request to this file." type:"path"`
}

func (c *serveSimwebCommand) Help() string {
	return `Synthetic webs are served as an HTTP proxy does: point stages.fetch.proxy of the pipeline file to it. The
same server answers questions about them, to requests of its own:

  forager serve-simweb --seeds 401,402 --hazards &
  curl http://127.0.0.1:18081/.topics?seed=401
  curl "http://127.0.0.1:18081/.examples?seed=401&topic=Other&n=5"
  curl -x http://127.0.0.1:18081 http://h1soy.s401.sim/
  curl -G http://127.0.0.1:18081/.truth --data-urlencode url=http://h1soy.s401.sim/

infra/simweb/README.md says what is in them and what the truths mean.`
}

func (c *serveSimwebCommand) Run(s *session) error {
	var webs []*simweb.Web
	for _, seed := range c.Seeds {
		config := simweb.Default(seed)
		config.Language, config.Pages, config.Cues, config.TopicURLs = c.Language, c.Pages, simweb.CuesByName[c.Cues], c.TopicURLs
		if c.Hazards {
			config.Hazards = simweb.AllHazards()
		}
		w, err := simweb.New(config)
		if err != nil {
			return errUsage{err}
		}
		webs = append(webs, w)
	}
	log, closeLog, err := openAccessLog(c.AccessLog)
	if err != nil {
		return err
	}
	defer closeLog()
	return serveUntilDone(s, c.Listen, simweb.NewServer(log, webs...), func(address string) {
		fmt.Fprintf(s.out, "%d pages a web, seeds %v, behind the proxy http://%s; such as %s\n", c.Pages, c.Seeds, address, webs[0].URL(0))
	})
}
