package data

import (
	"bytes"
	"encoding/binary"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
)

// spilled makes two tables of the same rows, one of them mostly on disk.
func spilled(t *testing.T, rows, most int) (held, disk *Table, file *os.File) {
	t.Helper()
	const width = 600
	draw := rand.New(rand.NewPCG(1, 2))
	a, err := NewBuilder(width, most)
	if err != nil {
		t.Fatal(err)
	}
	b, err := NewBuilder(width, most)
	if err != nil {
		t.Fatal(err)
	}
	b.Spill(Limits{Memory: 1, Disk: 1 << 30, File: func() (*os.File, error) {
		file, err = os.Create(filepath.Join(t.TempDir(), "rows"))
		return file, err
	}})
	row := make([]float64, width)
	for i := range rows {
		for j := range row {
			row[j] = draw.Float64()*2 - 1
		}
		if i%7 == 0 { // a row that anybody would find in a file
			clear(row)
			row[0] = 1
		}
		for _, to := range []*Builder{a, b} {
			if err := to.Add(int64(i/most), row, float64(i)); err != nil {
				t.Fatal(err)
			}
		}
	}
	if b.Bytes() > a.Bytes()/2 {
		t.Errorf("in memory are %d bytes, without a limit %d", b.Bytes(), a.Bytes())
	}
	return a.Table(), b.Table(), file
}

// TestSpill: rows that were on disk are the rows, by every way of reading; the file shows none of them, and what was changed in it is noticed.
func TestSpill(t *testing.T) {
	for _, most := range []int{1, 3} {
		held, disk, file := spilled(t, 2000, most)
		defer disk.Wipe()
		if disk.OnDisk() == 0 || held.OnDisk() != 0 {
			t.Fatalf("%d bytes on disk", disk.OnDisk())
		}
		cursor := disk.Cursor()
		defer cursor.Close()
		same := func(i int) {
			want := held.Row(i)
			for _, got := range [][]float32{cursor.Row(i), disk.Row(i)} {
				for j := range want {
					if got[j] != want[j] {
						t.Fatalf("row %d has %g at %d, in memory %g", i, got[j], j, want[j])
					}
				}
			}
			if held.Target(i) != disk.Target(i) || held.Norm(i) != disk.Norm(i) {
				t.Fatalf("row %d has another target or norm", i)
			}
		}
		for i := range 2000 {
			same(i)
		}
		for _, i := range []int{1999, 0, 1500, 3, 700} {
			same(i)
		}
		for u := range held.Units() {
			a, b := held.Unit(u)
			if c, d := disk.Unit(u); a != c || b != d {
				t.Fatalf("unit %d has rows %d to %d, in memory %d to %d", u, c, d, a, b)
			}
		}
		text, err := os.ReadFile(file.Name())
		if err != nil || int64(len(text)) != disk.OnDisk() {
			t.Fatal(len(text), err)
		}
		one := binary.LittleEndian.AppendUint32(nil, math.Float32bits(1))
		for _, plain := range [][]byte{bytes.Repeat([]byte{0}, 16), append([]byte{0, 64}, 0, 0, 0, 0), append(one, 0, 0, 0, 0)} {
			if bytes.Contains(text, plain) {
				t.Errorf("the file shows a row: % x", plain)
			}
		}
		if err := disk.Err(); err != nil {
			t.Fatal(err)
		}
		text[disk.OnDisk()/2] ^= 1
		if err := os.WriteFile(file.Name(), text, 0o600); err != nil {
			t.Fatal(err)
		}
		again := disk.Cursor()
		for i := range 2000 {
			again.Row(i)
		}
		if disk.Err() == nil {
			t.Error("a changed file is read")
		}
	}
}

// TestSpillLimit: a table over its limits is refused, and what it had is closed and wiped.
func TestSpillLimit(t *testing.T) {
	b, err := NewBuilder(1000, 1)
	if err != nil {
		t.Fatal(err)
	}
	var file *os.File
	b.Spill(Limits{Memory: 1, Disk: 1 << 20, File: func() (*os.File, error) {
		file, err = os.Create(filepath.Join(t.TempDir(), "rows"))
		return file, err
	}})
	row := make([]float64, 1000)
	row[3] = 0.5
	for i := 0; err == nil && i < 10_000; i++ {
		err = b.Add(0, row, 1)
	}
	if err == nil {
		t.Fatal("20 MB are in a file of at most 1")
	}
	table := b.Table()
	kept := table.x[len(table.x)-1]
	table.Wipe()
	for _, v := range kept {
		if v != 0 {
			t.Fatal("rows are left in memory")
		}
	}
	if _, err := file.Write([]byte{1}); err == nil {
		t.Error("the file is still open")
	}
}
