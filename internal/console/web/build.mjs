// Builds dist of src. The same sources and packages always give the same bytes.
import { build } from "esbuild";
import { createHash } from "node:crypto";
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

// The hash of what the bundle is made of; sourcesHash of bundle_test.go computes the same.
const sources = ["build.mjs", "package-lock.json", "tsconfig.json", ...readdirSync("src").map((name) => join("src", name))].sort();
const hash = createHash("sha256");
for (const name of sources) hash.update(name + "\0").update(readFileSync(name)).update("\0");

rmSync("dist", { recursive: true, force: true });
mkdirSync("dist");
const out = await build({
  entryPoints: { app: "src/main.tsx" },
  outdir: "dist",
  bundle: true,
  splitting: true,
  format: "esm",
  minify: true,
  target: "es2022",
  jsx: "automatic",
  jsxImportSource: "preact",
  chunkNames: "[name]-[hash]",
  legalComments: "none",
  banner: { js: `/* sources sha256 ${hash.digest("hex")} */` },
  metafile: true,
});
for (const name of ["index.html", "style.css", "icon.svg"]) cpSync(join("src", name), join("dist", name));

// The licences of the packages that are in the bundle.
const packages = new Set();
for (const name of Object.keys(out.metafile.inputs)) {
  const m = name.match(/^node_modules\/((?:@[^/]+\/)?[^/]+)\//);
  if (m) packages.add(m[1]);
}
let text = "The console's page contains these packages, each under its licence.\n";
for (const name of [...packages].sort()) {
  const folder = join("node_modules", name);
  const { version, license } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
  const file = readdirSync(folder).find((f) => /^licen[cs]e/i.test(f));
  text += `\n---- ${name} ${version}: ${license}\n\n${file ? readFileSync(join(folder, file), "utf8").trim() : "(its package has no licence file)"}\n`;
}
writeFileSync("dist/licences.txt", text);
