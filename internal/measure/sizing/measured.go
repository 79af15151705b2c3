package sizing

// The figures are fitted to the crawls of testdata/measured.json, by least squares of relative errors over the terms that each thing has,
// and rounded. A web whose pages compress otherwise has other ones.

// storedBytes are bytes as they are stored, compressed.
var storedBytes = map[string]cost{
	"topic fetch.requested": {request: 150},
	"topic page.fetched":    {request: 210},
	"topic page.parsed":     {request: 47, byte: 0.28, link: 78},
	"topic page.judged":     {request: 50, byte: 0.3, link: 85},
	"topic link.found":      {byte: 0.15, link: 120},
	"topic leap.settled":    {leap: 130, featured: 300},
	// A page in a segment: headers and what does not depend on its length, and its compressed bytes.
	"s3 segments":            {page: 700, byte: 0.27},
	"s3 archive":             {link: 110, leap: 410, featured: 420},
	"clickhouse":             {request: 120, byte: 0.12, leap: 140, featured: 230},
	"state prioritize":       {featured: 300, url: 1100},
	"state apprentice-train": {featured: 130},
}

// cpuMillis are milliseconds of CPU time, user and system.
var cpuMillis = map[string]cost{
	"fetch":            {request: 0.099, byte: 2.4e-5},
	"parse-dom":        {request: 0.031, byte: 5.4e-5, link: 0.00074},
	"critic-score":     {request: 0.027, byte: 2.3e-5},
	"feature-extract":  {request: 0.024, byte: 1.1e-5, link: 0.0032},
	"prioritize":       {leap: 0.022, featured: 0.042, url: 0.062},
	"apprentice-train": {leap: 0.0058, featured: 0.028},
	"distill":          {request: 0.0085, link: 0.00076},
	"load-clickhouse":  {request: 0.024, byte: 1.4e-5, link: 0.0028, featured: 0.015},
	"archive-parquet":  {request: 0.016, link: 0.0094, featured: 0.037},
	"backends":         {request: 0.094, byte: 5.2e-5, leap: 0.0059, featured: 0.045},
}
