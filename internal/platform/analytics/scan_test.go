package analytics

import (
	"reflect"
	"strings"
	"testing"
	"time"
)

func TestScan(t *testing.T) {
	type inner struct {
		Flag bool
		At   time.Time
	}
	type row struct {
		Name string
		inner
		N    int
		Rest float64
	}
	at := time.Unix(5, 0)
	for name, c := range map[string]struct {
		columns []any
		want    any
		err     string
	}{
		"fields in their order":   {[]any{"a", uint8(1), at, uint64(7), .5}, row{"a", inner{true, at}, 7, .5}, ""},
		"fields without a column": {[]any{"a"}, row{Name: "a"}, ""},
		"NULL":                    {[]any{nil, false, at, uint64(7)}, row{"", inner{false, at}, 7, 0}, ""},
		"the only column":         {[]any{uint32(9)}, uint64(9), ""},
		"a time":                  {[]any{at}, at, ""},
		"too many columns":        {[]any{"a", "b"}, "", "2 columns"},
		"another type":            {[]any{"a", "b"}, row{}, "column 2 of the result is a string"},
		"a number for a text":     {[]any{uint64(65)}, "", "column 1 of the result is a uint64"},
	} {
		got := reflect.New(reflect.TypeOf(c.want)).Elem()
		err := scan(c.columns, got, fieldsOf(got.Type()))
		if c.err == "" && (err != nil || !reflect.DeepEqual(got.Interface(), c.want)) {
			t.Errorf("%s: %+v, %v; want %+v", name, got, err, c.want)
		}
		if c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)) {
			t.Errorf("%s: error %v, want %q", name, err, c.err)
		}
	}
}
