package experiment

import (
	"fmt"

	"forager/cmd/forager/data"
	"forager/cmd/internal/cli"
	"forager/infra/simweb"
)

// ServeSimwebCommand is the command "forager-lab serve-simweb".
type ServeSimwebCommand struct {
	Seeds     []uint64           `help:"A web for each seed." default:"1"`
	Language  uint64             `help:"Seed of the vocabularies and topics." default:"1"`
	Pages     uint64             `help:"Pages of each web." default:"100000"`
	Branches  int                `help:"Branches of the topic tree." default:"6"`
	Leaves    int                `help:"Topics of each branch." default:"4"`
	Locality  float64            `help:"Chance that a link of a page's own is drawn for the page's topic." default:"0.33"`
	Hubs      float64            `help:"Share of pages that list links to a few topics." default:"0.07"`
	Dead      float64            `help:"Share of links that are 404." default:"0.02"`
	Alias     float64            `help:"Share of links that are redirected once." default:"0.02"`
	Cues      string             `help:"Where around links the words about their targets stand: ${enum}." enum:"peaked,uniform,absent" default:"peaked"`
	Hazards   bool               `help:"Switch every hazard on."`
	Hazard    map[string]float64 `help:"Switch one on, for a share of hosts, pages or links (infra/simweb/README.md), or with --hazards another share of it; 0 = off." placeholder:"NAME=SHARE" mapsep:","`
	TopicURLs bool               `name:"topic-urls" help:"Put topics into URLs."`
	Listen    string             `help:"Loopback address of the proxy." default:"127.0.0.1:18081"`
	AccessLog string             `help:"Append one JSON line a request to this file." type:"path"`
}

func (c *ServeSimwebCommand) Help() string {
	return `Synthetic webs are served as an HTTP proxy does: point stages.fetch.proxy of the pipeline file to it. The
same server answers questions about them, to requests of its own:

  forager-lab serve-simweb --seeds 401,402 --hazards &
  curl http://127.0.0.1:18081/.topics?seed=401
  curl "http://127.0.0.1:18081/.examples?seed=401&topic=Other&n=5"
  curl -x http://127.0.0.1:18081 http://h1soy.s401.sim/
  curl -G http://127.0.0.1:18081/.truth --data-urlencode url=http://h1soy.s401.sim/
  curl --data-binary @crawled.txt http://127.0.0.1:18081/.truths
  forager-lab serve-simweb --seeds 403 --hazard calendars=1,stalled=0.05

infra/simweb/README.md describes the webs and their truths.`
}

func (c *ServeSimwebCommand) Run(s *cli.Session) error {
	var webs []*simweb.Web
	for _, seed := range c.Seeds {
		config := simweb.Default(seed)
		config.Language, config.Pages, config.Cues, config.TopicURLs = c.Language, c.Pages, simweb.CuesByName[c.Cues], c.TopicURLs
		config.Branches, config.Leaves, config.Locality, config.HubShare, config.Dead, config.Alias = c.Branches, c.Leaves, c.Locality, c.Hubs, c.Dead, c.Alias
		if c.Hazards {
			config.Hazards = simweb.AllHazards()
		}
		for name, share := range c.Hazard {
			if err := config.Hazards.Set(name, share); err != nil {
				return cli.AsUsage(err)
			}
		}
		w, err := simweb.New(config)
		if err != nil {
			return cli.AsUsage(err)
		}
		webs = append(webs, w)
	}
	log, closeLog, err := data.OpenAccessLog(c.AccessLog)
	if err != nil {
		return err
	}
	defer closeLog()
	return data.ServeUntilDone(s, c.Listen, simweb.NewServer(log, webs...), func(address string) {
		fmt.Fprintf(s.Stdout, "%d pages a web, seeds %v, behind the proxy http://%s; such as %s\n", c.Pages, c.Seeds, address, webs[0].URL(0))
	})
}
