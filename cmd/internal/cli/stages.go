package cli

import (
	"slices"

	"forager/internal/operate"
)

// StageNames and StageInputs are those of package operate.
var StageNames, StageInputs = operate.StageNames, operate.StageInputs

// Programs are what forager up starts besides the embedded parts: the stages, and the monitor, without which they work as well.
var Programs = append(slices.Clone(StageNames), "monitor")
