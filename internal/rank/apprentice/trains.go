package apprentice

import (
	"errors"
	"fmt"

	"forager/schemas"
)

// Trains reports whether a record of leap.settled is input of the learner: a leap that trains, or a boundary. The error is
// that of an invalid record.
func Trains(l *schemas.LeapSettled) (bool, error) {
	switch {
	case l.GetCrawl() == "":
		return false, errors.New("leap.settled names no crawl")
	case l.GetBoundary() && l.GetPages() == 0:
		return false, errors.New("leap.settled is a boundary at no page")
	case l.GetBoundary():
		return true, nil
	case !l.GetTrains():
		return false, nil
	}
	if _, err := schemas.ParseID(l.GetId()); err != nil {
		return false, fmt.Errorf("leap.settled: %w", err)
	}
	return true, check(l.GetFeatures(), l.GetTargetRaw())
}
