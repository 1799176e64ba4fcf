package mlext

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/dpsql/dpsql/mlext/descent"
)

// ONNX is the model as a graph of ai.onnx and ai.onnx.ml operators, in double precision: an input a feature, each a column of its natural form (a number, a boolean, a text; a date as days since 1970-01-01) or, of an array, a matrix of its elements, and outputs as dp_predict and dp_predict_proba say them. Values are
// clamped and unknown categories count nothing, as in Predict. There is no NULL: NaN is the middle of a number's range where the model was trained so, else the range's upper end, as Predict reads NaN.
func (m *Model) ONNX() ([]byte, error) {
	of, err := m.family()
	if err != nil {
		return nil, err
	}
	g := &graph{}
	for i := range m.Features {
		g.feature(m, i)
	}
	var scores string
	if m.IsOfImages() {
		scores = g.images(m)
	} else {
		scores = g.first(m)
	}
	for i := range m.Layers {
		scores = g.layer(&m.Layers[i], i+1, len(m.Layers), scores)
	}
	if err := g.says(m, of); err != nil {
		return nil, err
	}
	return g.model(m), nil
}

// first adds the linear scores of the features.
func (g *graph) first(m *Model) string {
	intercepts := make([]float64, len(m.Scores))
	for k, s := range m.Scores {
		intercepts[k] = s.Intercept
	}
	g.node("Concat", "", g.columns, "/encoded", intAttr("axis", 1))
	g.doubles("/weights", g.weights, len(g.weights)/len(m.Scores), len(m.Scores))
	g.doubles("/intercepts", intercepts, len(intercepts))
	g.node("MatMul", "", []string{"/encoded", "/weights"}, "/products")
	scores := "/scores"
	if len(m.Layers) > 0 {
		scores = "/scores0"
	}
	g.node("Add", "", []string{"/products", "/intercepts"}, scores)
	return scores
}

// ONNX's types of elements.
const (
	onnxFloat  = 1
	onnxInt64  = 7
	onnxString = 8
	onnxBool   = 9
	onnxDouble = 11
)

// graph is a graph that grows; each part is encoded as it is added.
type graph struct {
	nodes, initializers, inputs, outputs [][]byte
	columns                              []string  // of doubles, one or a matrix a feature
	weights                              []float64 // their coefficients, a row of all scores each
	names                                []string  // of inputs and outputs
	count                                int
}

const epochDays = 10957 // from 1970-01-01 to 2000-01-01, from which dates are counted here

// feature adds an input, and the columns that it becomes.
func (g *graph) feature(m *Model, i int) {
	f, in, out := &m.Features[i], g.free(m.Features[i].Name), fmt.Sprintf("/column%d", i+1)
	row := func(level int) {
		for _, s := range m.Scores {
			g.weights = append(g.weights, s.Coefficients[i][level])
		}
	}
	g.columns = append(g.columns, out)
	switch {
	case f.Boolean: // false is the first level: it is 1 of two columns
		g.input(in, onnxBool, 1, "")
		g.node("Cast", "", []string{in}, out+"_true", intAttr("to", onnxDouble))
		one := g.constants(1)
		g.node("Sub", "", []string{one, out + "_true"}, out+"_false")
		g.node("Concat", "", []string{out + "_false", out + "_true"}, out, intAttr("axis", 1))
		row(0)
		row(1)
	case f.Levels != nil:
		of, levels := in, make([]int64, len(f.Levels))
		whole := f.Type == "smallint" || f.Type == "integer" || f.Type == "bigint"
		for l, text := range f.Levels {
			n, err := strconv.ParseInt(text, 10, 64)
			if levels[l] = n; !whole || err != nil {
				whole, levels[l] = false, int64(l)
			}
			row(l)
		}
		if whole {
			g.input(in, onnxInt64, 1, "")
		} else { // each text's place, -1 for others
			for l := range levels {
				levels[l] = int64(l)
			}
			g.input(in, onnxString, 1, "")
			of = out + "_place"
			g.node("LabelEncoder", "ai.onnx.ml", []string{in}, of, stringsAttr("keys_strings", f.Levels), intsAttr("values_int64s", levels), intAttr("default_int64", -1))
		}
		g.ints(out+"_levels", levels)
		g.node("Equal", "", []string{of, out + "_levels"}, out+"_is")
		g.node("Cast", "", []string{out + "_is"}, out, intAttr("to", onnxDouble))
	case f.Type == "date":
		g.input(in, onnxInt64, 1, "days since 1970-01-01")
		g.node("Cast", "", []string{in}, out+"_days", intAttr("to", onnxDouble))
		g.node("Sub", "", []string{out + "_days", g.constants(epochDays)}, out+"_since")
		g.node("Clip", "", []string{out + "_since", g.constants(f.Lo), g.constants(f.Hi)}, out)
		row(0)
		g.bins(m, i, out)
	default:
		says, missing := "", f.Hi
		if strings.HasPrefix(f.Type, "timestamp") {
			says = "microseconds since 2000-01-01"
		}
		if m.Fill && f.Length == 0 {
			missing = f.middle()
		}
		g.input(in, onnxDouble, f.cells(), says)
		g.node("IsNaN", "", []string{in}, out+"_missing")
		g.node("Where", "", []string{out + "_missing", g.constants(missing), in}, out+"_there")
		g.node("Clip", "", []string{out + "_there", g.constants(f.Lo), g.constants(f.Hi)}, out)
		for cell := range f.cells() {
			row(cell)
		}
		g.bins(m, i, out)
	}
}

