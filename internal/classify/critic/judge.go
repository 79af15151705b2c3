package critic

import (
	"context"

	"forager/internal/classify/bayes"
	"forager/internal/classify/taxonomy"
	"forager/schemas"
)

// Classifier classifies pages: a Model, or anything else that has a probability for each of its classes (2002 §1.1: any
// black-box predicate). It is safe for concurrent use.
type Classifier interface {
	// Classes returns the names of its classes, sorted, which must not be modified.
	Classes() []string
	// Pruned returns the topics that it was trained on or configured with but does not distinguish, sorted by topic.
	Pruned() []taxonomy.Pruned
	// Predict sets the prediction for a page, made by NewPrediction for the classes. The context bounds its waits if it
	// calls a service. The error concerns this page or the service.
	Predict(ctx context.Context, o *Prediction, p *schemas.Page) error
}

// Prediction is a classifier's result for a page. The slices have one number in [0,1] for each class, in the order of
// Classes; those of a classifier whose classes are exclusive sum to 1. A classifier that has only one kind of number sets
// all three to it.
type Prediction struct {
	// Raw, Tempered and Calibrated are Pr(c|u) (schemas.Posterior).
	Raw, Tempered, Calibrated []float64
	// Known is the number of tokens of the page that are in the classifier's vocabulary.
	Known uint64

	// scores are the logarithms of Tempered up to a constant, for a classifier whose posteriors may round to 0 or 1;
	// exponentials are of these, as multiples of the highest.
	scores, exponentials []float64
	// logs are the logarithms of Raw up to a constant, where exact is set.
	logs  []float64
	exact bool
	// rawOnly: nothing but Raw is needed, and a Model may leave out the rest.
	rawOnly bool
}

// NewPrediction returns a Prediction for a number of classes.
func NewPrediction(classes int) *Prediction {
	all := make([]float64, 6*classes)
	part := func(i int) []float64 { return all[i*classes : (i+1)*classes : (i+1)*classes] }
	return &Prediction{Raw: part(0), Tempered: part(1), Calibrated: part(2), scores: part(3), exponentials: part(4), logs: part(5)}
}

// temper sets Tempered, and the exponentials, from the scores.
func (o *Prediction) temper() {
	bayes.Divide(o.Tempered, o.exponentials, bayes.Exponentials(o.exponentials, o.scores))
}

// Same sets all numbers to the raw ones, for a classifier that has no others.
func (o *Prediction) Same() {
	copy(o.Tempered, o.Raw)
	copy(o.Calibrated, o.Raw)
	o.Known, o.exact = 0, false
}

// Weigh returns the weight of each class of a classifier under a marking of topics.
func Weigh(by Classifier, m taxonomy.Marking) (*taxonomy.Weights, error) {
	return m.Weigh(by.Classes(), by.Pruned())
}

// Judge judges a page: R(u) = Σ weight × Pr(class|u), by the weights of its classes (Weigh). The best class
// is a focus topic's if it has a weight. All fields are set except Judgement.critic, the critic's published name,
// and marking. The error is the classifier's.
func Judge(ctx context.Context, by Classifier, p *schemas.Page, weights *taxonomy.Weights) (*schemas.Judgement, error) {
	return judge(by, weights, func(o *Prediction) error { return by.Predict(ctx, o, p) })
}

// leastPosterior is the least value in Judgement.posteriors.
const leastPosterior = 1. / 512

// JudgeWithPosteriors is Judge with Judgement.posteriors.
func JudgeWithPosteriors(ctx context.Context, by Classifier, p *schemas.Page, weights *taxonomy.Weights) (*schemas.Judgement, error) {
	var all []*schemas.TopicScore
	j, err := judge(by, weights, func(o *Prediction) error {
		if err := by.Predict(ctx, o, p); err != nil {
			return err
		}
		for k, x := range o.Tempered {
			if x >= leastPosterior {
				all = append(all, &schemas.TopicScore{Topic: by.Classes()[k], Tempered: x})
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	j.Posteriors = all
	return j, nil
}

func judge(by Classifier, weights *taxonomy.Weights, predict func(*Prediction) error) (*schemas.Judgement, error) {
	classes := by.Classes()
	o := NewPrediction(len(classes))
	if err := predict(o); err != nil {
		return nil, err
	}
	j := &schemas.Judgement{KnownTokens: o.Known}
	for k, w := range weights.Focus {
		if w > 0 {
			j.Raw += w * o.Raw[k]
			j.Tempered += w * o.Tempered[k]
			j.Calibrated += w * o.Calibrated[k]
		}
	}
	j.Raw, j.Tempered, j.Calibrated = min(1, j.Raw), min(1, j.Tempered), min(1, j.Calibrated)
	if o.exact {
		all, topics := o.logOdds(weights)
		j.LogOdds, j.TopicLogOdds = &all, &topics
	}
	best := top(o.Tempered, topTopics)
	j.BestIsFocus = weights.Focus[best[0]] > 0
	for _, k := range best {
		j.Topics = append(j.Topics, &schemas.TopicScore{Topic: classes[k], Tempered: o.Tempered[k]})
	}
	return j, nil
}
