// Package spectrum lists the parts that every target of this module serves on top of its catalog.
package spectrum

import (
	"ceiling.dev/targets/internal/consistency"
	"ceiling.dev/targets/internal/contract"
	"ceiling.dev/targets/internal/database"
	"ceiling.dev/targets/internal/flaky"
	"ceiling.dev/targets/internal/hub"
)

// Parts returns new parts for each program, because they keep what their flags set.
func Parts() []contract.Part {
	return []contract.Part{consistency.New(), database.New(), flaky.New(), hub.New()}
}
