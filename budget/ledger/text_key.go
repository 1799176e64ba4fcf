package ledger

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// KeySuffix names the file of the key of statements' texts, beside the ledger.
const KeySuffix = "-key"

// TextKey reads the key of statements' texts beside a ledger's path; nil where there is none. The file holds a key as cache.key's does.
func TextKey(path string) (*Key, error) {
	text, err := os.ReadFile(path + KeySuffix)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	} else if err != nil {
		return nil, fmt.Errorf("ledger: the key of statements' texts: %w", err)
	}
	secret, err := hex.DecodeString(strings.TrimSpace(string(text)))
	if err == nil {
		var k *Key
		if k, err = NewKey(secret); err == nil {
			return k, nil
		}
	}
	return nil, fmt.Errorf("ledger: %s is not the key of statements' texts that dpsql wrote: bring it back, or delete it, and the texts stored so far cannot be read any more", path+KeySuffix)
}

// MakeTextKey is TextKey, and writes a new key where there is none. The key is on disk before it is used.
func MakeTextKey(path string) (key *Key, made bool, err error) {
	if key, err = TextKey(path); key != nil || err != nil {
		return key, false, err
	}
	secret := make([]byte, KeySize)
	if _, err := rand.Read(secret); err != nil {
		return nil, false, fmt.Errorf("ledger: %w", err)
	}
	if made, err = writeOnce(path+KeySuffix, []byte(hex.EncodeToString(secret)+"\n")); err != nil {
		return nil, false, fmt.Errorf("ledger: the key of statements' texts: %w", err)
	}
	key, err = TextKey(path) // another process may have been first
	return key, made, err
}

// writeOnce writes a new file of mode 0600, whole or not at all; false where one is there.
func writeOnce(path string, text []byte) (made bool, err error) {
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".new*") // of mode 0600
	if err != nil {
		return false, err
	}
	_, err = f.Write(text)
	if err = errors.Join(err, f.Sync(), f.Close()); err == nil {
		if err = os.Link(f.Name(), path); err == nil {
			made = true
		} else if errors.Is(err, fs.ErrExist) {
			err = nil
		}
	}
	return made, errors.Join(err, os.Remove(f.Name()), SyncDir(filepath.Dir(path)))
}

// CopyTextKey gives a ledger that was moved the key of its texts, unless it has one. Paths are those beside which keys lie.
func CopyTextKey(from, to string) error {
	text, err := os.ReadFile(from + KeySuffix)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		_, err = writeOnce(to+KeySuffix, text)
	}
	if err != nil {
		return fmt.Errorf("ledger: the key of statements' texts: %w", err)
	}
	return nil
}
