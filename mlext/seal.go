package mlext

import (
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
)

// Sealer encrypts texts at rest, bound to something: nobody can put one in the place of another. budget/ledger's Key is one.
type Sealer interface {
	Seal(binding, plain []byte) ([]byte, error)
	Open(binding, sealed []byte) ([]byte, error)
	Name() string // of the key, as texts say it
}

// A sealed text is the word, the key's name and base64; what is not sealed is a JSON object.
const sealedWord = "sealed "

// seal is a text as it is stored: bound to data set and trainer, which are a model's own for ever; its name may change.
func (s *Store) seal(owner string, plain []byte) (string, error) {
	if s.key == nil {
		return string(plain), nil
	}
	b, err := s.key.Seal(s.binding(owner), plain)
	if err != nil {
		return "", fmt.Errorf("mlext: %w", err)
	}
	return sealedWord + s.key.Name() + " " + base64.StdEncoding.EncodeToString(b), nil
}

var errOtherKey = errors.New("mlext: a model is sealed by another key than cache.key, or is not what was sealed")

func (s *Store) open(owner, text string) ([]byte, error) {
	rest, sealed := strings.CutPrefix(text, sealedWord)
	if !sealed {
		return []byte(text), nil
	}
	name, body, ok := strings.Cut(rest, " ")
	if !ok || s.key == nil || s.key.Name() != name {
		return nil, errOtherKey
	}
	b, err := base64.StdEncoding.DecodeString(body)
	if err != nil {
		return nil, errOtherKey
	}
	if b, err = s.key.Open(s.binding(owner), b); err != nil {
		return nil, errOtherKey
	}
	return b, nil
}

func (s *Store) binding(owner string) []byte {
	return []byte("dpsql " + s.what + "\x00" + s.dataset + "\x00" + owner)
}
