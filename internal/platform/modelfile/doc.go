// Package modelfile is the envelope of every stored model: a line that says what it is, the
// length of its body, the body, and a SHA-256 over all of it. So a file of another kind, of a
// newer program, cut short or damaged is refused with a sentence that says which, before a
// byte of its body is believed.
//
//	forager critic 1\n | length of the body, 8 bytes, little endian | body | SHA-256, 32 bytes
//
// A body is written with an Encoder and read with a Decoder: unsigned varints, strings with
// their length, float64 as their bits. What is written depends on nothing but what is said, so
// the same model always has the same bytes.
//
// Arrays of numbers (PutArray) lie where a mapped file (Map) can be read in place: at offsets that
// are multiples of 8, little endian. A machine that has numbers otherwise reads copies of them.
//
// # Decisions
//
// 2026-11-21: no compression. A compressor's output depends on its version, and a model's
// bytes name it.
package modelfile
