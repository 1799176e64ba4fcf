package duckdb

import (
	"bytes"
	"encoding/csv"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
)

// records reads all of a text; a NULL is "\x00".
func records(text []byte, separator byte) (out [][]string, err error) {
	r, err := newCSVReader(bytes.NewReader(text), separator)
	if err != nil {
		return nil, err
	}
	for {
		if err := r.next(); errors.Is(err, io.EOF) {
			return out, nil
		} else if err != nil {
			return nil, err
		}
		var record []string
		for _, f := range r.fields {
			if f.null() {
				record = append(record, "\x00")
			} else {
				record = append(record, string(f.text))
			}
		}
		out = append(out, record)
	}
}

// TestCSV: what is a record and what is not, with the line of the mistake.
func TestCSV(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"a,b\n1,2\n", "a|b 1|2"},
		{"a,b\n1,2", "a|b 1|2"},
		{"a,b\r\n1,2\r\n", "a|b 1|2"},
		{"a,b\n1,2\r\n3,4\n", "a|b 1|2 3|4"},
		{"\ufeffa,b\n1,2\n", "a|b 1|2"},
		{"\ufeff\"a\",b\n1,2\n", "a|b 1|2"},
		{"a,b\n,\"\"\n", "a|b \x00|"},
		{"a,b\n1,\"x\r\ny\n\"\n", "a|b 1|x\r\ny\n"},
		{"a,b\n\"\"\"\",\"\"\"x\"\"\"\n", "a|b \"|\"x\""},
		{"a,b\n\"1,2\",3\n\n\r\n\n", "a|b 1,2|3"},
		{"a\n1\n\n3\n", "a 1 \x00 3"},
		{"a,b\n x ,\\\n", "a|b  x |\\"},
		{"\"a\n\",b\n1,2\n", "a\n|b 1|2"},
		{"a,b", "a|b"},
		{"", ""},
		{"a,b\n1,2\n\n3,4\n", "line 3: it is empty"},
		{"a,b\n1\n", "line 2: it has 1 fields, the header has 2"},
		{"a,b\n\"x\n\",1\n1,2,3\n", "line 4: it has 3 fields, the header has 2"},
		{"a,b\n1,2,\n", "line 2: it has 3 fields"},
		{"a,b\n1,x\"y\n", "line 2: a quote stands in a field"},
		{"a,b\n1, \"x\"\n", "line 2: a quote stands in a field"},
		{"a,b\n1,5\"\n3,4\n5,\"6\"\n", "line 2: a quote stands in a field"},
		{"a,b\n1,\"x\"y\n", "line 2: something follows a closing quote"},
		{"a,b\n1,\"x\n\"y\n", "line 3: something follows a closing quote"},
		{"a,b\n\"1\n2\n3", "line 2: a quote is not closed"},
		{"a,b\n1,\"", "line 2: a quote is not closed"},
		{"a,b\n1,\"\"\"\n", "line 2: a quote is not closed"},
		{"a,b\r1,2\r", "line 1: a line ends in CR alone"},
		{"a,b\n1,x\ry\n", "line 2: a line ends in CR alone"},
		{"a,b\n1,\"x\ny\x00\"\n", "line 3: it has a byte zero"},
		{"a,b\n1,\"x\n\nM\xfcller\"\n", "line 4: it is not UTF-8"},
		{"a,b\n1,\xed\xa0\x80\n", "line 2: it is not UTF-8"},
		{"\xff\xfea\x00\n\x00", "line 1: it is UTF-16"},
		{"\xfe\xff\x00a\x00\n", "line 1: it is UTF-16"},
	} {
		got, err := records([]byte(c.text), ',')
		var lines []string
		for _, r := range got {
			lines = append(lines, strings.Join(r, "|"))
		}
		s := strings.Join(lines, " ")
		if err != nil {
			if s = err.Error(); strings.HasPrefix(s, c.want) && c.want != "" {
				continue
			}
		}
		if s != c.want {
			t.Errorf("%q: got %q, want %q", c.text, s, c.want)
		}
	}
	if got, err := records([]byte("a\tb,c\n1\t\"2\t3\"\n"), '\t'); err != nil || !slices.Equal(got[0], []string{"a", "b,c"}) || !slices.Equal(got[1], []string{"1", "2\t3"}) {
		t.Errorf("%q, %v", got, err)
	}
}

// TestLongRecords: records across the buffer's end are whole; one without end is refused in bounded memory, and for its cause.
func TestLongRecords(t *testing.T) {
	long := strings.Repeat("x\"\"\r\n", 300_000)
	got, err := records([]byte("a,b\n1,\""+long+"\"\n2,"+strings.Repeat("y", 1_000_000)+"\n3,z\n"), ',')
	if err != nil || len(got) != 4 || got[1][1] != strings.ReplaceAll(long, `""`, `"`) || len(got[2][1]) != 1_000_000 || got[3][1] != "z" {
		t.Errorf("%d records, %v", len(got), err)
	}
	for head, want := range map[string]string{
		"a,b\n1,2\n3,\"x": "line 3: a quote is not closed", "a,b\n1,x": "line 2: a record is longer than 64 MiB", "a,b\n1,2\" x": "line 2: a quote stands in a field",
	} {
		r, err := newCSVReader(io.MultiReader(strings.NewReader(head), endlessReader{}), ',')
		for err == nil {
			err = r.next()
		}
		if err.Error()[:min(len(want), len(err.Error()))] != want {
			t.Errorf("%q...: %v, want %s", head, err, want)
		}
	}
}

type endlessReader struct{}

func (endlessReader) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	return len(p), nil
}

// FuzzCSV: what is accepted, encoding/csv reads alike (but for what it changes: empty lines, CRLF within quotes), and written
// again it is the same.
func FuzzCSV(f *testing.F) {
	for _, s := range []string{"a,b\n1,\"x\"\"\r\ny\"\n,\"\"\n", "\ufeffa\n\n1\r\n", "a,\"b\nc\"\n\"\",2", "a\n\"", "a,b\n1,x\ry\n", "\"\"\n\"\"\"\"\n"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		got, err := records(text, ',')
		if err != nil {
			return
		}
		r := csv.NewReader(bytes.NewReader(bytes.TrimPrefix(text, []byte("\ufeff"))))
		other, err := r.ReadAll()
		if err != nil {
			t.Fatalf("accepted, but %v", err)
		}
		var same [][]string
		for _, record := range got {
			if len(record) == 1 && record[0] == "\x00" { // perhaps an empty line, which the other passes over
				continue
			}
			var fields []string
			for _, s := range record {
				fields = append(fields, strings.ReplaceAll(strings.Trim(s, "\x00"), "\r\n", "\n"))
			}
			same = append(same, fields)
		}
		if !slices.EqualFunc(same, other, slices.Equal) {
			t.Fatalf("read as %q, by encoding/csv as %q", same, other)
		}
		again, err := records(written(got), ',')
		if err != nil || !slices.EqualFunc(got, again, slices.Equal) {
			t.Fatalf("%q became %q, %v", got, again, err)
		}
	})
}

// written is records as CSV, all that is not NULL in quotes.
func written(list [][]string) []byte {
	var b bytes.Buffer
	for _, r := range list {
		for i, s := range r {
			if i > 0 {
				b.WriteByte(',')
			}
			if s != "\x00" {
				b.WriteString(`"` + strings.ReplaceAll(s, `"`, `""`) + `"`)
			}
		}
		b.WriteByte('\n')
	}
	return b.Bytes()
}
