package postgres

import "testing"

func TestVersionIsChecked(t *testing.T) {
	for text, ok := range map[string]bool{
		"13.0": true, "15.18 (Debian 15.18-0+deb12u1)": true, "18beta1": true, "17": true, "100.1": true,
		"12.22": false, "9.6.24": false, "": false, "devel": false, "-15": false,
	} {
		if err := checkVersion(text); (err == nil) != ok {
			t.Errorf("version %q: %v", text, err)
		}
	}
}

func TestClasses(t *testing.T) {
	for code, want := range map[string]string{
		"57014": "timeout", "55P03": "timeout", "57P01": "unavailable", "08006": "unavailable", "53200": "resource", "53100": "resource",
		"54001": "resource", "58030": "resource", "22P02": "other", "25006": "other", "42P01": "other", "XX000": "other", "x": "other",
	} {
		if got := classOf(code); string(got) != want {
			t.Errorf("%s is %s, want %s", code, got, want)
		}
	}
}
