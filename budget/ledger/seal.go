package ledger

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
)

// Key encrypts stored releases at rest: AES-256-GCM with a nonce of its own for each, bound to the release's key and reservation. Records are not secret from
// the owner's machine: they hold names, prices and hashes. It is never printed.
type Key struct {
	id   string
	aead cipher.AEAD
}

// KeySize is a key's length in bytes.
const KeySize = 32

// NewKey makes a key of random bytes.
func NewKey(secret []byte) (*Key, error) {
	if len(secret) != KeySize {
		return nil, fmt.Errorf("ledger: a key has %d bytes, not %d", KeySize, len(secret))
	}
	zero := true
	for _, b := range secret {
		zero = zero && b == 0
	}
	if zero {
		return nil, errors.New("ledger: a key of zeros")
	}
	block, err := aes.NewCipher(secret)
	if err != nil {
		return nil, err
	}
	aead, err := cipher.NewGCM(block)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(append([]byte("dpsql release key "), secret...))
	return &Key{id: hex.EncodeToString(sum[:8]), aead: aead}, nil
}

// String hides it.
func (k *Key) String() string {
	if k == nil {
		return "none"
	}
	return "(key)"
}

// GoString hides it.
func (k *Key) GoString() string { return k.String() }

// name is what a record says of the key; "" without one.
func (k *Key) name() string {
	if k == nil {
		return ""
	}
	return k.id
}

// Name says which key it is: models that are sealed with it name it.
func (k *Key) Name() string { return k.name() }

// Seal encrypts what is bound to something.
func (k *Key) Seal(binding, plain []byte) ([]byte, error) { return k.sealWith(binding, plain) }

// Open decrypts what Seal made.
func (k *Key) Open(binding, sealed []byte) ([]byte, error) { return k.openWith(binding, sealed) }

// seal encrypts a release; without a key it is as it is.
func (k *Key) seal(release Hash, reservation int64, plain []byte) ([]byte, error) {
	return k.sealWith(binding(release, reservation), plain)
}

// sealWith encrypts what is bound to something; without a key it is as it is.
func (k *Key) sealWith(binding, plain []byte) ([]byte, error) {
	if k == nil {
		return plain, nil
	}
	nonce := make([]byte, k.aead.NonceSize(), k.aead.NonceSize()+len(plain)+k.aead.Overhead())
	if _, err := rand.Read(nonce); err != nil {
		return nil, fmt.Errorf("ledger: %w", err)
	}
	return k.aead.Seal(nonce, nonce, plain, binding), nil
}

// open decrypts what seal made.
func (k *Key) open(release Hash, reservation int64, sealed []byte) ([]byte, error) {
	return k.openWith(binding(release, reservation), sealed)
}

func (k *Key) openWith(binding, sealed []byte) ([]byte, error) {
	n := k.aead.NonceSize()
	if len(sealed) < n {
		return nil, errors.New("too short")
	}
	return k.aead.Open(nil, sealed[:n], sealed[n:], binding)
}

func binding(release Hash, reservation int64) []byte {
	return binary.BigEndian.AppendUint64(release[:], uint64(reservation))
}
