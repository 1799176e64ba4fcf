package ledger

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
)

// Hash is a SHA-256, written in hex.
type Hash [sha256.Size]byte

// MarshalText writes hex.
func (h Hash) MarshalText() ([]byte, error) { return []byte(hex.EncodeToString(h[:])), nil }

// UnmarshalText reads exactly what MarshalText writes.
func (h *Hash) UnmarshalText(text []byte) error {
	raw, err := hex.DecodeString(string(text))
	if err != nil || len(raw) != len(h) {
		return fmt.Errorf("ledger: %q is not a SHA-256 in hex", text)
	}
	copy(h[:], raw)
	return nil
}
