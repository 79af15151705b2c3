package cli

import (
	"slices"

	"forager/internal/operate"
)

// StageNames are those of package operate.
var StageNames = operate.StageNames

// StageInputs are those of package operate.
var StageInputs = operate.StageInputs

// Programs are what forager up starts besides the embedded parts: the stages, and the monitor, without which they work as well.
var Programs = append(slices.Clone(StageNames), "monitor")
