package flow

import "encoding/binary"

// column holds numbers that are not negative, each in as many bytes as the largest of them needs: most pairs have few rows.
type column struct {
	bytes []byte
	width int // 1, 2, 4 or 8
}

func newColumn(n, width int) column { return column{make([]byte, n*width), width} }

// widthOf is how many bytes a number needs.
func widthOf(v int64) int {
	switch {
	case v < 1<<8:
		return 1
	case v < 1<<16:
		return 2
	case v < 1<<32:
		return 4
	}
	return 8
}

func (c *column) at(i int32) int64 {
	switch c.width {
	case 1:
		return int64(c.bytes[i])
	case 2:
		return int64(binary.LittleEndian.Uint16(c.bytes[2*int(i):]))
	case 4:
		return int64(binary.LittleEndian.Uint32(c.bytes[4*int(i):]))
	}
	return int64(binary.LittleEndian.Uint64(c.bytes[8*int(i):]))
}

func (c *column) set(i int32, v int64) {
	switch c.width {
	case 1:
		c.bytes[i] = byte(v)
	case 2:
		binary.LittleEndian.PutUint16(c.bytes[2*int(i):], uint16(v))
	case 4:
		binary.LittleEndian.PutUint32(c.bytes[4*int(i):], uint32(v))
	default:
		binary.LittleEndian.PutUint64(c.bytes[8*int(i):], uint64(v))
	}
}

// widened is the column with room for wider numbers, of which the first n are kept.
func (c *column) widened(width, n int) column {
	out := newColumn(len(c.bytes)/c.width, width)
	for i := range int32(n) {
		out.set(i, c.at(i))
	}
	return out
}
