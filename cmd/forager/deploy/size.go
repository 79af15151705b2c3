package deploy

import (
	"fmt"
	"io"
	"maps"
	"slices"

	"forager/cmd/internal/cli"
	"forager/internal/measure/sizing"
)

// SizeCommand is the command "forager size".
type SizeCommand struct {
	Pages       float64 `help:"Pages to deliver a month." required:""`
	Hosts       float64 `help:"Hosts that they are on." required:""`
	Requests    float64 `help:"Requests for a page delivered: errors, redirects and other content count." default:"1.3"`
	PageBytes   float64 `help:"Bytes of a page, decoded." default:"30000"`
	Links       float64 `help:"Links of a page." default:"40"`
	Leaps       float64 `help:"Links of a page whose target is requested, too." default:"15"`
	URLs        float64 `name:"urls" help:"URLs that become known for a page delivered." default:"4"`
	Apprentice  bool    `help:"Plan for a ranker with an apprentice, such as mixture, or a shadow that is one."`
	Delay       float64 `help:"Pause between two requests to a host, seconds." default:"1"`
	Cores       float64 `help:"Processors of a machine." default:"8"`
	Busy        float64 `help:"Share of the processors' time to plan for." default:"0.6"`
	Replication float64 `help:"Copies of each record in Kafka." default:"3"`
}

func (c *SizeCommand) Help() string {
	return `Machines, Kafka partitions and disks, bytes of S3 and ClickHouse for so many pages a month, from what a request, a page, a link and
a leap cost in a measured crawl. docs/sizing.md has how they were measured, what is left out, and how far results are to be trusted.

  forager size --pages 1e8 --hosts 1e6
  forager size --pages 1e9 --hosts 1e7 --page-bytes 60000 --links 80 --cores 32`
}

func (c *SizeCommand) Run(s *cli.Session) error {
	for _, k := range []struct {
		name           string
		x, least, most float64
	}{
		{"pages", c.Pages, 1, 1e15}, {"hosts", c.Hosts, 1, 1e15}, {"requests", c.Requests, 1, 1e6}, {"page-bytes", c.PageBytes, 0, 1e9}, {"links", c.Links, 0, 1e6},
		{"leaps", c.Leaps, 0, 1e6}, {"urls", c.URLs, 0, 1e6}, {"delay", c.Delay, 0, 1e6}, {"cores", c.Cores, 1, 1e4}, {"busy", c.Busy, 0.01, 1}, {"replication", c.Replication, 1, 100},
	} {
		if !(k.x >= k.least && k.x <= k.most) { // also NaN
			return cli.Usagef("--%s is %g; it must be from %g to %g", k.name, k.x, k.least, k.most)
		}
	}
	m := sizing.Month{
		Crawl: sizing.Crawl{
			Pages: c.Pages, Requests: c.Pages * c.Requests, Bytes: c.Pages * c.PageBytes, Links: c.Pages * c.Links, Leaps: c.Pages * c.Leaps, URLs: c.Pages * c.URLs,
		},
		Hosts: c.Hosts, Delay: c.Delay, Cores: c.Cores, Busy: c.Busy, Replication: c.Replication,
	}
	if c.Apprentice {
		m.Featured = m.Leaps
	}
	plan := sizing.Size(m)
	return s.Print(plan, func(w io.Writer) { printPlan(w, m, plan) })
}

func printPlan(w io.Writer, m sizing.Month, p sizing.Plan) {
	line := func(name, format string, values ...any) {
		fmt.Fprintf(w, "%-26s "+format+"\n", append([]any{name}, values...)...)
	}
	line("pages a second", "%.3g", p.PagesPerSecond)
	line("requests a second", "%.3g", p.RequestsPerSecond)
	line("machines", "%d of %g processors", p.Machines, m.Cores)
	for _, name := range slices.Sorted(maps.Keys(p.Processors)) {
		if n := p.Processes[name]; n > 0 {
			line("  "+name, "%.2f processors, %d processes", p.Processors[name], n)
		} else {
			line("  "+name, "%.2f processors", p.Processors[name])
		}
	}
	line("slots of fetch", "%d", p.Slots)
	line("partitions", "%d", p.Partitions)
	line("Kafka, disks", "%s", human(p.KafkaDisk))
	line("Kafka, written a second", "%s", human(p.KafkaWrites))
	line("S3, added", "%s", human(p.S3))
	line("S3, snapshots", "%s", human(p.S3Snapshots))
	line("S3, objects a second", "%.3g", p.S3Writes)
	line("ClickHouse, disks", "%s", human(p.ClickHouse))
	line("state of stages, disks", "%s", human(p.State))
	if p.HostSeconds > sizing.Seconds {
		line("too few hosts", "the requests to one take %.3g months with their pauses", p.HostSeconds/sizing.Seconds)
	}
}

// human is a number of bytes with a decimal unit.
func human(bytes float64) string {
	units := []string{"B", "kB", "MB", "GB", "TB", "PB"}
	for bytes >= 1000 && len(units) > 1 {
		bytes, units = bytes/1000, units[1:]
	}
	return fmt.Sprintf("%.3g %s", bytes, units[0])
}
