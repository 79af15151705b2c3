package kafka

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"testing"

	"github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/compress"
	"golang.org/x/sync/errgroup"
)

// TestFrames writes and reads frames of many sizes at once; each declares the small block size.
func TestFrames(t *testing.T) {
	codec := kafka.Compression(codec).Codec()
	through := func(from compress.Codec, text []byte) []byte {
		var frame bytes.Buffer
		w := from.NewWriter(&frame)
		half := len(text) / 2
		for _, part := range [][]byte{text[:half], text[half:]} {
			if _, err := w.Write(part); err != nil {
				t.Error(err)
			}
		}
		if err := w.Close(); err != nil {
			t.Error(err)
		}
		r := codec.NewReader(bytes.NewReader(frame.Bytes()))
		defer r.Close()
		if got, err := io.ReadAll(r); err != nil || !bytes.Equal(got, text) {
			t.Errorf("%d bytes came out as %d, %v", len(text), len(got), err)
		}
		return frame.Bytes()
	}
	var all errgroup.Group
	for round := range 4 {
		all.Go(func() error {
			for i, size := range []int{1, 1000, 256<<10 - 1, 256 << 10, 256<<10 + 1, 1 << 20, 5 << 20} {
				text := payload(size, uint64(10*round+i))
				const magic, checksumBit = 4, 1 << 2
				// After the magic number: flags, and the code of the largest block, of which 5 is 256 KiB.
				if frame := through(codec, text); frame[magic]&checksumBit != 0 || frame[magic+1]>>4 != 5 {
					t.Errorf("a frame begins with %x", frame[:magic+2])
				}
				through(&compress.Lz4Codec, text) // topics still have frames of earlier versions
			}
			return nil
		})
	}
	if err := all.Wait(); err != nil {
		t.Error(err)
	}
}

// payload is text of n bytes, another one for each seed.
func payload(n int, seed uint64) []byte {
	var b bytes.Buffer
	for rng := rand.New(rand.NewPCG(seed, 0)); b.Len() < n; {
		fmt.Fprintf(&b, "leaf %x of %d ", rng.Uint32()>>8, rng.IntN(100))
	}
	return b.Bytes()[:n]
}
