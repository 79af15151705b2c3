package deploytest

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
	"github.com/prometheus/prometheus/tsdb/chunks"
	"github.com/prometheus/prometheus/util/annotations"
	"go.yaml.in/yaml/v3"
)

var promQL = parser.NewParser(parser.Options{})

// metrics returns the names of ../dashboards/metrics.txt, the metrics that the processes of a crawl export:
// TestACrawlThroughEveryStage of cmd/forager compares the file with what they serve.
func metrics(t testing.TB) map[string]bool {
	t.Helper()
	names := map[string]bool{"up": true} // of Prometheus itself
	for _, line := range strings.Split(strings.TrimSpace(read(t, "../dashboards/metrics.txt")), "\n") {
		name, kind, _ := strings.Cut(line, " ")
		if kind == "histogram" {
			for _, suffix := range []string{"_bucket", "_count", "_sum"} {
				names[name+suffix] = true
			}
			continue
		}
		names[name] = true
	}
	if len(names) < 50 {
		t.Fatalf("%d metrics", len(names))
	}
	return names
}

// checkQuery parses a query, and looks up the metrics that it names.
func checkQuery(t testing.TB, what, query string) {
	t.Helper()
	expr, err := promQL.ParseExpr(query)
	if err != nil {
		t.Errorf("%s: %v", what, err)
		return
	}
	known, named := metrics(t), 0
	parser.Inspect(expr, func(n parser.Node, _ []parser.Node) error {
		if s, ok := n.(*parser.VectorSelector); ok {
			named++
			if !known[s.Name] {
				t.Errorf("%s: no process exports %q", what, s.Name)
			}
		}
		return nil
	})
	if named == 0 {
		t.Errorf("%s names no metric", what)
	}
}

// TestDashboard checks the queries of the dashboard.
func TestDashboard(t *testing.T) {
	var board struct {
		UID    string `json:"uid"`
		Panels []struct {
			ID      int               `json:"id"`
			Type    string            `json:"type"`
			Title   string            `json:"title"`
			GridPos map[string]int    `json:"gridPos"`
			Source  map[string]string `json:"datasource"`
			Targets []struct {
				Expr string `json:"expr"`
			} `json:"targets"`
		} `json:"panels"`
	}
	if err := json.Unmarshal([]byte(read(t, "../dashboards/forager.json")), &board); err != nil {
		t.Fatal(err)
	}
	variables := strings.NewReplacer("$__rate_interval", "5m")
	queries, ids := 0, make(map[int]bool)
	for _, p := range board.Panels {
		if ids[p.ID] || p.Title == "" || p.GridPos["w"] == 0 {
			t.Errorf("panel %d %q", p.ID, p.Title)
		}
		ids[p.ID] = true
		if p.Type == "row" {
			continue
		}
		if p.Source["uid"] != "prometheus" || len(p.Targets) == 0 {
			t.Errorf("panel %q: source %v, %d queries", p.Title, p.Source, len(p.Targets))
		}
		for _, x := range p.Targets {
			queries++
			checkQuery(t, "panel "+p.Title, variables.Replace(x.Expr))
		}
	}
	if board.UID == "" || queries < 20 {
		t.Errorf("uid %q, %d queries", board.UID, queries)
	}
}

// ruleTests is the part of promtool's format of tests that alerts_test.yaml uses.
type ruleTests struct {
	RuleFiles []string `yaml:"rule_files"`
	Tests     []struct {
		Interval    string
		InputSeries []struct{ Series, Values string } `yaml:"input_series"`
		Alerts      []struct {
			EvalTime  string              `yaml:"eval_time"`
			Alertname string              `yaml:"alertname"`
			Expected  []map[string]object `yaml:"exp_alerts"`
		} `yaml:"alert_rule_test"`
	}
	EvaluationInterval string `yaml:"evaluation_interval"`
}

// TestAlerts runs alerts_test.yaml as promtool does. Each alert has a case in which it fires and one in which it does not.
func TestAlerts(t *testing.T) {
	groups, errs := rulefmt.ParseFile("../dashboards/alerts.yaml", false, model.UTF8Validation, promQL, slog.New(slog.DiscardHandler))
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	all := make(map[string]rulefmt.Rule)
	for _, g := range groups.Groups {
		for _, r := range g.Rules {
			all[r.Alert] = r
			checkQuery(t, "alert "+r.Alert, r.Expr)
			if r.Labels["severity"] == "" || r.Annotations["summary"] == "" || r.Annotations["action"] == "" {
				t.Errorf("%s has no severity, summary or action", r.Alert)
			}
		}
	}
	var file ruleTests
	if err := yaml.Unmarshal([]byte(read(t, "../dashboards/alerts_test.yaml")), &file); err != nil {
		t.Fatal(err)
	}
	fires, silent := make(map[string]bool), make(map[string]bool)
	for i, c := range file.Tests {
		interval, err := time.ParseDuration(c.Interval)
		if err != nil {
			t.Fatal(err)
		}
		data := new(series)
		for _, x := range c.InputSeries {
			data.add(t, x.Series, x.Values, interval)
		}
		for _, a := range c.Alerts {
			r, ok := all[a.Alertname]
			if !ok {
				t.Errorf("test %d: no alert %q", i, a.Alertname)
				continue
			}
			wait, err := time.ParseDuration(a.EvalTime)
			if err != nil {
				t.Fatal(err)
			}
			got := firing(t, r, data, wait)
			if len(got) != len(a.Expected) {
				t.Errorf("test %d, %s: %d alerts fire, want %d: %v", i, a.Alertname, len(got), len(a.Expected), got)
				continue
			}
			for k, want := range a.Expected {
				for name, v := range want["exp_labels"] {
					if got[k].Get(name) != fmt.Sprint(v) {
						t.Errorf("test %d, %s: labels %s, want %s=%v", i, a.Alertname, got[k], name, v)
					}
				}
			}
			fires[a.Alertname] = fires[a.Alertname] || len(a.Expected) > 0
			silent[a.Alertname] = silent[a.Alertname] || len(a.Expected) == 0
		}
	}
	for name := range all {
		if !fires[name] || !silent[name] {
			t.Errorf("%s: a case in which it fires: %t; in which it does not: %t", name, fires[name], silent[name])
		}
	}
}

