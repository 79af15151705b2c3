package kafka

import (
	"io"
	"sync"

	"github.com/pierrec/lz4/v4"
	"github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/compress"
)

// codec is lz4 rather than zstd: the loop of five hops needs low latency more than small messages
// (BenchmarkHop, BenchmarkProduce).
const codec = kafka.Lz4

// kafka-go's table of codecs is the only place to change how frames are written.
func init() { compress.Codecs[codec] = &smallFrames{Codec: &compress.Lz4Codec} }

// smallFrames is kafka-go's lz4 with blocks of 256 KiB and, as in Kafka's own clients, no checksum of the content:
// the record batch has one. A reader of a frame, however small, allocates buffers of the block size that the frame
// declares; lz4's default is 4 MiB.
type smallFrames struct {
	compress.Codec
	writers sync.Pool
}

// NewWriter implements compress.Codec.
func (f *smallFrames) NewWriter(w io.Writer) io.WriteCloser {
	z, _ := f.writers.Get().(*lz4.Writer)
	if z == nil {
		z = lz4.NewWriter(nil)
		if err := z.Apply(lz4.BlockSizeOption(lz4.Block256Kb), lz4.ChecksumOption(false)); err != nil {
			panic(err) // both are constants
		}
	}
	z.Reset(w)
	return &frameWriter{z, f}
}

// frameWriter returns its writer to the pool when it is closed.
type frameWriter struct {
	*lz4.Writer
	of *smallFrames
}

// Close ends the frame.
func (w *frameWriter) Close() error {
	err := w.Writer.Close()
	w.Writer.Reset(nil)
	w.of.writers.Put(w.Writer)
	return err
}
