package deploy

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"time"

	"forager/cmd/internal/cli"
	"forager/internal/monitor/notify"
	"forager/internal/platform/analytics"
	"forager/internal/platform/disk"
	"forager/internal/platform/objects"
	"forager/internal/platform/pipeline"
	"forager/internal/stream/kafka"
	"forager/internal/stream/snapshot"
	"forager/schemas"
)

// DoctorCommand is the command "forager doctor".
type DoctorCommand struct {
	Timeout time.Duration `help:"How long to wait for each part." default:"5s"`
	Repair  bool          `help:"Replace or remove records of compacted topics that cannot be read."`
	Tables  bool          `help:"Read all of ClickHouse's tables, to find damaged parts; this takes long."`
}

// Finding is one line of the doctor's report.
type Finding struct {
	What string `json:"what"`
	OK   bool   `json:"ok"`
	// Detail is what was observed; Fix is the remedy if OK is false.
	Detail string `json:"detail"`
	Fix    string `json:"fix,omitempty"`
}

func (c *DoctorCommand) Run(s *cli.Session) error {
	findings := c.examine(s)
	bad := 0
	for _, f := range findings {
		if !f.OK {
			bad++
		}
	}
	err := s.Print(findings, func(w io.Writer) {
		for _, f := range findings {
			mark := "ok  "
			if !f.OK {
				mark = "BAD "
			}
			fmt.Fprintf(w, "%s %-12s %s\n", mark, f.What, f.Detail)
			if f.Fix != "" {
				fmt.Fprintf(w, "     %-12s → %s\n", "", f.Fix)
			}
		}
	})
	if err == nil && bad > 0 {
		err = fmt.Errorf("%d of %d checks failed", bad, len(findings))
	}
	return err
}

func (c *DoctorCommand) examine(s *cli.Session) []Finding {
	cfg, err := s.Pipeline()
	if err != nil {
		return []Finding{{What: "config", Detail: err.Error(), Fix: "correct " + s.Config}}
	}
	findings := []Finding{{What: "config", OK: true, Detail: s.Config}}
	add := func(what, detail, fix string, err error) {
		f := Finding{What: what, OK: err == nil, Detail: detail}
		if err != nil {
			f.Detail, f.Fix = err.Error(), fix
		}
		findings = append(findings, f)
	}
	if p, err := OpenProcesses(cfg.Data); err != nil || len(p.List) > 0 { // otherwise up started none here
		detail := ""
		if err == nil {
			detail, err = checkRestarts(cfg.Data, p)
		}
		add("processes", detail, "the cause is in their logs; forager up starts them again, and nothing is lost", err)
	}
	detail, err := checkDisk(cfg)
	add("disk", detail, "free space there, or lower disk.pause_below; crawls go on by themselves", err)
	within := func(check func(ctx context.Context)) {
		ctx, cancel := context.WithTimeout(s, c.Timeout)
		defer cancel()
		check(ctx)
	}
	within(func(ctx context.Context) { checkNetwork(ctx, cfg, add) })
	var states []kafka.TopicState
	within(func(ctx context.Context) { states, err = checkTopics(ctx, cfg, s.Log) })
	add("kafka", fmt.Sprint(cfg.Kafka.Brokers), "start the broker (forager up --parts), or correct kafka.brokers", err)
	if err == nil {
		var wrong error
		for _, t := range states {
			if !t.OK() {
				wrong = errors.Join(wrong, errors.New(t.String()))
			}
		}
		add("topics", fmt.Sprintf("%d topics as in %s", len(cfg.Topics), s.Config), "forager setup creates what is missing; other differences are yours to decide", wrong)
		if !slices.ContainsFunc(states, func(t kafka.TopicState) bool { return t.Missing }) {
			within(func(ctx context.Context) { checkCrawls(ctx, s, cfg, add) })
			within(func(ctx context.Context) { detail, err = checkRecords(ctx, cfg, s.Log, c.Repair) })
			add("records", detail, "forager doctor --repair writes the newest readable record of each key again, or removes the key; then change or start the crawl again if it is not as it was", err)
		}
		if wrong == nil {
			within(func(ctx context.Context) { detail, err = checkStages(ctx, cfg, s.Log) })
			add("stages", detail, "forager up starts stages that have ended; add replicas of one that falls back", err)
			within(func(ctx context.Context) { err = checkParked(ctx, cfg, s.Log) })
			add("parked", "no crawl lacks a critic, a guide or a control record", "put the object back (forager critic or guide publishes it again); the crawl then goes on by itself", err)
		}
	}
	within(func(ctx context.Context) { err = checkBucket(ctx, cfg) })
	add("s3", cfg.S3.Endpoint+" bucket "+cfg.S3.Bucket, "start the store (forager up --parts), run forager setup, or correct s3.*", err)
	if err == nil && cfg.Snapshots.Every > 0 {
		within(func(ctx context.Context) { detail, err = checkSnapshots(ctx, cfg) })
		add("snapshots", detail, "let the bucket be listed below snapshots/", err)
	}
	within(func(ctx context.Context) {
		err := WithTables(cfg, func(db *analytics.DB) error { return db.Check(ctx) })
		add("clickhouse", cfg.ClickHouse.URL+" database "+cfg.ClickHouse.Database,
			"start the server (forager up --parts), run forager setup, or correct clickhouse.*", err)
		if err == nil {
			findings = append(findings, checkParts(ctx, cfg)...)
		}
	})
	if c.Tables {
		findings = append(findings, checkEveryPart(s, cfg))
	}
	for i, w := range cfg.Stages.Monitor.Webhooks {
		within(func(ctx context.Context) { err = notify.Probe(ctx, i+1, &w) })
		add("webhook", fmt.Sprintf("number %d at %s responds", i+1, w.Host()), "correct stages.monitor.webhooks, or let the receiver respond; events are sent again for a day", err)
	}
	return findings
}

