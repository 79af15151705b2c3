package guide

import (
	"context"
	"fmt"

	"google.golang.org/protobuf/proto"

	"forager/schemas"
)

// Run runs the guide of a version on a page. If it fails, the guidance contains the error, which is also returned; the
// crawl goes on without guidance for the page.
func Run(ctx context.Context, by Guide, version string, v *View) (*schemas.Guidance, error) {
	g, err := by.Guide(ctx, v)
	if err == nil {
		err = Check(g, len(v.Page.GetLinks()))
	}
	if err != nil {
		return &schemas.Guidance{Guide: version, Failure: schemas.DetailOf(err)}, err
	}
	return &schemas.Guidance{Guide: version, Scores: g.GetScores(), States: g.GetStates(), Layer: g.GetLayer()}, nil
}

// Path decodes a FetchRequest.path_state, with the states of that path by version of their guide.
func Path(pathState []byte) (path *schemas.Path, states map[string][]byte, err error) {
	path = new(schemas.Path)
	if err := proto.Unmarshal(pathState, path); err != nil {
		return nil, nil, fmt.Errorf("the state of the path: %w", err)
	}
	states = make(map[string][]byte, len(path.GetSteps()))
	for _, step := range path.GetSteps() {
		if len(step.GetState()) > maxState {
			return nil, nil, fmt.Errorf("the state of the path: that of guide %s has %d bytes, at most %d are kept", step.GetGuide(), len(step.GetState()), maxState)
		}
		states[step.GetGuide()] = step.GetState()
	}
	return path, states, nil
}