// bins add to a number's column one for each end of its bins, which is 1 below it, with what the coefficient falls by there.
func (g *graph) bins(m *Model, i int, column string) {
	ends := m.Features[i].Bins
	if ends == nil {
		return
	}
	g.doubles(column+"_ends", ends, len(ends))
	g.node("Less", "", []string{column, column + "_ends"}, column+"_less")
	g.node("Cast", "", []string{column + "_less"}, column+"_below", intAttr("to", onnxDouble))
	for j := range ends {
		for _, s := range m.Scores {
			c := s.Coefficients[i][1:]
			next := 0.0
			if j+1 < len(c) {
				next = c[j+1]
			}
			g.weights = append(g.weights, c[j]-next)
		}
	}
	g.columns = append(g.columns, column+"_below")
}

// layer adds a layer of a network, over the scores before it. The last one's are "/scores".
func (g *graph) layer(l *Layer, i, of int, scores string) string {
	name, next := fmt.Sprintf("/layer%d", i), fmt.Sprintf("/scores%d", i)
	if i == of {
		next = "/scores"
	}
	switch _, hi := descent.Activation(l.Activation).Range(); l.Activation { // onnxruntime has no Elu, and no Relu before a Clip, in double precision
	case "tanh":
		g.node("Tanh", "", []string{scores}, name)
	case "relu":
		g.node("Clip", "", []string{scores, g.constants(0), g.constants(hi)}, name)
	default: // elu: the part above 0, and what the part below 0 has
		g.node("Clip", "", []string{scores, g.constants(0), g.constants(hi)}, name+"_above")
		g.node("Min", "", []string{scores, g.constants(0)}, name+"_below")
		g.node("Exp", "", []string{name + "_below"}, name+"_power")
		g.node("Sub", "", []string{name + "_power", g.constants(1)}, name+"_less")
		g.node("Add", "", []string{name + "_above", name + "_less"}, name)
	}
	var weights []float64 // a row of all scores for each value
	for j := range l.Coefficients[0] {
		for c := range l.Coefficients {
			weights = append(weights, l.Coefficients[c][j])
		}
	}
	g.doubles(name+"_weights", weights, len(l.Coefficients[0]), len(l.Coefficients))
	g.doubles(name+"_biases", l.Biases, len(l.Biases))
	g.node("MatMul", "", []string{name, name + "_weights"}, name+"_products")
	g.node("Add", "", []string{name + "_products", name + "_biases"}, next)
	return next
}

// says adds the outputs.
func (g *graph) says(m *Model, of *family) error {
	t := &m.Target
	switch of.target {
	case oneOfTwo:
		if of.shares {
			g.node("Sigmoid", "", []string{"/scores"}, "/probability")
			g.output("/probability", "probability", onnxDouble, 1)
		} else {
			g.output("/scores", "margin", onnxDouble, 1)
		}
		g.node("Greater", "", []string{"/scores", g.constants(0)}, "/positive")
		if t.Boolean {
			g.output("/positive", "label", onnxBool, 1)
			return nil
		}
		g.node("Cast", "", []string{"/positive"}, "/class", intAttr("to", onnxInt64))
		g.label(t)
	case oneOfSeveral:
		g.node("Softmax", "", []string{"/scores"}, "/probabilities", intAttr("axis", 1))
		g.output("/probabilities", "probabilities", onnxDouble, m.outputs())
		g.node("ReduceMax", "", []string{"/probabilities"}, "/probability", intsAttr("axes", []int64{1}), intAttr("keepdims", 1))
		g.output("/probability", "probability", onnxDouble, 1)
		g.node("ArgMax", "", []string{"/scores"}, "/class", intAttr("axis", 1), intAttr("keepdims", 1))
		g.label(t)
	case aNumber:
		g.node("Mul", "", []string{"/scores", g.constants((t.Hi - t.Lo) / 2)}, "/scaled")
		g.node("Add", "", []string{"/scaled", g.constants((t.Lo + t.Hi) / 2)}, "/moved")
		g.node("Clip", "", []string{"/moved", g.constants(t.Lo), g.constants(t.Hi)}, "/value")
		g.output("/value", "value", onnxDouble, 1)
	case aCount:
		g.node("Exp", "", []string{"/scores"}, "/mean")
		g.node("Min", "", []string{"/mean", g.constants(t.Hi)}, "/value")
		g.output("/value", "value", onnxDouble, 1)
	default:
		return of.unread()
	}
	return nil
}

