// Package modelfiletest stores, for tests, model files as the first release of each format version wrote them. Every later
// version must still read them.
package modelfiletest
