// Package modelfiletest keeps files of models as they were written with the first release of each format
// version: what reads models today must read them for ever.
package modelfiletest
