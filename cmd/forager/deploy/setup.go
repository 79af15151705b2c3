package deploy

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"forager/cmd/internal/cli"
	"forager/internal/platform/analytics"
	"forager/internal/platform/objects"
	"forager/internal/platform/pipeline"
	"forager/internal/stream/kafka"
)

// SetupCommand is the command "forager setup".
type SetupCommand struct {
	Timeout time.Duration `help:"How long to wait for the parts." default:"60s"`
}

func (c *SetupCommand) Help() string {
	return `Safe to run at any time: what exists already is compared, never changed. A topic whose partitions or
settings differ from the pipeline file is reported and the command fails.`
}

func (c *SetupCommand) Run(s *cli.Session) error {
	cfg, err := s.Pipeline()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(s, c.Timeout)
	defer cancel()
	if err := SetUp(ctx, cfg, s.Log); err != nil {
		if s.Err() == nil && ctx.Err() != nil {
			return fmt.Errorf("not done within %s (forager up --parts starts the embedded parts, forager doctor finds the fault): %w", c.Timeout, err)
		}
		return err
	}
	return s.Print(map[string]any{"ok": true}, func(w io.Writer) {
		fmt.Fprintf(w, "%d topics, bucket %s and the tables of database %s are as they should be\n",
			len(cfg.Topics), cfg.S3.Bucket, cfg.ClickHouse.Database)
	})
}

// SetUp creates what is missing in Kafka, S3 and ClickHouse and fails if something that exists differs from the configuration.
func SetUp(ctx context.Context, cfg *pipeline.Config, log *slog.Logger) error {
	c, err := kafka.Dial(cfg.Kafka, cfg.Topics, log, nil)
	if err != nil {
		return err
	}
	defer c.Close()
	states, err := c.Setup(ctx)
	if err != nil {
		return err
	}
	var errs []error
	for _, t := range states {
		if !t.OK() {
			errs = append(errs, errors.New(t.String()))
		}
	}
	store, err := objects.Open(cfg.S3)
	if err != nil {
		return err
	}
	if _, err := store.EnsureBucket(ctx); err != nil {
		errs = append(errs, err)
	}
	db, err := analytics.Open(cfg.ClickHouse)
	if err != nil {
		return err
	}
	defer db.Close()
	if err := db.Migrate(ctx); err != nil {
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}
