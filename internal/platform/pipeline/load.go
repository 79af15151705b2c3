package pipeline

import (
	"fmt"
	"os"
	"path/filepath"
	"time"

	"forager/internal/platform/strictyaml"
)

// Load reads the pipeline file at path. Data is made absolute, relative to the file's folder.
// Problems of the content are returned together, as *strictyaml.Error.
func Load(path string) (*Config, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read the pipeline file: %w", err)
	}
	c, problems := parse(b)
	if len(problems) > 0 {
		return nil, &strictyaml.Error{File: path, Problems: problems}
	}
	if !filepath.IsAbs(c.Data) {
		dir, err := filepath.Abs(filepath.Dir(path))
		if err != nil {
			return nil, fmt.Errorf("folder of %s: %w", path, err)
		}
		c.Data = filepath.Join(dir, c.Data)
	}
	c.findSecrets()
	return c, nil
}

func parse(b []byte) (*Config, []strictyaml.Problem) {
	c := defaults()
	r := strictyaml.Decode(b, c)
	checks{r}.all(c)
	return c, r.Problems()
}

// defaults returns the settings that a pipeline file need not have.
func defaults() *Config {
	one := func(mib int64) Common {
		return Common{Process: Process{MemoryBytes: mib << 20}, Replicas: 1}
	}
	// The memory in use by these is small compared with their limit, and they make much garbage.
	light := func(mib int64) Common {
		c := one(mib)
		c.GCPercent = 200
		return c
	}
	return &Config{
		Data:       "build/data",
		Kafka:      Kafka{Group: "forager", Replication: 1, SessionTimeout: 10 * time.Second},
		S3:         S3{Region: "us-east-1", Bucket: "forager"},
		ClickHouse: ClickHouse{Database: "forager", User: "default"},
		Local:      Local{Process: Process{MemoryBytes: 512 << 20}},
		Disk:       Disk{PauseBelow: 1 << 30},
		Stages: Stages{
			Fetch: Fetch{
				Common: light(512), Concurrency: 64, Hold: 30 * time.Second,
				HeaderTimeout: 20 * time.Second, BodyTimeout: time.Minute, MaxBody: 4 << 20,
				SegmentBytes: 64 << 20, SegmentAge: 250 * time.Millisecond, Linger: 20 * time.Millisecond, RobotsTTL: 24 * time.Hour,
			},
			ParseDOM:        ParseDOM{Common: light(256), Workers: 2, CacheBytes: 16 << 20},
			CriticScore:     CriticScore{Common: light(256), Workers: 2},
			FeatureExtract:  FeatureExtract{Common: light(256), Workers: 2},
			Prioritize:      Prioritize{Common: one(768), CacheBytes: 64 << 20, FrontierBytes: 160 << 20, RetryDelay: 30 * time.Second, RescoreBatch: 2048},
			ApprenticeTrain: ApprenticeTrain{Common: one(256), CacheBytes: 32 << 20},
			Distill:         Distill{Common: one(768), CacheBytes: 16 << 20},
			LoadClickHouse:  LoadClickHouse{Common: light(512), BatchRows: 50_000, Flush: 4 * time.Second},
			ArchiveParquet:  ArchiveParquet{Common: one(256), FileBytes: 32 << 20, FileAge: time.Minute},
		},
	}
}
