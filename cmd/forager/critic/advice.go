package critic

import (
	"fmt"
	"strings"

	"forager/internal/classify/critic"
)

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
