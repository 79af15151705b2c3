package guide

import (
	"context"
	"fmt"

	"google.golang.org/protobuf/proto"

	"forager/schemas"
)

// Say is what the guide of a version says of a page. Where it fails on it the guidance says why, and
// so does the error; a crawl goes on without.
func Say(ctx context.Context, by Guide, version string, v *View) (*schemas.Guidance, error) {
	g, err := by.Guide(ctx, v)
	if err == nil {
		err = Check(g, len(v.Page.GetLinks()))
	}
	if err != nil {
		return &schemas.Guidance{Guide: version, Failure: schemas.DetailOf(err)}, err
	}
	return &schemas.Guidance{Guide: version, Scores: g.GetScores(), States: g.GetStates()}, nil
}

// States are what guides remember, by version, of the path that a FetchRequest.path_state describes.
func States(pathState []byte) (map[string][]byte, error) {
	path := new(schemas.Path)
	if err := proto.Unmarshal(pathState, path); err != nil {
		return nil, fmt.Errorf("the state of the path: %w", err)
	}
	states := make(map[string][]byte, len(path.GetSteps()))
	for _, step := range path.GetSteps() {
		if len(step.GetState()) > maxState {
			return nil, fmt.Errorf("the state of the path: guide %s remembers %d bytes, at most %d are kept", step.GetGuide(), len(step.GetState()), maxState)
		}
		states[step.GetGuide()] = step.GetState()
	}
	return states, nil
}