// checkDisk checks the free space of the data folder as prioritize does.
func checkDisk(cfg *pipeline.Config) (detail string, err error) {
	folders := func() []string { return disk.Folders(cfg.Data) }
	var failure error
	space := disk.NewWatch(folders, uint64(cfg.Disk.PauseBelow), disk.Free, func(_ disk.State, err error) { failure = err }).Check(time.Now())
	switch {
	case failure != nil:
		return "", failure
	case space.Low:
		return "", fmt.Errorf("crawls are paused: %s has %s free, disk.pause_below is %s", space.Dir, disk.Bytes(space.Free), disk.Bytes(space.Need))
	case space.Dir == "":
		return "no limit: disk.pause_below is 0", nil
	}
	return fmt.Sprintf("%s has %s free, crawls pause below %s", space.Dir, disk.Bytes(space.Free), disk.Bytes(space.Need)), nil
}

func checkTopics(ctx context.Context, cfg *pipeline.Config, log *slog.Logger) ([]kafka.TopicState, error) {
	c, err := kafka.Dial(cfg.Kafka, cfg.Topics, log, nil)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	return c.Check(ctx)
}

func checkBucket(ctx context.Context, cfg *pipeline.Config) error {
	store, err := objects.Open(cfg.S3)
	if err != nil {
		return err
	}
	ok, err := store.HasBucket(ctx)
	if err == nil && !ok {
		err = fmt.Errorf("%s has no bucket %q", cfg.S3.Endpoint, cfg.S3.Bucket)
	}
	return err
}

// checkSnapshots returns the age of the newest snapshot of each stage that keeps state.
func checkSnapshots(ctx context.Context, cfg *pipeline.Config) (detail string, err error) {
	store, err := objects.Open(cfg.S3)
	if err != nil {
		return "", err
	}
	var list []string
	for stage, input := range map[string]string{"prioritize": schemas.TopicLinkFound, "apprentice-train": schemas.TopicLeapSettled, "distill": schemas.TopicLinkFound} {
		var newest time.Time
		for partition := range cfg.Topics[input].Partitions {
			at, err := snapshot.Newest(ctx, store, snapshot.Of{Stage: stage, Topic: input, Partition: partition})
			if err != nil {
				return "", err
			}
			if at.After(newest) {
				newest = at
			}
		}
		if newest.IsZero() {
			list = append(list, stage+" none yet")
			continue
		}
		list = append(list, fmt.Sprintf("%s %s", stage, newest.UTC().Format(time.RFC3339)))
	}
	slices.Sort(list)
	return strings.Join(list, ", "), nil
}

// reload is the remedy for missing rows.
const reload = "the topics hold the rows: forager down, forager up --parts, forager reload, forager up; forager verify CRAWL lists what is still missing"

// checkParts reports parts of tables that the server found broken, at its start or after the disk was full, and detached.
func checkParts(ctx context.Context, cfg *pipeline.Config) (findings []Finding) {
	var parts []analytics.BrokenPart
	err := WithTables(cfg, func(db *analytics.DB) (err error) {
		parts, err = db.SetAside(ctx)
		return err
	})
	if err != nil {
		return []Finding{{What: "tables", Detail: err.Error(), Fix: "see the log of ClickHouse"}}
	}
	for _, p := range parts {
		f := Finding{What: "tables", OK: p.Replaced, Detail: fmt.Sprintf("part %s of %s was broken and is set aside; ", p.Part, p.Table)}
		if p.Replaced {
			f.Detail += "what it was merged from took its place (forager verify CRAWL would name rows that are missing)"
		} else {
			f.Detail, f.Fix = f.Detail+"its rows are missing", reload
		}
		f.Detail += fmt.Sprintf("; to remove this message: forager query \"%s\" --write", p.Drop())
		findings = append(findings, f)
	}
	return findings
}

// checkEveryPart reads all tables.
func checkEveryPart(ctx context.Context, cfg *pipeline.Config) Finding {
	var broken error
	err := WithTables(cfg, func(db *analytics.DB) error {
		parts, err := db.CheckParts(ctx)
		for _, p := range parts {
			broken = errors.Join(broken, fmt.Errorf("part %s of %s is broken: %s", p.Part, p.Table, p.Problem))
		}
		return err
	})
	switch {
	case err != nil:
		return Finding{What: "tables", Detail: err.Error(), Fix: "see the log of ClickHouse"}
	case broken != nil:
		return Finding{What: "tables", Detail: broken.Error(), Fix: "restart ClickHouse (forager down, forager up), which sets it aside; then call forager doctor again"}
	}
	return Finding{What: "tables", OK: true, Detail: "every part that is in use can be read"}
}

// WithTables calls f with a connection to ClickHouse.
func WithTables(cfg *pipeline.Config, f func(*analytics.DB) error) error {
	db, err := analytics.Open(cfg.ClickHouse)
	if err != nil {
		return err
	}
	defer db.Close()
	return f(db)
}
