package main

import (
	"fmt"
	"strings"

	"forager/internal/classify/critic"
)

// judgedBy describes the critic that a crawl's harvest and loss are computed with, and how it was validated;
// empty for a crawl that only fetches.
func (b *books) judgedBy(crawl string) string {
	ctl, err := b.control(crawl)
	if err != nil || ctl.GetCritic() == "" {
		return ""
	}
	m, err := b.critic(ctl.GetCritic())
	if err != nil {
		return fmt.Sprintf("critic %s", ctl.GetCritic())
	}
	return criticOrigin(m.GetVersion(), m.GetMeasures())
}

// criticOrigin describes a critic by the measures in its announcement.
func criticOrigin(version string, measures map[string]float64) string {
	if n := measures["liked"]; n > 0 {
		origin := fmt.Sprintf("critic %s, learned from %.0f pages on topic without any counterexample but %.0f that were marked; it recognises %.0f %% of the liked pages when they are held out, "+
			"and its false positives are not measured: harvest is its own estimate and can be far too high, above all on a site with one template", version, n, measures["wrong"], 100*measures["recall"])
		if alike := resemblance(measures["background_taken"]); alike != "" {
			origin += "; " + alike
		}
		return origin
	}
	if a, ok := measures["accuracy"]; ok {
		return fmt.Sprintf("critic %s, trained on examples with topics; accuracy %.3f on examples that were held out", version, a)
	}
	return fmt.Sprintf("critic %s; how often it is right was not measured", version)
}

// mostAlike is the share of the background classified as on topic above which it counts as similar to the
// likes. A third of the pages around likes may well be on topic.
const mostAlike = .4

// resemblance is a warning that the background is similar to the likes; empty if it is not.
func resemblance(taken float64) string {
	if taken < mostAlike {
		return ""
	}
	return fmt.Sprintf("%.0f %% of the background is taken for on topic, too, when it is held out: it resembles the likes, as pages of one template do, and the critic hardly tells them apart", 100*taken)
}

const (
	// lowAccuracy is the accuracy below which training warns.
	lowAccuracy = .6
	// namedClasses is the number of classes that a warning lists.
	namedClasses = 5
)

// trainingWarnings returns what a user should know before a crawl relies on a critic, each with the next step.
func trainingWarnings(r *critic.Report, s critic.Settings) []string {
	var warnings []string
	lost := lostClasses(r)
	if n := len(lost); n > 0 {
		more := ""
		if n > namedClasses {
			more = fmt.Sprintf(" and %d more", n-namedClasses)
		}
		warnings = append(warnings, fmt.Sprintf("no held-out page of %d of the %d classes was recognised (%s%s): a crawl whose focus is one of these finds nothing, or only what the critic mistakes for it",
			n, len(r.Classes), strings.Join(lost[:min(n, namedClasses)], ", "), more))
	}
	if a := r.Calibrated.Accuracy; a < lowAccuracy {
		warnings = append(warnings, fmt.Sprintf("%.0f %% of the held-out pages were given a wrong class: harvest and loss of a crawl are wrong to that degree", 100*(1-a)))
	}
	if len(warnings) == 0 {
		return nil
	}
	next := "give the small classes more examples"
	if s.Minimum > 0 && !s.Exact {
		next += fmt.Sprintf(", or raise --minimum above %d, so that they join their parents", s.Minimum)
	}
	if s.Method != critic.Logistic {
		next += "; --model logistic judges small classes better"
	}
	return append(warnings, "next: "+next+"; critic evaluate shows which classes are confused")
}
