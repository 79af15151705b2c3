package deploy

import (
	"context"
	"errors"
	"fmt"
	"io"

	"forager/cmd/internal/cli"
	"forager/internal/stream/kafka"
)

// ReloadCommand is the command "forager reload".
type ReloadCommand struct{}

func (c *ReloadCommand) Help() string {
	return `When load-clickhouse is started next, it reads again all that the topics still hold, and with it comes what the tables
lost to a full or failing disk, or whatever was dropped. Rows that are there already do not count twice; rows of deleted
crawls do not come back. What the topics hold no longer stays as it is (archived files may have it: forager query --list).
Nothing is changed while load-clickhouse runs.

  forager down
  forager up --parts
  forager reload
  forager up`
}

func (c *ReloadCommand) Run(s *cli.Session) error {
	cfg, err := s.Pipeline()
	if err != nil {
		return err
	}
	client, err := kafka.Dial(cfg.Kafka, cfg.Topics, s.Log, nil)
	if err != nil {
		return err
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(s, s.Patience())
	defer cancel()
	records, err := client.Rewind(ctx, "load-clickhouse")
	switch {
	case errors.Is(err, kafka.ErrRuns):
		return fmt.Errorf("load-clickhouse runs, or was killed within the last %s; stop all stages first (forager down, forager up --parts)", cfg.Kafka.SessionTimeout)
	case err != nil:
		return err
	}
	return s.Print(map[string]int64{"records": records}, func(w io.Writer) {
		fmt.Fprintf(w, "load-clickhouse will read %d records once more when it is started (forager up)\n", records)
	})
}
