package lab

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"forager/cmd/forager-lab/experiment"
	"forager/cmd/internal/cli"
	"forager/internal/lab/tables"
)

func TestExperimentSimweb(t *testing.T) {
	command := func(args string) (stdout, stderr string, code int) {
		var out, err bytes.Buffer
		code = Run(t.Context(), append([]string{"--json", "experiment-simweb"}, strings.Fields(args)...), &out, &err)
		return out.String(), err.String(), code
	}
	args := "--seeds 501,502 --pages 4000 --budget 60 --cues peaked,absent --rankers unfocused,soft-focus,apprentice,taught"
	first, printed, code := command(args)
	if code != cli.ExitOK {
		t.Fatalf("exit %d: %s", code, printed)
	}
	var groups []tables.Group
	if err := json.Unmarshal([]byte(first), &groups); err != nil || len(groups) != 4 {
		t.Fatalf("%v: %s", err, first)
	}
	for i, want := range []string{"simweb-absent seeds", "simweb-absent foreign", "simweb-peaked seeds", "simweb-peaked foreign"} {
		g := groups[i]
		if g.Name+" "+string(g.Access) != want || len(g.Rankers) != 3 || g.Draws != 2 || !g.Diagnostic {
			t.Errorf("want %s: %+v", want, g)
		}
		if own := g.Rankers[2].Ranker; (own == experiment.Taught) != (g.Access == "foreign") {
			t.Errorf("%s is in the table of access %s", own, g.Access)
		}
		for _, r := range g.Rankers {
			if e := r.Measures["label@100"]; e.N != 2 || e.Mean <= 0 || e.Mean >= 1 {
				t.Errorf("%s, %s: label@100 is %+v", g.Name, r.Ranker, e)
			}
			if e := r.Measures["loss-cut@100"]; r.Ranker == "soft-focus" && (e.Mean != 0 || e.N != 2) {
				t.Errorf("soft focus cuts its own loss by %+v", e)
			}
			if _, timed := r.Measures["pages/s"]; timed {
				t.Errorf("%s has a rate without a network", r.Ranker)
			}
		}
	}
	if again, _, _ := command(args); again != first {
		t.Error("the same command prints other numbers")
	}
	overlap, printed, code := command("--seeds 501 --pages 4000 --budget 400 --cues peaked --rankers soft-focus --overlap --host-window 2 --pause 1s")
	if err := json.Unmarshal([]byte(overlap), &groups); err != nil || code != cli.ExitOK || len(groups) != 1 {
		t.Fatalf("exit %d: %s %v", code, printed, err)
	}
	if rate := groups[0].Rankers[0].Measures["pages/s"].Mean; rate < 1 || rate > 100 {
		t.Errorf("hosts with pauses of a second gave %v pages a second", rate)
	}
	for args, expected := range map[string]string{
		"--seeds 501,301": "seed 301: simweb was made", "--teacher 1": "made with seeds below 401", "--critic 101": "made with", "--rankers none": "no ranker \"none\"", "--topic none": "no topic \"none\"; there are: Tundkimhol", "--cues loud": "loud", "--pages 7": "7 pages",
	} {
		if _, printed, code := command(args); code != cli.ExitUsage || !strings.Contains(printed, expected) {
			t.Errorf("%s: exit %d, %s", args, code, printed)
		}
	}
	if _, printed, code := command("--rankers oracle --pages 2000 --seeds 501 --cues absent --budget 10"); code != cli.ExitFailure || !strings.Contains(printed, "not for webs that are computed") {
		t.Errorf("oracle: exit %d, %s", code, printed)
	}
}
