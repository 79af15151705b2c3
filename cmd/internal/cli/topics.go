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

// OpenTables opens the books and ClickHouse.
func (s *Session) OpenTables() (*pipeline.Config, *Topics, *analytics.DB, error) {
	cfg, b, err := s.OpenTopics()
	if err != nil {
		return nil, nil, nil, err
	}
	db, err := s.OpenAnalytics(cfg)
	return cfg, b, db, err
}

// Parts are all that have records of crawls.
type Parts struct {
	Config *pipeline.Config
	Topics *Topics
	DB     *analytics.DB
	Store  *objects.Store
}

// OpenParts opens the books, ClickHouse and the object store.
func (s *Session) OpenParts() (p Parts, err error) {
	if p.Config, p.Topics, p.DB, err = s.OpenTables(); err == nil {
		p.Store, err = objects.Open(p.Config.S3)
	}
	return p, err
}

// OpenCrawl is OpenParts, and finds the control record of a crawl.
func (s *Session) OpenCrawl(name string) (p Parts, ctl *schemas.CrawlControl, err error) {
	if p, err = s.OpenParts(); err == nil {
		ctl, err = p.Topics.Control(name)
	}
	return p, ctl, err
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
