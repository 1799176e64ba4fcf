package policy

import (
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"regexp"
	"strconv"

	"github.com/goccy/go-yaml/ast"
	"github.com/xdg-go/scram"
)

const (
	scramName     = "SCRAM-SHA-256"
	maxIterations = 1 << 20 // more would let a policy stall its clients
	scramSalt     = 16
	scramKey      = 32
)

// DefaultIterations is PostgreSQL's scram_iterations; clients refuse fewer.
const DefaultIterations = 4096

// MakeVerifier makes PostgreSQL's form of a SCRAM-SHA-256 verifier, SCRAM-SHA-256$iterations:salt$StoredKey:ServerKey, with a
// fresh random salt (RFC 5802, RFC 7677). A password that SASLprep refuses is used as it is, as PostgreSQL does.
func MakeVerifier(password string, iterations int) (string, error) {
	if iterations < DefaultIterations || iterations > maxIterations {
		return "", fmt.Errorf("a verifier has %d to %d iterations", DefaultIterations, maxIterations)
	}
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
	c, err := client.GetStoredCredentialsWithError(scram.KeyFactors{Salt: string(salt), Iters: iterations})
	if err != nil {
		return "", err
	}
	b64 := base64.StdEncoding.EncodeToString
	return fmt.Sprintf("%s$%d:%s$%s:%s", scramName, iterations, b64(salt), b64(c.StoredKey), b64(c.ServerKey)), nil
}

var verifierShape = regexp.MustCompile(`^SCRAM-SHA-256\$([1-9][0-9]{0,8}):([A-Za-z0-9+/=]+)\$([A-Za-z0-9+/=]+):([A-Za-z0-9+/=]+)$`)

// checkVerifier says what is wrong with a verifier, without repeating it.
func checkVerifier(v string) error {
	m := verifierShape.FindStringSubmatch(v)
	if m == nil {
		return errors.New("the password must be a verifier SCRAM-SHA-256$iterations:salt$StoredKey:ServerKey, or env:NAME of one, never the password itself")
	}
	if n, err := strconv.Atoi(m[1]); err != nil || n < DefaultIterations || n > maxIterations {
		return fmt.Errorf("the verifier must have %d to %d iterations", DefaultIterations, maxIterations)
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

// iterations is a checked verifier's count, and the length of its salt; zeros of none.
func iterations(verifier string) (count, salt int) {
	if m := verifierShape.FindStringSubmatch(verifier); m != nil {
		count, _ = strconv.Atoi(m[1])
		b, _ := base64.StdEncoding.DecodeString(m[2])
		salt = len(b)
	}
	return count, salt
}

// iterations reads the count of analysts' verifiers.
func (f *file) iterations(n ast.Node) {
	count, where, ok := f.count(n, "scram_iterations", maxIterations)
	switch {
	case ok && count < DefaultIterations:
		f.add(where, "scram_iterations must be at least %d", DefaultIterations)
	case ok:
		f.p.ScramIterations = int(count)
	}
}

// verifiers warns of analysts whose verifiers are not of the common form: at a log-in everybody is told the count and the salt.
func (w *warnings) verifiers(p *Policy) {
	for _, a := range p.Analysts {
		n, salt := iterations(a.Verifier)
		switch {
		case n == 0:
		case n != p.ScramIterations:
			w.add(a.at, "analysts.%s: the verifier has %d iterations and names that do not exist are shown %d: whoever tries to log in can tell that the name exists", a.Name, n, p.ScramIterations).
				hint("scram_iterations: %d, if all verifiers have it; else make this one anew: dpsql user hash --iterations %d", n, p.ScramIterations)
		case salt != scramSalt:
			w.add(a.at, "analysts.%s: the verifier's salt has %d bytes in place of %d: whoever tries to log in can tell that the name exists", a.Name, salt, scramSalt).
				hint("make it anew: dpsql user hash --iterations %d", p.ScramIterations)
		}
	}
}
