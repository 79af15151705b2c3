package modelfile

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Errors of Open, for callers that branch.
var (
	// ErrForeign: the bytes are no model, or a model of another kind.
	ErrForeign = errors.New("not such a model")
	// ErrNewer: a newer program wrote the model.
	ErrNewer = errors.New("written by a newer program")
	// ErrOlder: an older program wrote the model, in a form that is no longer read.
	ErrOlder = errors.New("written by an older program")
	// ErrDamaged: the bytes are truncated, longer than declared, changed or inconsistent.
	ErrDamaged = errors.New("damaged")
)

const (
	prefix   = "forager "
	maxLine  = 64
	lenBytes = 8
)

// Seal returns the envelope of a body. The kind is one word.
func Seal(kind string, version uint32, body []byte) []byte {
	b := make([]byte, 0, maxLine+lenBytes+len(body)+sha256.Size)
	b = append(b, firstLine(kind, version)...)
	b = binary.LittleEndian.AppendUint64(b, uint64(len(body)))
	b = append(b, body...)
	sum := sha256.Sum256(b)
	return append(b, sum[:]...)
}

func firstLine(kind string, version uint32) string {
	return prefix + kind + " " + strconv.FormatUint(uint64(version), 10) + "\n"
}

// Kind returns the kind in the first line of an envelope; "" if there is none. The rest is not
// checked; see Open.
func Kind(b []byte) string {
	line, _, ok := bytes.Cut(b[:min(len(b), maxLine)], []byte("\n"))
	words := strings.Split(string(line), " ")
	if !ok || len(words) != 3 || words[0]+" " != prefix {
		return ""
	}
	return words[1]
}

// Open checks an envelope of the given kind and returns the version, 1..newest, and the body,
// which shares memory with b.
func Open(b []byte, kind string, newest uint32) (version uint32, body []byte, err error) {
	line, _, ok := bytes.Cut(b[:min(len(b), maxLine)], []byte("\n"))
	words := strings.Split(string(line), " ")
	switch {
	case len(b) == 0:
		return 0, nil, fmt.Errorf("%w: the file is empty", ErrDamaged)
	case !ok || len(words) != 3 || words[0]+" " != prefix:
		if !ok && strings.HasPrefix(prefix+kind+" ", string(line)) {
			return 0, nil, fmt.Errorf("%w: cut short after %d bytes", ErrDamaged, len(b))
		}
		return 0, nil, fmt.Errorf("%w: a %s model begins with %q, this begins with %.24q", ErrForeign, kind, prefix+kind, b[:min(len(b), 24)])
	case words[1] != kind:
		return 0, nil, fmt.Errorf("%w: this is a model of kind %q, wanted is %q", ErrForeign, words[1], kind)
	}
	v, err := strconv.ParseUint(words[2], 10, 32)
	if err != nil || v == 0 || strconv.FormatUint(v, 10) != words[2] {
		return 0, nil, fmt.Errorf("%w: format version %q is no number from 1", ErrDamaged, words[2])
	}
	if uint32(v) > newest {
		return 0, nil, fmt.Errorf("%w: format version %d of a %s model, this program reads up to %d", ErrNewer, v, kind, newest)
	}
	rest := b[len(line)+1:]
	if len(rest) < lenBytes+sha256.Size {
		return 0, nil, fmt.Errorf("%w: cut short after %d bytes", ErrDamaged, len(b))
	}
	n := binary.LittleEndian.Uint64(rest)
	if have := uint64(len(rest) - lenBytes - sha256.Size); n > have {
		return 0, nil, fmt.Errorf("%w: cut short, %d of %d bytes of the body are there", ErrDamaged, have, n)
	} else if n < have {
		return 0, nil, fmt.Errorf("%w: %d bytes follow the end", ErrDamaged, have-n)
	}
	at := len(b) - sha256.Size
	if sum := sha256.Sum256(b[:at]); !bytes.Equal(sum[:], b[at:]) {
		return 0, nil, fmt.Errorf("%w: the checksum does not fit the bytes", ErrDamaged)
	}
	return uint32(v), rest[lenBytes : lenBytes+n], nil
}
