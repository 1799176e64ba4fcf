package policy

import (
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"regexp"
	"slices"
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

// iterations is a checked verifier's count, and the length of its salt; zeros of none.
func iterations(verifier string) (count, salt int) {
	if m := verifierShape.FindStringSubmatch(verifier); m != nil {
		count, _ = strconv.Atoi(m[1])
		b, _ := base64.StdEncoding.DecodeString(m[2])
		salt = len(b)
	}
	return count, salt
}

// Iterations are the counts of the analysts' verifiers, each once.
func (p *Policy) Iterations() []int {
	var out []int
	for _, a := range p.Analysts {
		if n, _ := iterations(a.Verifier); n > 0 && !slices.Contains(out, n) {
			out = append(out, n)
		}
	}
	return out
}

// verifiers warns of analysts whose verifiers are not of the common form: at a log-in everybody is told the count and the salt.
func (w *warnings) verifiers(list []*Analyst) {
	of := map[int]int{}
	for _, a := range list {
		n, _ := iterations(a.Verifier)
		of[n]++
	}
	usual := scramIterations
	for n, analysts := range of {
		if n > 0 && (analysts > of[usual] || analysts == of[usual] && n < usual) {
			usual = n
		}
	}
	for _, a := range list {
		n, salt := iterations(a.Verifier)
		switch {
		case n == 0:
		case n != usual:
			w.add(a.at, "analysts.%s: the verifier has %d iterations and others have %d: whoever tries to log in can tell that the name exists", a.Name, n, usual).
				hint("make it anew: dpsql user hash")
		case salt != scramSalt:
			w.add(a.at, "analysts.%s: the verifier's salt has %d bytes in place of %d: whoever tries to log in can tell that the name exists", a.Name, salt, scramSalt).
				hint("make it anew: dpsql user hash")
		}
	}
}
