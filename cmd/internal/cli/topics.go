package cli

import (
	"context"

	"forager/internal/operate"
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

// OpenTopics reads the pipeline file and opens the books of its broker.
func (s *Session) OpenTopics() (*pipeline.Config, *Topics, error) {
	cfg, err := s.Pipeline()
	if err != nil {
		return nil, nil, err
	}
	b, err := OpenTopics(s, s, cfg)
	return cfg, b, err
}

// OpenCrawl opens the books and finds the control record of a crawl in them.
func (s *Session) OpenCrawl(name string) (*pipeline.Config, *Topics, *schemas.CrawlControl, error) {
	cfg, b, err := s.OpenTopics()
	if err != nil {
		return nil, nil, nil, err
	}
	ctl, err := b.Control(name)
	if err != nil {
		b.Close()
		return nil, nil, nil, err
	}
	return cfg, b, ctl, nil
}

// OpenStore opens the books and the object store.
func (s *Session) OpenStore() (*Topics, *objects.Store, error) {
	cfg, b, err := s.OpenTopics()
	if err != nil {
		return nil, nil, err
	}
	store, err := objects.Open(cfg.S3)
	if err != nil {
		b.Close()
		return nil, nil, err
	}
	return b, store, nil
}
