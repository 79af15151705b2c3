package deploy

import (
	"fmt"
	"io"
	"strings"
	"time"

	"forager/cmd/internal/cli"
)

// DownCommand is the command "forager down".
type DownCommand struct {
	Wait time.Duration `help:"Time that stages have to finish the records in progress." default:"30s"`
}

func (c *DownCommand) Run(s *cli.Session) error {
	cfg, err := s.Pipeline()
	if err != nil {
		return err
	}
	st, err := NewStack(s.Config, cfg, "")
	if err != nil {
		return err
	}
	if err := stopSupervisor(s, cfg.Data); err != nil {
		return err
	}
	if st.Processes, err = OpenProcesses(cfg.Data); err != nil {
		return err
	}
	n := len(st.Processes.List)
	killed, err := st.Stop(s, c.Wait)
	if err != nil {
		return err
	}
	err = s.Print(map[string]any{"stopped": n, "killed": killed}, func(w io.Writer) {
		fmt.Fprintf(w, "stopped %d processes\n", n)
	})
	if err == nil && len(killed) > 0 {
		return fmt.Errorf("%s did not end within %s and had to be killed; nothing is lost, the next start takes up their work",
			strings.Join(killed, ", "), c.Wait)
	}
	return err
}
