package main

import (
	"archive/zip"
	"bufio"
	"compress/gzip"
	"crypto/sha256"
	"encoding/csv"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"sort"
	"strconv"
	"strings"

	"github.com/dpsql/dpsql/mlext"
)

// set is a data set as a training and its test read it: rows as numbers of steps, the target last.
type set struct {
	features    []mlext.Feature
	target      mlext.Feature
	train, test [][]int64
	units       []int64   // of the training's rows, ascending; nil: each is one
	most        int       // rows of a unit
	all         [][]int64 // of units of several rows: the training's before it was cut to most of each
}

func (s *set) unit(i int) int64 {
	if s.units == nil {
		return int64(i)
	}
	return s.units[i]
}

// population is what a policy would declare.
func (s *set) population() float64 {
	if s.units == nil {
		return float64(len(s.train))
	}
	n := 1.0
	for i := range s.units[1:] {
		if s.units[i] != s.units[i+1] {
			n++
		}
	}
	return n
}

// steps is how finely numbers are read.
const steps = 1 << 14

// column declares a column as a policy would: a number with a range (read through into, where it is not nil), or a category, whose values are all that the files have.
type column struct {
	name   string
	lo, hi float64
	into   func(float64) float64
}

// build reads records by their columns; nil columns are left out.
func build(columns []*column, records [][]string, target func(string) int64, isTest func(i int) bool) *set {
	s := &set{target: mlext.Feature{Name: "y", Boolean: true, Levels: []string{"false", "true"}, To: 1}}
	levels := make([]map[string]int64, len(columns))
	for c, col := range columns {
		switch {
		case col == nil:
		case col.hi > col.lo:
			s.features = append(s.features, mlext.Feature{Name: col.name, Lo: col.lo, Hi: col.hi, To: steps})
		default:
			seen := map[string]int64{}
			for _, r := range records {
				seen[r[c]] = 0
			}
			var list []string
			for v := range seen {
				list = append(list, v)
			}
			sort.Strings(list)
			for i, v := range list {
				seen[v] = int64(i)
			}
			levels[c] = seen
			s.features = append(s.features, mlext.Feature{Name: col.name, Levels: list, To: int64(len(list) - 1)})
		}
	}
	for i, r := range records {
		var row []int64
		for c, col := range columns {
			switch {
			case col == nil:
			case levels[c] != nil:
				row = append(row, levels[c][r[c]])
			default:
				x, err := strconv.ParseFloat(r[c], 64)
				if err != nil {
					x = (col.lo + col.hi) / 2
				} else if col.into != nil {
					x = col.into(x)
				}
				row = append(row, int64(math.Round((math.Max(col.lo, math.Min(col.hi, x))-col.lo)/(col.hi-col.lo)*steps)))
			}
		}
		row = append(row, target(r[len(r)-1]))
		if isTest(i) {
			s.test = append(s.test, row)
		} else {
			s.train = append(s.train, row)
		}
	}
	return s
}

// fifth picks about every fifth row, always the same ones.
func fifth() func(int) bool {
	return func(i int) bool {
		h := sha256.Sum256([]byte(strconv.Itoa(i)))
		return h[0] < 51
	}
}

func gunzip(path string) (io.Reader, error) {
	f, err := os.Open(path) //nolint:gosec // of the data folder
	if err != nil {
		return nil, err
	}
	return gzip.NewReader(f)
}

func lines(path, comma string, width int) (out [][]string, err error) {
	r, err := gunzip(path)
	if err != nil {
		return nil, err
	}
	sc := bufio.NewScanner(r)
	for sc.Scan() {
		if p := strings.Split(strings.TrimSuffix(sc.Text(), "."), comma); len(p) == width {
			out = append(out, p)
		}
	}
	return out, sc.Err()
}

func adult(folder string) (*set, error) {
	a, err := lines(filepath.Join(folder, "adult", "adult.data.gz"), ", ", 15)
	if err != nil {
		return nil, err
	}
	b, err := lines(filepath.Join(folder, "adult", "adult.test.gz"), ", ", 15)
	if err != nil {
		return nil, err
	}
	n := len(a)
	cat := func(name string) *column { return &column{name: name} }
	return build([]*column{{name: "age", lo: 17, hi: 90}, cat("workclass"), {name: "fnlwgt", hi: 1.5e6}, cat("education"), {name: "education_num", lo: 1, hi: 16}, cat("marital"), cat("occupation"),
		cat("relationship"), cat("race"), cat("sex"), {name: "capital_gain", hi: 99999}, {name: "capital_loss", hi: 4356}, {name: "hours", lo: 1, hi: 99}, cat("country")}, append(a, b...),
		func(y string) int64 { return bit(y == ">50K") }, func(i int) bool { return i >= n }), nil
}

