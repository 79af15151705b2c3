package deploy

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

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

// checkStages returns the age of the oldest record that each stage has not completed; it is an error if one is too old.
func checkStages(ctx context.Context, cfg *pipeline.Config, log *slog.Logger) (detail string, err error) {
	client, err := kafka.Dial(cfg.Kafka, cfg.Topics, log, nil)
	if err != nil {
		return "", err
	}
	defer client.Close()
	p, err := operate.LookAt(ctx, client)
	if err != nil {
		return "", err
	}
	var list []string
	for _, s := range p.Stages {
		limit := lateStage
		if s.Stage == "fetch" { // requests wait there for their hosts
			limit += cfg.Stages.Fetch.Hold
		}
		text := fmt.Sprintf("%s %.0f s (%d records)", s.Stage, s.Seconds, s.Records)
		if list = append(list, text); s.Seconds > limit.Seconds() {
			err = errors.Join(err, errors.New("the oldest record of a stage is old: "+text))
		}
	}
	return "age of the oldest record: " + strings.Join(list, ", "), err
}

// lateStage is the age of a record that a stage should have completed.
const lateStage = time.Minute

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
