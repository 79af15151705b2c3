package apprentice

import (
	"cmp"
	"fmt"

	"google.golang.org/protobuf/proto"

	"forager/internal/platform/modelfile"
	"forager/internal/rank/linkfeature"
	"forager/schemas"
)

// Learner learns from one settled leap after another and makes models of what it learnt:
// *Counts is naive Bayes, *Logistic logistic regression. It is not safe for concurrent use.
type Learner interface {
	// Add learns from one leap: the features of the link, sorted by term, then offset, and R(v), in
	// [0,1]. After an error nothing was learnt.
	Add(features []*schemas.Feature, relevance float64) error
	// Leaps returns the number of leaps added.
	Leaps() uint64
	// FixCut decides where high begins, once there is a leap to take it from; later calls change
	// nothing.
	FixCut()
	// SetCut decides it by hand: high ⇔ R(v) ≥ cut, .1 to .9, rounded to a multiple of 1/256. An
	// error says that it cannot be that.
	SetCut(cut float64) error
	// Model makes a model of what was learnt so far. Like FixCut it fixes the cut. Later Adds do
	// not change the model.
	Model() *Model
	// Strongest returns the features that came at least so often and speak the loudest, for or
	// against a link: strongest first, ties by term and offset; 0 = all of them.
	Strongest(often uint64, most int) []Tally
	// Marshal returns the learner's file: the same leaps in the same order, the same bytes.
	Marshal() []byte
	// Settings say what learns.
	Settings() Settings
}

// Settings say what learns, and how.
type Settings struct {
	// Learner is never LEARNER_UNSPECIFIED.
	Learner schemas.Learner
	// Logistic holds for LEARNER_LOGISTIC, and is zero for others.
	Logistic Proximal
	// Families of the features that it is given.
	Families linkfeature.Families
	// Count is never COUNTING_UNSPECIFIED.
	Count schemas.Counting
	// Smooth is how often naive Bayes spreads counts over neighbouring offsets, 0 to mostSmooth.
	Smooth uint32
}

// plainly are the settings of naive Bayes that a crawl has which says no others.
var plainly = Settings{Learner: schemas.Learner_LEARNER_BAYES, Families: linkfeature.Offsets, Count: schemas.Counting_COUNTING_RAW}

// SettingsOf are those of a crawl. An error names the field that is out of range.
func SettingsOf(l *schemas.Learning) (Settings, error) {
	families, err := linkfeature.FamiliesOf(l.GetFeatures())
	if err != nil {
		return Settings{}, err
	}
	s := plainly
	s.Families, s.Count, s.Smooth = families, cmp.Or(l.GetCount(), s.Count), l.GetSmooth()
	s.Learner = cmp.Or(l.GetLearner(), s.Learner)
	if s.Learner == schemas.Learner_LEARNER_LOGISTIC {
		if s.Logistic, err = proximalOf(l.GetLogistic()); err != nil {
			return s, err
		}
	}
	return s, s.check()
}

// check refuses what is no setting of a learner; those of logistic regression and the families apart.
func (s Settings) check() error {
	logistic := s.Learner == schemas.Learner_LEARNER_LOGISTIC
	switch {
	case !logistic && s.Learner != schemas.Learner_LEARNER_BAYES:
		return fmt.Errorf("learning.learner is %v, which is unknown", s.Learner)
	case s.Count < schemas.Counting_COUNTING_RAW || s.Count > schemas.Counting_COUNTING_BINARY:
		return fmt.Errorf("learning.count is %v, which is unknown", s.Count)
	case s.Smooth > mostSmooth:
		return fmt.Errorf("learning.smooth is %d; it must lie between 0 and %d", s.Smooth, mostSmooth)
	case s.Smooth > 0 && logistic:
		return fmt.Errorf("learning.smooth is %d; only naive Bayes has counts that can be smoothed (learning.learner)", s.Smooth)
	case s.Smooth > 0 && s.Families&linkfeature.Offsets == 0:
		return fmt.Errorf("learning.smooth is %d; it smooths over the offsets of the family offsets, and learning.features are %v", s.Smooth, s.Families)
	}
	return nil
}

// DefaultLogistic are the settings of logistic regression that a crawl has which says no others.
func DefaultLogistic() Settings {
	s := plainly
	s.Learner, s.Logistic = schemas.Learner_LEARNER_LOGISTIC, defaultProximal
	return s
}

// String names the learner with its settings, as errors do.
func (s Settings) String() string {
	name := "naive Bayes"
	if s.Learner == schemas.Learner_LEARNER_LOGISTIC {
		name = fmt.Sprintf("logistic regression (rate %v, l1 %v, l2 %v)", s.Logistic.Rate, s.Logistic.L1, s.Logistic.L2)
	}
	switch s.Count {
	case schemas.Counting_COUNTING_NORMALISED:
		name += " of normalised counts"
	case schemas.Counting_COUNTING_BINARY:
		name += " of what occurs at all"
	}
	if s.Smooth > 0 {
		name += fmt.Sprintf(", smoothed %d times", s.Smooth)
	}
	return fmt.Sprintf("%s of %v", name, s.Families)
}

// Learning returns a crawl's settings with these in their place.
func (s Settings) Learning(l *schemas.Learning) *schemas.Learning {
	next := new(schemas.Learning)
	proto.Merge(next, l)
	next.Learner, next.Logistic, next.Features = s.Learner, nil, s.Families.List()
	next.Count, next.Smooth = s.Count, s.Smooth
	if s.Learner == schemas.Learner_LEARNER_LOGISTIC {
		next.Logistic = &schemas.Logistic{Rate: s.Logistic.Rate, L1: s.Logistic.L1, L2: s.Logistic.L2}
	}
	return next
}

// New returns a learner that has learnt nothing.
func New(s Settings) Learner {
	if s.Learner == schemas.Learner_LEARNER_LOGISTIC {
		return &Logistic{settings: s}
	}
	return &Counts{settings: s}
}

// Open reads the file of any learner. Errors are those of package modelfile: bytes that are
// foreign, newer or damaged are told apart.
func Open(b []byte) (Learner, error) {
	if modelfile.Kind(b) == logisticKind {
		return unmarshalLogistic(b)
	}
	return UnmarshalCounts(b)
}

// OpenFor is Open for a learner that is to go on under settings; one of others is refused.
func OpenFor(b []byte, s Settings) (Learner, error) {
	l, err := Open(b)
	if err != nil {
		return nil, err
	}
	if l.Settings() != s {
		return nil, fmt.Errorf("apprentice model: it learnt by %v, wanted is %v", l.Settings(), s)
	}
	return l, nil
}

// Unmarshal reads the model of any learner's file; errors as of Open.
func Unmarshal(b []byte) (*Model, error) {
	l, err := Open(b)
	if err != nil {
		return nil, err
	}
	return l.Model(), nil
}
