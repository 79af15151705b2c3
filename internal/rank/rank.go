package rank

// Source is one link (u,v) as rankers and gates see it.
type Source struct {
	// Seed: the link stands on the virtual page that carries the seeds; no other field is set.
	Seed bool
	// Raw and Tempered are R(u), [0,1].
	Raw, Tempered float64
	// BestIsFocus: u's best class is a focus topic.
	BestIsFocus bool
	// High is Pr(high | u,v) under the apprentice's model, [0,1]; HasHigh says that there is one.
	High    float64
	HasHigh bool
}

// Ranker scores one link to v, a canonical URL; higher is fetched earlier. It must be a
// function of its arguments and of what its owner announces with Shard.Reconsider; NaN is
// refused. Implementations that run in one process share nothing mutable.
type Ranker interface {
	Score(v string, s *Source) float64
}
