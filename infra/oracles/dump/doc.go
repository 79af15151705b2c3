// Command dump writes what Forager makes of some input as JSON to standard output, for the Python
// tests beside it, which compare it with what programs written by others make of the same
// input.
//
//	dump robots -files FOLDER > robots.json
//	dump bayes -taxonomy FILE > bayes.json
//	dump leaves -web FILE > leaves.json
//	dump resolve -in hrefs.json > targets.json
//	dump distill > distill.json
//	dump cosine > cosine.json
package main
