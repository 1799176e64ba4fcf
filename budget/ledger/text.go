package ledger

import (
	"errors"
	"fmt"
)

// SealedText is a statement's text as its charge's record holds it.
type SealedText struct {
	Key  string `json:"key"` // names the key that it is encrypted with
	Text []byte `json:"text"`
}

// MaxText limits a statement's text in the ledger, in bytes, and the values of its parameters behind it.
const MaxText = 16 << 10

// textBinding names what a text is bound to: a record with another's text in it cannot be read.
func textBinding(dataset, analyst string, statement Hash) []byte {
	return fmt.Appendf(nil, "dpsql statement\x00%s\x00%s\x00%s", dataset, analyst, statement[:])
}

// open decrypts a text. The error says why it cannot be read.
func (s *SealedText) open(keys []*Key, dataset, analyst string, statement Hash) (string, error) {
	if s == nil {
		return "", errNoText
	}
	for _, k := range keys {
		if k.name() != s.Key {
			continue
		}
		plain, err := k.openWith(textBinding(dataset, analyst, statement), s.Text)
		if err != nil {
			return "", errors.New("the text is not what was stored")
		}
		return string(plain), nil
	}
	return "", fmt.Errorf("the text needs the key %s, which is not here", s.Key)
}

var errNoText = errors.New("no text was stored")