// firing evaluates a rule each 15 seconds, and returns the labels of the alerts that fire in the end: those of which the
// expression had a value at each evaluation for the time that the rule has as for.
func firing(t testing.TB, r rulefmt.Rule, data *series, until time.Duration) (all []labels.Labels) {
	t.Helper()
	engine := promql.NewEngine(promql.EngineOpts{MaxSamples: 1e6, Timeout: time.Minute, Parser: promQL})
	defer engine.Close()
	const step = 15 * time.Second
	since := make(map[string]time.Duration)
	for at := time.Duration(0); at <= until; at += step {
		query, err := engine.NewInstantQuery(t.Context(), data, nil, r.Expr, time.Unix(0, 0).Add(at))
		if err != nil {
			t.Fatal(err)
		}
		result := query.Exec(t.Context())
		vector, err := result.Vector()
		if err != nil {
			t.Fatalf("%s: %v", r.Alert, err)
		}
		active := make(map[string]time.Duration)
		all = nil
		for _, sample := range vector {
			key := sample.Metric.String()
			begun, ok := since[key]
			if !ok {
				begun = at
			}
			active[key] = begun
			if at-begun >= time.Duration(r.For) {
				b := labels.NewBuilder(sample.Metric).Del(labels.MetricName)
				for name, value := range r.Labels {
					b.Set(name, value)
				}
				all = append(all, b.Labels())
			}
		}
		since = active
		query.Close()
	}
	for _, text := range r.Annotations {
		for _, m := range regexp.MustCompile(`\$labels\.(\w+)`).FindAllStringSubmatch(text, -1) {
			for _, l := range all {
				if !l.Has(m[1]) {
					t.Errorf("%s: %q names a label that %s lacks", r.Alert, text, l)
				}
			}
		}
	}
	return all
}

// series are time series in memory, as a storage.Queryable.
type series struct {
	storage.LabelQuerier
	all []storage.Series
}

// add adds a series in promtool's notation: values at an interval from 0 on.
func (s *series) add(t testing.TB, name, values string, interval time.Duration) {
	t.Helper()
	metric, sequence, err := promQL.ParseSeriesDesc(name + " " + values)
	if err != nil {
		t.Fatal(err)
	}
	var samples []chunks.Sample
	for i, v := range sequence {
		if !v.Omitted {
			samples = append(samples, sample{int64(i) * interval.Milliseconds(), v.Value})
		}
	}
	s.all = append(s.all, storage.NewListSeries(metric, samples))
}

func (s *series) Querier(_, _ int64) (storage.Querier, error) { return s, nil }
func (*series) Close() error                                  { return nil }

func (s *series) Select(_ context.Context, _ bool, _ *storage.SelectHints, matchers ...*labels.Matcher) storage.SeriesSet {
	var selected []storage.Series
	for _, x := range s.all {
		if !slices.ContainsFunc(matchers, func(m *labels.Matcher) bool { return !m.Matches(x.Labels().Get(m.Name)) }) {
			selected = append(selected, x)
		}
	}
	return &seriesSet{selected: selected}
}

type seriesSet struct {
	selected []storage.Series
	next     int
}

func (s *seriesSet) Next() bool                      { s.next++; return s.next <= len(s.selected) }
func (s *seriesSet) At() storage.Series              { return s.selected[s.next-1] }
func (*seriesSet) Err() error                        { return nil }
func (*seriesSet) Warnings() annotations.Annotations { return nil }

// sample is a value of a series: milliseconds and the value.
type sample struct {
	t int64
	f float64
}

func (s sample) T() int64                    { return s.t }
func (sample) ST() int64                     { return 0 }
func (s sample) F() float64                  { return s.f }
func (sample) H() *histogram.Histogram       { return nil }
func (sample) FH() *histogram.FloatHistogram { return nil }
func (sample) Type() chunkenc.ValueType      { return chunkenc.ValFloat }
func (s sample) Copy() chunks.Sample         { return s }
