package sqltype

import "net/netip"

// An inet of the catalogs is a text that is a single address. Its binary form has PostgreSQL's numbers of families, which are not every system's.
func appendInetBinary(dst []byte, text string) ([]byte, error) {
	const v4, v6 = 2, 3
	a, err := netip.ParseAddr(text)
	if err != nil {
		return nil, err
	}
	family := byte(v6)
	if a.Is4() {
		family = v4
	}
	b := a.AsSlice()
	return append(append(dst, family, byte(len(b)*8), 0, byte(len(b))), b...), nil //nolint:gosec // G115: 4 or 16
}
