package frontier

import (
	"bytes"
	"fmt"
	"slices"

	"forager/internal/rank/policy"
	"forager/schemas"
)

// Shadows are policies that choose nothing. They have no queues: they place a URL once, when the
// leading policy has chosen it, by its links and the model at that time. Their places go into the request,
// come back with the verdict, and are copied to the leaps that the verdict settles; so no state is
// kept for them, and they are the same after a crash (docs/decisions/0108).

// maxShadows is the largest number of shadows of a crawl.
const maxShadows = 4

func newShadows(ctl *schemas.CrawlControl, policies []*policy.Policy) (shadows []*policy.Policy, err error) {
	if n := len(ctl.GetRankerShadows()); n > maxShadows {
		return nil, fmt.Errorf("%d shadows of rankers, there can be %d", n, maxShadows)
	}
	for _, p := range ctl.GetRankerShadows() {
		shadow, err := policy.New(p, ctl.GetRandomSeed())
		if err != nil {
			return nil, fmt.Errorf("shadow: %w", err)
		}
		same := func(other *policy.Policy) bool { return other.Name() == shadow.Name() }
		if slices.ContainsFunc(policies, same) || slices.ContainsFunc(shadows, same) {
			return nil, fmt.Errorf("shadow: a policy %q is there already", shadow.Name())
		}
		shadows = append(shadows, shadow)
	}
	return shadows, nil
}

// copyShadows copies the places under shadows from a request to the leaps that the verdict on it settles.
func copyShadows(request *schemas.FetchRequest, rec *schemas.LinkFound, settled []*schemas.LeapSettled) {
	for _, leap := range settled {
		if bytes.Equal(leap.GetRequest(), rec.GetId()) {
			leap.Shadows = request.GetShadows()
		}
	}
}
