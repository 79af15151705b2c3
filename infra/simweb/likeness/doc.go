// Package likeness measures properties of webs, frozen and synthetic ones, by the same code (Measure), so that infra/simweb can be compared
// with real webs. infra/simweb/README.md describes the figures, and infra/simweb/measured.json has them (Committed).
package likeness
