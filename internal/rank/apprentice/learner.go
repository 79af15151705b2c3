package apprentice

import (
	"cmp"
	"fmt"

	"google.golang.org/protobuf/proto"

	"forager/internal/platform/modelfile"
	"forager/internal/rank/linkfeature"
	"forager/schemas"
)

// Learner learns from one settled leap after another and makes models: *Counts is naive Bayes, *Logistic logistic
// regression. It is not safe for concurrent use.
type Learner interface {
	// Add learns from one leap: the features of the link, sorted by term, then offset, and R(v), in [0,1]. An error leaves
	// the learner unchanged.
	Add(features []*schemas.Feature, relevance float64) error
	// Leaps returns the number of leaps added.
	Leaps() uint64
	// FixCut sets the cut, if there is a leap to take it from; later calls change nothing.
	FixCut()
	// SetCut sets the cut to a given value: high ⇔ R(v) ≥ cut, .1 to .9, rounded to a multiple of 1/256. It returns an
	// error if the cut cannot have that value.
	SetCut(cut float64) error
	// Model makes a model of what was learned so far. Like FixCut it sets the cut. Later Adds do not change the model.
	Model() *Model
	// Strongest returns the features that occurred at least so often, by the absolute value of their weights, largest
	// first, ties by term and offset; most = 0 returns all.
	Strongest(often uint64, most int) []Tally
	// Marshal returns the learner's file: the same leaps in the same order give the same bytes.
	Marshal() []byte
	// Settings returns the settings of the learner.
	Settings() Settings
}

// Settings select a learner and how it learns.
type Settings struct {
	// Learner is never LEARNER_UNSPECIFIED.
	Learner schemas.Learner
	// Logistic is the setting of LEARNER_LOGISTIC, and zero for others.
	Logistic Proximal
	// Families of the features that the learner gets.
	Families linkfeature.Families
	// Count is never COUNTING_UNSPECIFIED.
	Count schemas.Counting
	// Smooth is the number of steps in which naive Bayes spreads counts over neighbouring offsets, 0 to mostSmooth.
	Smooth uint32
}

// plainly are the default settings: naive Bayes.
var plainly = Settings{Learner: schemas.Learner_LEARNER_BAYES, Families: linkfeature.Offsets, Count: schemas.Counting_COUNTING_RAW}

// SettingsOf returns the settings of a crawl. The error names the field that is out of range.
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

// check returns an error for settings out of range; those of logistic regression and the families are checked elsewhere.
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

// DefaultLogistic returns the default settings of logistic regression.
func DefaultLogistic() Settings {
	s := plainly
	s.Learner, s.Logistic = schemas.Learner_LEARNER_LOGISTIC, defaultProximal
	return s
}

// String returns the learner with its settings, for error messages.
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

// Learning returns l with the fields that these settings have replaced by them.
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

// New returns a learner that has learned nothing.
func New(s Settings) Learner {
	if s.Learner == schemas.Learner_LEARNER_LOGISTIC {
		return &Logistic{settings: s}
	}
	return &Counts{settings: s}
}

// Open reads the file of any learner. Errors are those of package modelfile, which distinguish foreign, newer and damaged
// files.
func Open(b []byte) (Learner, error) {
	if modelfile.Kind(b) == logisticKind {
		return unmarshalLogistic(b)
	}
	return UnmarshalCounts(b)
}

// OpenFor is Open for a learner that goes on under settings; a file with others is an error.
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

// Unmarshal reads the model from any learner's file; errors are those of Open.
func Unmarshal(b []byte) (*Model, error) {
	l, err := Open(b)
	if err != nil {
		return nil, err
	}
	return l.Model(), nil
}
