package schedule

import "forager/schemas"

// RenewalDue reports whether a new guide is due after so many pages delivered, targets of them targets: at
// multiples of Renewal.every, and, while the policy has no guide of its own yet, as soon as there are
// Renewal.bootstrap targets.
func RenewalDue(ctl *schemas.CrawlControl, pages, targets uint64) bool {
	policy, r := schemas.Renewed(ctl), ctl.GetRenewal()
	if policy == nil || ctl.GetBudget().GetPages() > 0 && pages >= ctl.GetBudget().GetPages() {
		return false
	}
	if policy.GetRanker() != schemas.Ranker_RANKER_GUIDE && r.GetPages() == 0 {
		return r.GetBootstrap() > 0 && targets >= r.GetBootstrap()
	}
	return r.GetEvery() > 0 && pages-pages%r.GetEvery() > r.GetPages()
}
