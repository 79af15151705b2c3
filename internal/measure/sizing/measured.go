package sizing

// The figures are fitted to the crawls of testdata/measured.json, by least squares of relative errors over the terms that each thing has,
// and rounded. A web whose pages compress otherwise has other ones.

// storedBytes are bytes as they are stored, compressed.
var storedBytes = map[string]cost{
	"topic fetch.requested": {request: 165},
	"topic page.fetched":    {request: 220},
	"topic page.parsed":     {request: 13, byte: 0.3, link: 93},
	"topic page.judged":     {request: 15, byte: 0.32, link: 99},
	"topic link.found":      {byte: 0.15, link: 137},
	"topic leap.settled":    {leap: 130, featured: 370},
	// A page in a segment: headers and what does not depend on its length, and its compressed bytes.
	"s3 segments":            {page: 700, byte: 0.27},
	"s3 archive":             {link: 187, leap: 300, featured: 445},
	"clickhouse":             {request: 125, byte: 0.12, leap: 150, featured: 220},
	"state prioritize":       {url: 1900},
	"state apprentice-train": {featured: 190},
}

// cpuMillis are milliseconds of CPU time, user and system.
var cpuMillis = map[string]cost{
	"fetch":            {request: 0.27, byte: 8.8e-5},
	"parse-dom":        {request: 0.055, byte: 1.6e-4, link: 0.006},
	"critic-score":     {request: 0.061, byte: 6.5e-5},
	"feature-extract":  {request: 0.051, byte: 3.7e-5, link: 0.012},
	"prioritize":       {leap: 0.26, featured: 0.06, url: 0.034},
	"apprentice-train": {leap: 0.023, featured: 0.071},
	"distill":          {request: 0.033, link: 0.0045},
	"load-clickhouse":  {request: 0.057, byte: 3.7e-5, link: 0.016, featured: 0.036},
	"archive-parquet":  {request: 0.03, link: 0.0046, leap: 0.034, featured: 0.087},
	"backends":         {request: 0.16, byte: 1.8e-4, leap: 0.082, featured: 0.092},
}
