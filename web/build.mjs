// Builds the console from `src/` into the package; with --check says whether what is there is what the sources give.
import { build } from "esbuild";
import { existsSync, mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const HERE = dirname(fileURLToPath(import.meta.url));
const OUT = join(HERE, "..", "src", "livejoin", "server", "static", "console");

/** What the server has beside the console, and pages import too; with a query, as pages keep the other one for minutes. */
const OF_THE_SERVER = { name: "livejoin", setup: (/** @type {any} */ build) => build.onResolve({ filter: /^livejoin$/ }, () => ({ path: "../livejoin.js?console", external: true })) };

const { outputFiles, metafile } = await build({
  absWorkingDir: HERE,
  entryPoints: { console: "src/main.js", editor: "src/editor.js" },
  outdir: OUT, bundle: true, splitting: true, format: "esm", target: "es2022", minify: true, write: false, metafile: true,
  plugins: [OF_THE_SERVER], legalComments: "none", charset: "utf8", chunkNames: "[name]-[hash]",
});

/** @type {Map<string, Buffer>} */
const files = new Map(outputFiles.map((file) => [basename(file.path), Buffer.from(file.contents)]));
for (const name of ["index.html", "console.css", "icon.svg"]) files.set(name, readFileSync(join(HERE, "src", name)));
files.set("LICENSES.txt", Buffer.from(licences()));

/** The licences of all that is in the bundle. */
function licences() {
  const packages = new Set();
  for (const output of Object.values(metafile.outputs)) {
    for (const [input, { bytesInOutput }] of Object.entries(output.inputs)) {
      const found = bytesInOutput && /^node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(input);
      if (found) packages.add(found[1]);
    }
  }
  const texts = new Map();
  for (const name of [...packages].sort()) {
    const folder = join(HERE, "node_modules", name), { version, license } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
    const file = readdirSync(folder).find((one) => /^licen[cs]e/i.test(one));
    if (!file) throw new Error(`${name} has no licence`);
    const text = readFileSync(join(folder, file), "utf8").trim();
    texts.set(text, [...(texts.get(text) ?? []), `${name} ${version} (${license})`]);
  }
  const parts = [...texts].map(([text, names]) => `${names.join("\n")}\n\n${text}`);
  return `The console of livejoin contains the following packages.\n\n${parts.join(`\n\n${"=".repeat(80)}\n\n`)}\n`;
}

if (process.argv.includes("--check")) {
  const there = existsSync(OUT) ? readdirSync(OUT) : [];
  const wrong = [...new Set([...there, ...files.keys()])].filter((name) => !there.includes(name) || !files.get(name)?.equals(readFileSync(join(OUT, name))));
  if (wrong.length) {
    console.error(`not what the sources give: ${wrong.join(", ")}; run make console`);
    process.exit(1);
  }
  console.log(`${files.size} files are what the sources give`);
} else {
  rmSync(OUT, { recursive: true, force: true });
  mkdirSync(OUT, { recursive: true });
  for (const [name, content] of files) writeFileSync(join(OUT, name), content);
  const { gzipSync } = await import("node:zlib");
  for (const [name, content] of files) console.log(`${name}: ${content.length} bytes, ${gzipSync(content).length} compressed`);
}
