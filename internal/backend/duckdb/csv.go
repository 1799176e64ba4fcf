package duckdb

import (
	"bufio"
	"bytes"
	"compress/flate"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"
)

// maxRecord limits one record of a CSV file: an open quote must not swallow the memory.
const maxRecord = 64 << 20

// csvReader reads records by the letter of RFC 4180, with LF or CRLF. DuckDB's own reader and Go's let pass what is no record
// (empty lines, fields too many, quotes within a field, a cut gzip), which would be people lost or made up without a word.
//
// Each line of a record is counted, so that a mistake is told by the line where it is; its words hold nothing of the file.
type csvReader struct {
	in        *bufio.Reader
	separator byte
	fields    []csvField
	lines     int64 // lines read so far
	line      int64 // the record's first
	width     int   // fields of the first record; 0 before
	joined    []byte
}

// csvField is valid until the next record.
type csvField struct {
	text   []byte
	quoted bool
}

// null tells the empty field without quotes from the empty text.
func (f csvField) null() bool { return !f.quoted && len(f.text) == 0 }

// csvError is a mistake in a file.
type csvError struct {
	line int64
	what string
}

func (e *csvError) Error() string { return fmt.Sprintf("line %d: %s", e.line, e.what) }

func newCSVReader(in io.Reader, separator byte) (*csvReader, error) {
	r := &csvReader{in: bufio.NewReaderSize(in, 1<<18), separator: separator}
	head, err := r.in.Peek(3)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, r.broken(err)
	}
	switch {
	case string(head) == "\ufeff":
		_, err = r.in.Discard(3)
		return r, err
	case len(head) >= 2 && (string(head[:2]) == "\xff\xfe" || string(head[:2]) == "\xfe\xff"):
		return nil, &csvError{1, "it is UTF-16: save it as UTF-8"}
	}
	return r, nil
}

// next reads a record into fields; io.EOF at the end. Empty lines may stand at the end of a file of several columns; in a file of
// one, each is a record.
func (r *csvReader) next() error {
	var blank int64
	for {
		record, err := r.record()
		if errors.Is(err, io.EOF) {
			return io.EOF
		}
		if err != nil {
			return err
		}
		if len(record) == 0 && r.width > 1 {
			if blank == 0 {
				blank = r.line
			}
			continue
		}
		if blank > 0 {
			return &csvError{blank, "it is empty"}
		}
		if err := r.split(record); err != nil {
			return err
		}
		if r.width == 0 {
			r.width = len(r.fields)
		}
		if len(r.fields) != r.width {
			return &csvError{r.line, fmt.Sprintf("it has %d fields, the header has %d", len(r.fields), r.width)}
		}
		return nil
	}
}

// record reads up to the end of a line that leaves no quote open: in what RFC 4180 allows, that is where quotes are even.
func (r *csvReader) record() ([]byte, error) {
	r.joined, r.line = r.joined[:0], r.lines+1
	even := true
	for {
		part, err := r.in.ReadSlice('\n')
		if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, bufio.ErrBufferFull) {
			return nil, r.broken(err)
		}
		if err == nil {
			r.lines++
		}
		even = even == (bytes.Count(part, []byte{'"'})%2 == 0)
		whole := part
		if len(r.joined) > 0 || errors.Is(err, bufio.ErrBufferFull) {
			r.joined = append(r.joined, part...)
			whole = r.joined
		}
		switch {
		case errors.Is(err, io.EOF) && len(whole) == 0:
			return nil, io.EOF
		case errors.Is(err, io.EOF):
			return whole, nil
		case err == nil && even:
			whole = whole[:len(whole)-1]
			return bytes.TrimSuffix(whole, []byte{'\r'}), nil
		case len(whole) > maxRecord:
			return nil, r.tooLong(whole)
		case err == nil && len(r.joined) == 0:
			r.joined = append(r.joined, part...)
		}
	}
}

// tooLong finds why a record has no end: most often a quote that should not be there.
func (r *csvReader) tooLong(record []byte) error {
	if err := r.split(record); err != nil {
		return err
	}
	return &csvError{r.line, "a record is longer than 64 MiB"}
}

// broken is a failure below the text.
func (r *csvReader) broken(err error) error {
	var corrupt flate.CorruptInputError
	if errors.Is(err, gzip.ErrHeader) || errors.Is(err, gzip.ErrChecksum) || errors.Is(err, io.ErrUnexpectedEOF) || errors.As(err, &corrupt) {
		return &csvError{r.lines + 1, "here the gzip is cut or damaged"}
	}
	return err
}

func (r *csvReader) split(record []byte) error {
	at := func(offset int, what string) error {
		return &csvError{r.line + int64(bytes.Count(record[:offset], []byte{'\n'})), what}
	}
	if i := bytes.IndexByte(record, 0); i >= 0 {
		return at(i, "it has a byte zero")
	}
	if !utf8.Valid(record) {
		i := 0
		for {
			c, n := utf8.DecodeRune(record[i:])
			if c == utf8.RuneError && n <= 1 {
				return at(i, "it is not UTF-8 (Latin-1, perhaps: save it as UTF-8)")
			}
			i += n
		}
	}
	r.fields = r.fields[:0]
	for i := 0; ; i++ { // i is where a field begins
		f, end, err := r.field(record, i, at)
		if err != nil {
			return err
		}
		r.fields = append(r.fields, f)
		if end == len(record) {
			return nil
		}
		i = end
	}
}

// otherwise is a hint at a file whose columns are not separated by commas.
func otherwise(sign byte) string {
	if sign == ';' || sign == '\t' {
		return "; columns are separated by commas, or by tabs in .tsv"
	}
	return ""
}

// field reads one field; end is its separator's place, or the record's end.
func (r *csvReader) field(record []byte, start int, at func(int, string) error) (f csvField, end int, err error) {
	rest := record[start:]
	if len(rest) == 0 || rest[0] != '"' {
		n := bytes.IndexByte(rest, r.separator)
		if n < 0 {
			n = len(rest)
		}
		if i := bytes.IndexAny(rest[:n], "\"\r\n"); i >= 0 {
			what := "a quote stands in a field that does not begin with one (quote the field, and write its quotes twice)"
			if rest[i] != '"' {
				what = "a line ends in CR alone (end lines in LF or CRLF)"
			}
			return f, 0, at(start+i, what)
		}
		return csvField{text: rest[:n]}, start + n, nil
	}
	doubled := false
	for i := 1; ; i += 2 {
		n := bytes.IndexByte(rest[min(i, len(rest)):], '"')
		if n < 0 {
			return f, 0, at(start, "a quote is not closed")
		}
		i += n
		if i+1 < len(rest) && rest[i+1] == '"' {
			doubled = true
			continue
		}
		if i+1 < len(rest) && rest[i+1] != r.separator {
			return f, 0, at(start+i, "something follows a closing quote (a quote within a field is written twice"+otherwise(rest[i+1])+")")
		}
		text := rest[1:i]
		if doubled {
			text = bytes.ReplaceAll(text, []byte(`""`), []byte(`"`))
		}
		return csvField{text: text, quoted: true}, start + i + 1, nil
	}
}
