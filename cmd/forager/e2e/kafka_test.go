//go:build kafka

package e2e

import (
	"os"
	"testing"
	"time"

	"forager/cmd/internal/cli"
	"forager/schemas"
)

// TestKafkaTwoReplicas is TestEnduranceTwoReplicas on the Apache Kafka that FORAGER_KAFKA names, which must
// serve no other test at the same time.
func TestKafkaTwoReplicas(t *testing.T) {
	if os.Getenv("FORAGER_KAFKA") == "" {
		t.Fatal("FORAGER_KAFKA names no broker; make test-kafka starts one")
	}
	twoReplicas(t, 140)
}

// TestKafkaCarriesACrawl runs a whole crawl over the Apache Kafka that FORAGER_KAFKA names, with two stages
// killed in the middle. The broker must serve this crawl only: topics and groups have the names of the pipeline
// file.
func TestKafkaCarriesACrawl(t *testing.T) {
	broker := os.Getenv("FORAGER_KAFKA")
	if broker == "" {
		t.Fatal("FORAGER_KAFKA names no broker; make test-kafka starts one")
	}
	g, _ := simulated(t)
	const budget = 300
	web := &gated{handler: g.Handler, permits: make(chan struct{}, budget)}
	r := newRig(t, web)
	if r.cfg.Kafka.Brokers[0] != broker {
		t.Fatalf("the pipeline file names %v, not %s", r.cfg.Kafka.Brokers, broker)
	}
	r.parts()
	r.start(cli.StageNames)
	r.begin(r.crawl(g, "kafka", "apprentice", budget, nil))
	for _, kill := range []struct {
		stage   string
		pages   uint64
		permits int
	}{{"prioritize", 60, 200}, {"fetch", 150, 80}} {
		web.permit(kill.permits)
		st := r.until("kafka", "under way", 2*time.Minute, func(st *schemas.CrawlStatus) bool { return st.GetPages() >= kill.pages })
		if finished(st) {
			t.Fatalf("the crawl had ended before %s was killed", kill.stage)
		}
		stage := kill.stage
		r.kill(stage + "-0")
		r.start([]string{stage})
	}
	close(web.permits)
	st := r.until("kafka", "finished", 3*time.Minute, finished)
	if st.GetPages() != budget || st.GetEndReason() != "pages budget spent" {
		t.Errorf("%d pages, ended with %q", st.GetPages(), st.GetEndReason())
	}
	if st.GetModel() == "" || st.GetTrained() == 0 {
		t.Errorf("the apprentice learnt nothing: model %q, %d leaps trained", st.GetModel(), st.GetTrained())
	}
	r.verified("kafka")
}
