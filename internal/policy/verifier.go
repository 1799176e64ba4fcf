package policy

import (
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"regexp"
	"strconv"

	"github.com/xdg-go/scram"
)

const (
	scramName       = "SCRAM-SHA-256"
	scramIterations = 4096    // PostgreSQL's default; clients refuse fewer
	maxIterations   = 1 << 20 // more would let a policy stall its clients
	scramSalt       = 16
	scramKey        = 32
)

// MakeVerifier makes PostgreSQL's form of a SCRAM-SHA-256 verifier, SCRAM-SHA-256$iterations:salt$StoredKey:ServerKey, with a
// fresh random salt (RFC 5802, RFC 7677). A password that SASLprep refuses is used as it is, as PostgreSQL does.
func MakeVerifier(password string) (string, error) {
	if password == "" {
		return "", errors.New("the password is empty")
	}
	client, err := scram.SHA256.NewClient("", password, "")
	if err != nil {
		if client, err = scram.SHA256.NewClientUnprepped("", password, ""); err != nil {
			return "", err
		}
	}
	salt := make([]byte, scramSalt)
	if _, err := rand.Read(salt); err != nil {
		return "", err
	}
	c, err := client.GetStoredCredentialsWithError(scram.KeyFactors{Salt: string(salt), Iters: scramIterations})
	if err != nil {
		return "", err
	}
	b64 := base64.StdEncoding.EncodeToString
	return fmt.Sprintf("%s$%d:%s$%s:%s", scramName, scramIterations, b64(salt), b64(c.StoredKey), b64(c.ServerKey)), nil
}

var verifierShape = regexp.MustCompile(`^SCRAM-SHA-256\$([1-9][0-9]{0,8}):([A-Za-z0-9+/=]+)\$([A-Za-z0-9+/=]+):([A-Za-z0-9+/=]+)$`)

// checkVerifier says what is wrong with a verifier, without repeating it.
func checkVerifier(v string) error {
	m := verifierShape.FindStringSubmatch(v)
	if m == nil {
		return errors.New("the password must be a verifier SCRAM-SHA-256$iterations:salt$StoredKey:ServerKey, or env:NAME of one, never the password itself")
	}
	if n, err := strconv.Atoi(m[1]); err != nil || n < scramIterations || n > maxIterations {
		return fmt.Errorf("the verifier must have %d to %d iterations", scramIterations, maxIterations)
	}
	for i, length := range []func(int) bool{
		func(n int) bool { return n >= 8 && n <= 64 },
		func(n int) bool { return n == scramKey },
		func(n int) bool { return n == scramKey },
	} {
		b, err := base64.StdEncoding.Strict().DecodeString(m[i+2])
		if err != nil || !length(len(b)) {
			return errors.New("the verifier's salt or keys are damaged")
		}
	}
	return nil
}
