package deploy

import (
	"context"
	"errors"
	"log/slog"

	"forager/internal/operate"
	"forager/internal/platform/pipeline"
	"forager/internal/stream/kafka"
)

// ParkedNotes returns the notes on a parked crawl for its report.
func ParkedNotes(ctx context.Context, client *kafka.Client, crawl string) (notes []string, err error) {
	list, err := operate.ParkedCrawls(ctx, client)
	for _, p := range list {
		if p.Unit == crawl {
			notes = append(notes, "parked: "+p.String())
		}
	}
	return notes, err
}

// checkParked is an error that names the parked crawls.
func checkParked(ctx context.Context, cfg *pipeline.Config, log *slog.Logger) (err error) {
	client, err := kafka.Dial(cfg.Kafka, cfg.Topics, log, nil)
	if err != nil {
		return err
	}
	defer client.Close()
	list, err := operate.ParkedCrawls(ctx, client)
	for _, p := range list {
		err = errors.Join(err, errors.New(p.String()))
	}
	return err
}
