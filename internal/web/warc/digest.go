package warc

import (
	"bytes"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/base32"
	"encoding/hex"
	"fmt"
	"strings"
)

// Digest returns the digest of b as in WARC fields: "sha1:" and 32 characters of base32.
func Digest(b []byte) string {
	sum := sha1.Sum(b)
	return "sha1:" + base32.StdEncoding.EncodeToString(sum[:])
}

// checkDigests compares the digests in the record with its block and, for a response, with its body; unknown
// algorithms are ignored.
func (r *Record) checkDigests(block []byte) error {
	if err := checkDigest(r.Header.Get(fieldBlockDigest), block); err != nil {
		return fmt.Errorf("block of %s: %w", r.ID, err)
	}
	if r.Type != TypeResponse {
		return nil
	}
	_, payload, ok := bytes.Cut(block, []byte("\r\n\r\n"))
	if !ok {
		return nil
	}
	if err := checkDigest(r.Header.Get(fieldPayloadDigest), payload); err != nil {
		return fmt.Errorf("payload of %s: %w", r.ID, err)
	}
	return nil
}

func checkDigest(want string, b []byte) error {
	name, value, _ := strings.Cut(want, ":")
	var sum []byte
	switch strings.ToLower(name) {
	case "sha1":
		s := sha1.Sum(b)
		sum = s[:]
	case "sha256":
		s := sha256.Sum256(b)
		sum = s[:]
	default:
		return nil
	}
	value = strings.TrimRight(value, "=")
	encoding := base32.StdEncoding.WithPadding(base32.NoPadding)
	if strings.EqualFold(value, encoding.EncodeToString(sum)) || strings.EqualFold(value, hex.EncodeToString(sum)) {
		return nil
	}
	return fmt.Errorf("digest is %s:%s, the record has %s", name, encoding.EncodeToString(sum), want)
}