func bit(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

func bank(folder string) (*set, error) {
	records, err := zipped(filepath.Join(folder, "bank-marketing", "bank-additional.zip"), "bank-additional/bank-additional-full.csv", ';')
	if err != nil {
		return nil, err
	}
	cat := func(name string) *column { return &column{name: name} }
	return build([]*column{{name: "age", lo: 17, hi: 98}, cat("job"), cat("marital"), cat("education"), cat("default"), cat("housing"), cat("loan"), cat("contact"), cat("month"), cat("day"), nil, {name: "campaign", lo: 1, hi: 50},
		{name: "pdays", hi: 999}, {name: "previous", hi: 7}, cat("poutcome"), {name: "emp_var_rate", lo: -4, hi: 2}, {name: "price", lo: 92, hi: 95}, {name: "confidence", lo: -51, hi: -26}, {name: "euribor", hi: 6}, {name: "employed", lo: 4900, hi: 5300}}, records[1:],
		func(y string) int64 { return bit(y == "yes") }, fifth()), nil
}

func kdd(folder string) (*set, error) {
	records, err := lines(filepath.Join(folder, "kddcup99", "kddcup.data_10_percent.gz"), ",", 42)
	if err != nil {
		return nil, err
	}
	columns := make([]*column, 41)
	for c := range columns {
		col := &column{name: fmt.Sprintf("c%d", c+1), hi: 1}
		switch {
		case c >= 1 && c <= 3:
			col.hi = 0
		case c == 0, c == 4, c == 5:
			col.hi, col.into = math.Log1p(1e9), math.Log1p
		case c == 22 || c == 23:
			col.hi = 511
		case c == 31 || c == 32:
			col.hi = 255
		case c >= 7 && c <= 18 && c != 11 && c != 13:
			col.hi, col.into = math.Log1p(1e4), math.Log1p
		}
		columns[c] = col
	}
	return build(columns, records, func(y string) int64 { return bit(y != "normal") }, fifth()), nil
}

func zipped(path, name string, comma rune) ([][]string, error) {
	z, err := zip.OpenReader(path)
	if err != nil {
		return nil, err
	}
	defer z.Close() //nolint:errcheck // it is read
	f, err := z.Open(name)
	if err != nil {
		return nil, err
	}
	r := csv.NewReader(f)
	r.Comma = comma
	return r.ReadAll()
}

// images are MNIST's digits, each with one feature: its image.
func images(folder string) (*set, error) {
	s, err := digits(folder, 0, 0)
	if err == nil {
		s.features = []mlext.Feature{{Name: "image", Type: "bytea", Length: 784, Shape: []int{28, 28}, Hi: 255, To: 255}}
	}
	return s, err
}

// digits are two of MNIST's, or all where a is b.
func digits(folder string, a, b byte) (*set, error) {
	s := &set{target: mlext.Feature{Name: "y", Boolean: true, Levels: []string{"false", "true"}, To: 1}}
	if a == b {
		s.target = mlext.Feature{Name: "y", Levels: strings.Split("0123456789", ""), To: 9}
	}
	for p := range 784 {
		s.features = append(s.features, mlext.Feature{Name: fmt.Sprintf("p%d", p), Hi: 255, To: 255})
	}
	read := func(name string, at int) ([]byte, error) {
		r, err := gunzip(filepath.Join(folder, "mnist", name))
		if err != nil {
			return nil, err
		}
		all, err := io.ReadAll(r)
		if err != nil || len(all) < at {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		return all[at:], nil
	}
	for _, part := range []string{"train", "t10k"} {
		x, err := read(part+"-images-idx3-ubyte.gz", 16)
		if err != nil {
			return nil, err
		}
		y, err := read(part+"-labels-idx1-ubyte.gz", 8)
		if err != nil {
			return nil, err
		}
		for i, label := range y {
			if a != b && label != a && label != b {
				continue
			}
			row := make([]int64, 785)
			for p := range 784 {
				row[p] = int64(x[i*784+p])
			}
			if row[784] = bit(label == b); a == b {
				row[784] = int64(label)
			}
			if part == "train" {
				s.train = append(s.train, row)
			} else {
				s.test = append(s.test, row)
			}
		}
	}
	return s, nil
}