// label turns a class's number into its value.
func (g *graph) label(t *Feature) {
	if t.Levels == nil { // 0 and 1 themselves
		g.output("/class", "label", onnxInt64, 1)
		return
	}
	places := make([]int64, len(t.Levels))
	for i := range places {
		places[i] = int64(i)
	}
	g.node("LabelEncoder", "ai.onnx.ml", []string{"/class"}, "/label", intsAttr("keys_int64s", places), stringsAttr("values_strings", t.Levels))
	g.output("/label", "label", onnxString, 1)
}

// model encodes the whole: opset 15 of ai.onnx and 2 of ai.onnx.ml, which runtimes since 2021 have.
func (g *graph) model(m *Model) []byte {
	var body, out []byte
	for _, n := range g.nodes {
		body = part(body, 1, n)
	}
	body = part(body, 2, []byte(m.Name))
	for _, list := range []struct {
		field protowire.Number
		of    [][]byte
	}{{5, g.initializers}, {11, g.inputs}, {12, g.outputs}} {
		for _, x := range list.of {
			body = part(body, list.field, x)
		}
	}
	out = varint(out, 1, 8)
	out = part(out, 2, []byte("dpsql"))
	out = part(out, 7, body)
	out = part(out, 8, varint(nil, 2, 15))
	out = part(out, 8, varint(part(nil, 1, []byte("ai.onnx.ml")), 2, 2))
	for _, f := range append([]Fact{{"kind", m.Kind}}, m.Card...) {
		out = part(out, 14, part(part(nil, 1, []byte(f.Name)), 2, []byte(f.Value)))
	}
	return out
}

// node adds an operator with one output.
func (g *graph) node(op, domain string, in []string, out string, attrs ...[]byte) {
	var n []byte
	for _, x := range in {
		n = part(n, 1, []byte(x))
	}
	n = part(n, 2, []byte(out))
	n = part(n, 3, []byte("make "+out))
	n = part(n, 4, []byte(op))
	for _, a := range attrs {
		n = part(n, 5, a)
	}
	if domain != "" {
		n = part(n, 7, []byte(domain))
	}
	g.nodes = append(g.nodes, n)
}

func (g *graph) input(name string, elem uint64, width int, doc string) {
	g.inputs = append(g.inputs, valueInfo(name, elem, width, doc))
}

// output makes a result an output, by its name where no input has that.
func (g *graph) output(result, name string, elem uint64, width int) {
	name = g.free(name)
	g.node("Identity", "", []string{result}, name)
	g.outputs = append(g.outputs, valueInfo(name, elem, width, ""))
}

// free is a name that nothing has: inputs, outputs and what stands between them share one space of names, where the last begin with a slash.
func (g *graph) free(name string) string {
	if name == "" || name[0] == '/' {
		name = "_" + name
	}
	for slices.Contains(g.names, name) {
		name += "_"
	}
	g.names = append(g.names, name)
	return name
}

// valueInfo is a matrix of any number of rows.
func valueInfo(name string, elem uint64, width int, doc string) []byte {
	shape := part(part(nil, 1, part(nil, 2, []byte("rows"))), 1, varint(nil, 1, uint64(width)))
	v := part(part(nil, 1, []byte(name)), 2, part(nil, 1, part(varint(nil, 1, elem), 2, shape)))
	if doc != "" {
		v = part(v, 3, []byte(doc))
	}
	return v
}

// doubles adds a constant tensor; without dims a scalar.
func (g *graph) doubles(name string, values []float64, dims ...int) {
	var t, raw []byte
	for _, d := range dims {
		t = varint(t, 1, uint64(d))
	}
	for _, v := range values {
		raw = protowire.AppendFixed64(raw, math.Float64bits(v))
	}
	g.initializers = append(g.initializers, part(part(varint(t, 2, onnxDouble), 8, []byte(name)), 9, raw))
}

// constants adds a scalar and gives its name.
func (g *graph) constants(v float64) string {
	g.count++
	name := fmt.Sprintf("/constant%d", g.count)
	g.doubles(name, []float64{v})
	return name
}

// ints adds a row of whole numbers.
func (g *graph) ints(name string, values []int64) {
	var raw []byte
	for _, v := range values {
		raw = protowire.AppendFixed64(raw, uint64(v))
	}
	t := varint(varint(nil, 1, 1), 1, uint64(len(values)))
	g.initializers = append(g.initializers, part(part(varint(t, 2, onnxInt64), 8, []byte(name)), 9, raw))
}

func intAttr(name string, v int64) []byte {
	return varint(varint(part(nil, 1, []byte(name)), 3, uint64(v)), 20, 2)
}

func intsAttr(name string, list []int64) []byte {
	a := part(nil, 1, []byte(name))
	for _, v := range list {
		a = varint(a, 8, uint64(v))
	}
	return varint(a, 20, 7)
}

func stringsAttr(name string, list []string) []byte {
	a := part(nil, 1, []byte(name))
	for _, v := range list {
		a = part(a, 9, []byte(v))
	}
	return varint(a, 20, 8)
}

// part appends a field of bytes.
func part(to []byte, field protowire.Number, v []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(to, field, protowire.BytesType), v)
}

// varint appends a field of a number.
func varint(to []byte, field protowire.Number, v uint64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(to, field, protowire.VarintType), v)
}
