package deploy

import (
	"context"
	"fmt"
	"io"
	"time"

	"forager/cmd/internal/cli"
	"forager/internal/platform/pipeline"
)

// UpCommand is the command "forager up".
type UpCommand struct {
	Bin      string        `help:"Folder of the programs; by default the folder of this one." type:"path"`
	Parts    bool          `help:"Start the embedded parts only, no stages."`
	External bool          `help:"Start no embedded part, whatever the addresses are."`
	Wait     time.Duration `help:"How long to wait for the parts to be ready." default:"60s"`
}

func (c *UpCommand) Help() string {
	return `Embedded parts are started for those addresses of the pipeline file that are loopback addresses without
a server; then topics, bucket and tables are set up and each stage is started as often as
its setting "replicas". Logs go to DATA/logs, state to DATA/state. A program that ends by itself is
started again, after a pause that grows from one second to a minute (DATA/logs/supervisor.log; forager doctor
prints how often). forager down ends everything.

  forager up                    everything
  forager up --parts            only Kafka, S3 and ClickHouse
  forager up --external         only the stages, on your own servers`
}

func (c *UpCommand) Run(s *cli.Session) error {
	cfg, err := s.Pipeline()
	if err != nil {
		return err
	}
	if text := cfg.S3.Outdated(); text != "" {
		s.Log.Warn(text)
	}
	st, err := NewStack(s.Config, cfg, c.Bin)
	if err != nil {
		return err
	}
	if err := cfg.MakeData(); err != nil {
		return err
	}
	printf := func(format string, args ...any) {
		if !s.JSON {
			fmt.Fprintf(s.Stdout, format+"\n", args...)
		}
	}
	// The list of processes has one writer at a time.
	before, err := readSupervision(cfg.Data)
	if err != nil {
		return err
	}
	if err := stopSupervisor(s, cfg.Data); err != nil {
		return err
	}
	if st.Processes, err = OpenProcesses(cfg.Data); err != nil {
		return err
	}
	if !c.External {
		started, err := st.StartParts(s, c.Wait)
		if err != nil {
			return err
		}
		for _, p := range started {
			printf("%-12s ready at %s", p.name, p.address)
		}
	}
	if !c.Parts {
		ctx, cancel := context.WithTimeout(s, c.Wait)
		defer cancel()
		if err := SetUp(ctx, cfg, s.Log); err != nil {
			return fmt.Errorf("set up topics, bucket and tables: %w", err)
		}
		if _, err := cfg.Token(); err != nil { // made before several replicas look for it
			return err
		}
		if err := st.StartStages(cli.Programs); err != nil {
			return err
		}
	}
	if err := st.startSupervisor(s); err != nil {
		return err
	}
	return s.Print(st.Processes, func(w io.Writer) {
		for _, p := range st.Processes.List {
			fmt.Fprintf(w, "%-20s process %-8d log %s\n", p.Name, p.PID, p.Log)
			if text := before.Of(p.Name); text != "" {
				fmt.Fprintf(w, "%-20s %s\n", "", text)
			}
		}
		if _, ok := st.Processes.Running("monitor-0"); ok {
			fmt.Fprintf(w, "watch the crawls at  %s\n", MonitorAddress(cfg))
		}
	})
}

// MonitorAddress returns the address of the web page, with the token if it is a generated one.
func MonitorAddress(cfg *pipeline.Config) string {
	m := &cfg.Stages.Monitor
	address := "http://" + m.Address
	if m.TLSCert != "" {
		address = "https://" + m.Address
	}
	if token, err := cfg.Token(); err == nil && m.TokenEnv == "" {
		return address + "/login?token=" + token
	}
	return address + " (its token is in the environment variable " + m.TokenEnv + ")"
}
