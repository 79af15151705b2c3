package strictyaml

import (
	"reflect"
	"strconv"
	"strings"
	"time"
)

// isBytes reports whether values of t may have a unit of bytes: int64, and no duration.
func isBytes(t reflect.Type) bool {
	return t.Kind() == reflect.Int64 && t != reflect.TypeFor[time.Duration]()
}

var units = []struct {
	name string
	size int64
}{{"TiB", 1 << 40}, {"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}}

// parseBytes reads a whole number with a unit, such as 64MiB.
func parseBytes(text string) (int64, bool) {
	for _, unit := range units {
		if number, ok := strings.CutSuffix(text, unit.name); ok {
			n, err := strconv.ParseUint(strings.TrimSpace(number), 10, 63)
			if err != nil || int64(n) > (1<<63-1)/unit.size {
				return 0, false
			}
			return int64(n) * unit.size, true
		}
	}
	return 0, false
}

// FormatBytes writes a number of bytes in the largest unit of which it is a multiple, as a file may have it.
func FormatBytes(n int64) string {
	for _, unit := range units {
		if n != 0 && n%unit.size == 0 {
			return strconv.FormatInt(n/unit.size, 10) + unit.name
		}
	}
	return strconv.FormatInt(n, 10)
}
