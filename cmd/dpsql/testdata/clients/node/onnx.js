// Runs an ONNX model: reads {model, inputs: {name: {type, width, values}}} in JSON, where numbers may be "NaN", from standard input, writes {output: values}.
const ort = require("onnxruntime-node");

async function main() {
  let text = "";
  for await (const chunk of process.stdin) text += chunk;
  const asked = JSON.parse(text);
  const session = await ort.InferenceSession.create(Buffer.from(asked.model, "base64"));
  const feeds = {};
  for (const name of session.inputNames) {
    const { type, width, values } = asked.inputs[name];
    const data = { float64: (v) => Float64Array.from(v, Number), int64: (v) => BigInt64Array.from(v.map(BigInt)), bool: (v) => Uint8Array.from(v), string: (v) => v }[type](values);
    feeds[name] = new ort.Tensor(type, data, [values.length / width, width]);
  }
  const out = {};
  for (const [name, tensor] of Object.entries(await session.run(feeds))) out[name] = Array.from(tensor.data, (v) => (typeof v === "bigint" ? Number(v) : v));
  process.stdout.write(JSON.stringify(out));
}

main().catch((e) => {
  console.error(e);
  process.exit(1);
});
