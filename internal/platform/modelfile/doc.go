// Package modelfile is the file format of every stored model: a line with kind and version, the length of the body, the
// body, and a SHA-256 over all of it.
//
//	forager critic 1\n | length of the body, 8 bytes, little endian | body | SHA-256, 32 bytes
//
// Seal writes this envelope and Open checks it. A file of another kind, of a newer program, truncated or damaged is refused
// with ErrForeign, ErrNewer, ErrOlder or ErrDamaged before its body is read.
//
// A body is written with an Encoder and read with a Decoder: unsigned varints, strings with their length, float64 as their
// bits. The same values always give the same bytes. Nothing is compressed: the output of a compressor depends on its
// version, and the digest of a model is part of its name.
//
// Arrays of numbers (PutArray, Array) are at offsets that are multiples of 8, little endian, so that they can be used in
// place in a mapped file (Map). A machine with another representation reads copies.
package modelfile
