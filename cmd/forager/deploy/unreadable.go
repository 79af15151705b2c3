package deploy

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"

	"forager/internal/operate"
	"forager/internal/platform/pipeline"
	"forager/internal/stream"
	"forager/internal/stream/kafka"
	"forager/schemas"
)

// followedTopics are the compacted topics of one partition that every process reads to the end by itself.
var followedTopics = []string{schemas.TopicCrawlControl, schemas.TopicCrawlStatus, schemas.TopicModelPublished, schemas.TopicHubRanked}

// unreadableRecord is the newest record of its key in a followed topic, and cannot be read. Stages and commands skip it.
type unreadableRecord struct {
	topic, key string
	offset     int64
	cause      error
	// readable is the newest readable record of the key that the topic retains; nil = none.
	readable *stream.Record
}

func (u unreadableRecord) Error() string {
	return fmt.Sprintf("%s offset %d (key %q): %v", u.topic, u.offset, u.key, u.cause)
}

// unreadable reads the followed topics and returns the unreadable records that no newer record of their key replaced.
func unreadable(ctx context.Context, client *kafka.Client) (list []unreadableRecord, err error) {
	for _, topic := range followedTopics {
		first, end, err := client.Offsets(ctx, topic, 0)
		if err != nil {
			return nil, err
		}
		newest := make(map[string]unreadableRecord)
		readable := make(map[string]stream.Record)
		var order []string
		err = client.Read(ctx, topic, 0, first, end, func(r stream.Record) error {
			key := string(r.Key)
			delete(newest, key)
			if r.Value == nil {
				delete(readable, key)
				return nil
			}
			if _, cause := operate.ReadFollowed(r); cause != nil {
				newest[key] = unreadableRecord{topic: topic, key: key, offset: r.Offset, cause: cause}
				order = append(order, key)
				return nil
			}
			readable[key] = r
			return nil
		})
		if err != nil {
			return nil, err
		}
		for _, key := range order {
			if u, ok := newest[key]; ok {
				delete(newest, key)
				if r, ok := readable[key]; ok {
					u.readable = &r
				}
				list = append(list, u)
			}
		}
	}
	return list, nil
}

// repairUnreadable writes the newest readable record of each key again, or removes the key if there is none.
func repairUnreadable(ctx context.Context, client *kafka.Client, list []unreadableRecord) error {
	outs := make([]stream.Out, len(list))
	for i, u := range list {
		outs[i] = stream.Out{Topic: u.topic, Partition: -1, Key: []byte(u.key), Headers: map[string]string{schemas.HeaderVersion: strconv.Itoa(schemas.Version)}}
		if u.readable != nil {
			outs[i].Value, outs[i].Headers = u.readable.Value, u.readable.Headers
		}
	}
	_, err := client.Produce(ctx, outs)
	return err
}

// checkRecords reports records of followed topics that cannot be read, and replaces or removes them if repair is set.
func checkRecords(ctx context.Context, cfg *pipeline.Config, log *slog.Logger, repair bool) (detail string, err error) {
	client, err := kafka.Dial(cfg.Kafka, cfg.Topics, log, nil)
	if err != nil {
		return "", err
	}
	defer client.Close()
	list, err := unreadable(ctx, client)
	if err != nil {
		return "", err
	}
	switch {
	case len(list) == 0:
		return "every record of the compacted topics can be read", nil
	case repair:
		if err := repairUnreadable(ctx, client, list); err != nil {
			return "", err
		}
		return fmt.Sprintf("%d records that could not be read were replaced or removed", len(list)), nil
	}
	for _, u := range list {
		err = errors.Join(err, u)
	}
	return "", fmt.Errorf("skipped by every stage: %w", err)
}
