package mlext

import (
	"encoding/binary"
	"fmt"
	"math"
)

// images adds the convolutions of a network over an image, and gives the name of what its first layer reads. They are in single precision, as in training, and as onnxruntime has them.
func (g *graph) images(m *Model) string {
	f := &m.Features[0]
	height, width, channels := f.image()
	by := 0.0
	if f.Hi > f.Lo {
		by = 1 / (f.Hi - f.Lo)
	}
	g.node("Sub", "", []string{"/column1", g.constants(f.Lo)}, "/above")
	g.node("Mul", "", []string{"/above", g.constants(by)}, "/elements")
	g.node("Cast", "", []string{"/elements"}, "/single", intAttr("to", onnxFloat))
	g.list("/image_shape", []int64{-1, int64(height), int64(width), int64(channels)})
	g.node("Reshape", "", []string{"/single", "/image_shape"}, "/lines")
	g.node("Transpose", "", []string{"/lines"}, "/image", intsAttr("perm", []int64{0, 3, 1, 2})) // ONNX has channels first
	c, _ := m.networkOfImages()
	convs, dense, _, _ := c.Shape()
	h, w, last := height, width, "/image"
	for i, v := range convs {
		name, of := fmt.Sprintf("/convolution%d", i+1), &m.Convolutions[i]
		var weights []float32
		for k := range v.Count {
			for ch := range v.Channels {
				for place := range v.Size * v.Size {
					weights = append(weights, float32(of.Weights[k][place*v.Channels+ch]))
				}
			}
		}
		g.floats(name+"_weights", weights, v.Count, v.Channels, v.Size, v.Size)
		biases := make([]float32, v.Count)
		for k, b := range of.Biases {
			biases[k] = float32(b)
		}
		g.floats(name+"_biases", biases, v.Count)
		pads := []int64{int64(v.Above), int64(v.Left), int64(v.InHeight - h - v.Above), int64(v.InWidth - w - v.Left)}
		g.node("Conv", "", []string{last, name + "_weights", name + "_biases"}, name, intsAttr("kernel_shape", []int64{int64(v.Size), int64(v.Size)}), intsAttr("strides", []int64{int64(v.Stride), int64(v.Stride)}), intsAttr("pads", pads))
		g.node("MaxPool", "", []string{name}, name+"_largest", intsAttr("kernel_shape", []int64{2, 2}), intsAttr("strides", []int64{1, 1}))
		if last = name + "_largest"; i < len(convs)-1 {
			g.node("Tanh", "", []string{last}, name+"_values")
			last = name + "_values"
		}
		h, w = v.PoolHeight, v.PoolWidth
	}
	g.node("Transpose", "", []string{last}, "/places", intsAttr("perm", []int64{0, 2, 3, 1}))
	g.list("/places_shape", []int64{-1, int64(dense[0].In - 1)})
	g.node("Reshape", "", []string{"/places", "/places_shape"}, "/flat")
	g.node("Cast", "", []string{"/flat"}, "/scores0", intAttr("to", onnxDouble))
	return "/scores0"
}

// floats adds a constant tensor of single precision.
func (g *graph) floats(name string, values []float32, dims ...int) {
	var t, raw []byte
	for _, d := range dims {
		t = varint(t, 1, uint64(d))
	}
	for _, v := range values {
		raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(v))
	}
	g.initializers = append(g.initializers, part(part(varint(t, 2, onnxFloat), 8, []byte(name)), 9, raw))
}

// list adds whole numbers in one dimension, as shapes are.
func (g *graph) list(name string, values []int64) {
	var raw []byte
	for _, v := range values {
		raw = binary.LittleEndian.AppendUint64(raw, uint64(v)) //nolint:gosec // its bits
	}
	t := varint(varint(nil, 1, uint64(len(values))), 2, onnxInt64)
	g.initializers = append(g.initializers, part(part(t, 8, []byte(name)), 9, raw))
}
