package cli

import (
	"context"

	"forager/internal/operate"
	"forager/internal/platform/analytics"
	"forager/internal/platform/objects"
	"forager/internal/platform/pipeline"
	"forager/schemas"
)

// Topics are what commands know of the crawls.
type Topics = operate.Topics

// OpenTopics connects to the broker and reads the compacted topics to their end, within the time that a session waits for a broker.
func OpenTopics(ctx context.Context, s *Session, cfg *pipeline.Config) (*Topics, error) {
	return operate.Open(ctx, cfg, s.Log, s.Patience())
}

// OpenTopics reads the pipeline file and opens the books of its broker, which are closed after the command.
func (s *Session) OpenTopics() (*pipeline.Config, *Topics, error) {
	cfg, err := s.Pipeline()
	if err != nil {
		return nil, nil, err
	}
	b, err := OpenTopics(s, s, cfg)
	if err == nil {
		s.Ends = append(s.Ends, b.Close)
	}
	return cfg, b, err
}

// OpenCrawl opens the books and finds the control record of a crawl in them.
func (s *Session) OpenCrawl(name string) (*pipeline.Config, *Topics, *schemas.CrawlControl, error) {
	cfg, b, err := s.OpenTopics()
	if err != nil {
		return nil, nil, nil, err
	}
	ctl, err := b.Control(name)
	return cfg, b, ctl, err
}

// OpenStore opens the books and the object store.
func (s *Session) OpenStore() (*Topics, *objects.Store, error) {
	cfg, b, err := s.OpenTopics()
	if err != nil {
		return nil, nil, err
	}
	store, err := objects.Open(cfg.S3)
	return b, store, err
}

// OpenAnalytics connects to ClickHouse until the command has ended.
func (s *Session) OpenAnalytics(cfg *pipeline.Config) (*analytics.DB, error) {
	db, err := analytics.Open(cfg.ClickHouse)
	if err == nil {
		s.Ends = append(s.Ends, func() { _ = db.Close() })
	}
	return db, err
}
