package sqltype_test

import (
	"bytes"
	"testing"

	"github.com/dpsql/dpsql/internal/base/sqltype"
)

// TestInet: the binary form is inet_send's.
func TestInet(t *testing.T) {
	inet := sqltype.Type{OID: sqltype.OIDInet, Typmod: -1}
	for text, want := range map[string][]byte{"127.0.0.1": {2, 32, 0, 4, 127, 0, 0, 1}, "::1": append([]byte{3, 128, 0, 16}, append(make([]byte, 15), 1)...)} {
		if got, err := sqltype.Encode(text, inet, sqltype.BinaryFormat, nil); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s: %v %v", text, got, err)
		}
	}
	if _, err := sqltype.Encode("nothing", inet, sqltype.BinaryFormat, nil); err == nil {
		t.Error("what is no address is sent")
	}
}
