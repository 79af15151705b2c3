package lab

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"forager/cmd/forager-lab/experiment"
	"forager/cmd/internal/cli"
)

func TestExperimentSimweb(t *testing.T) {
	command := func(args string) (stdout, stderr string, code int) {
		var out, err bytes.Buffer
		code = Run(t.Context(), append([]string{"--json", "experiment-simweb"}, strings.Fields(args)...), &out, &err)
		return out.String(), err.String(), code
	}
	args := "--seeds 501,502 --pages 4000 --budget 60 --cues peaked,absent --rankers unfocused,soft-focus,apprentice,taught"
	first, said, code := command(args)
	if code != cli.ExitOK {
		t.Fatalf("exit %d: %s", code, said)
	}
	var rows []experiment.SimRow
	if err := json.Unmarshal([]byte(first), &rows); err != nil || len(rows) != 12 || rows[11].Cues != "absent" || rows[11].Ranker != experiment.Taught {
		t.Fatalf("%v: %s", err, first)
	}
	for _, r := range rows {
		if r.Ranker == experiment.Taught && r.Access != "foreign" || r.Ranker == "apprentice" && r.Access != "seeds" {
			t.Errorf("%s is in the table of access %s", r.Ranker, r.Access)
		}
		if e := r.Measures["truth@100"]; e.N != 2 || e.Mean <= 0 || e.Mean >= 1 {
			t.Errorf("%s, %s: truth@100 is %+v", r.Cues, r.Ranker, e)
		}
		if e := r.Measures["loss-cut@100"]; r.Ranker == "soft-focus" && (e.Mean != 0 || e.N != 2) {
			t.Errorf("soft focus cuts its own loss by %+v", e)
		}
	}
	if again, _, _ := command(args); again != first {
		t.Error("the same command prints other numbers")
	}
	overlap, said, code := command("--seeds 501 --pages 4000 --budget 400 --cues peaked --rankers soft-focus --overlap --host-window 2 --pause 1s")
	if err := json.Unmarshal([]byte(overlap), &rows); err != nil || code != cli.ExitOK || len(rows) != 1 {
		t.Fatalf("exit %d: %s %v", code, said, err)
	}
	if rate := rows[0].Measures["pages/s"].Mean; rate < 1 || rate > 100 {
		t.Errorf("hosts with pauses of a second gave %v pages a second", rate)
	}
	for args, says := range map[string]string{
		"--seeds 501,301": "seed 301: simweb was made", "--teacher 1": "made with seeds below 401", "--critic 101": "made with", "--rankers none": "no ranker \"none\"", "--topic none": "no topic \"none\"; there are: Tundkimhol", "--cues loud": "loud", "--pages 7": "7 pages",
	} {
		if _, said, code := command(args); code != cli.ExitUsage || !strings.Contains(said, says) {
			t.Errorf("%s: exit %d, %s", args, code, said)
		}
	}
	if _, said, code := command("--rankers oracle --pages 2000 --seeds 501 --cues absent --budget 10"); code != cli.ExitFailure || !strings.Contains(said, "not for webs that are computed") {
		t.Errorf("oracle: exit %d, %s", code, said)
	}
}
