package sizing

// The figures are fitted to the crawls of testdata/measured.json, by least squares of relative errors over the terms that each thing has,
// and rounded. A web whose pages compress otherwise has other ones.

// storedBytes are bytes as they are stored, compressed.
var storedBytes = map[string]cost{
	"topic fetch.requested": {request: 165},
	"topic page.fetched":    {request: 220},
	"topic page.parsed":     {request: 8, byte: 0.27, link: 100},
	"topic page.judged":     {request: 8, byte: 0.29, link: 105},
	"topic link.found":      {byte: 0.14, link: 135},
	"topic leap.settled":    {leap: 440},
	// A page in a segment: headers and what does not depend on its length, and its compressed bytes.
	"s3 segments":            {page: 700, byte: 0.27},
	"s3 archive":             {request: 470, link: 415, leap: 295},
	"clickhouse":             {request: 26, byte: 0.075, link: 23, leap: 375},
	"state prioritize":       {url: 1200},
	"state apprentice-train": {page: 400, leap: 85},
}

// cpuMillis are milliseconds of CPU time, user and system.
var cpuMillis = map[string]cost{
	"fetch":            {request: 0.105, byte: 3.9e-5},
	"parse-dom":        {request: 0.028, byte: 6.6e-5, link: 0.0013},
	"critic-score":     {request: 0.024, byte: 3.3e-5},
	"feature-extract":  {request: 0.024, byte: 1.9e-5, link: 0.0037},
	"prioritize":       {leap: 0.096, url: 0.066},
	"apprentice-train": {leap: 0.0031, link: 0.028},
	"distill":          {request: 0.014, link: 0.0028},
	"load-clickhouse":  {request: 0.018, byte: 2e-5, link: 0.0049, leap: 0.019},
	"archive-parquet":  {request: 0.043, link: 0.0078, leap: 0.038},
	"backends":         {request: 0.042, byte: 1.1e-4, leap: 0.033},
}
