// Package process sets what pipeline.yaml has for every program: the limits of its memory and the address of its metrics.
package process
