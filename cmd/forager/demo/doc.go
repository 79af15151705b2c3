// Package demo crawls a web twice, with soft focus and with an apprentice, and reports both. The
// benches of forager-lab start their pipelines with it.
package demo
