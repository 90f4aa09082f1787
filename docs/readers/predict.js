// Predicts with a file of `p2pnode model export`, which docs/model-format.md describes: node predict.js MODEL.json <rows.ndjson
const total = (v) => v.reduce((a, b) => a + b, 0), dot = (v, w) => total(v.map((a, i) => a * w[i]));
const unit = (v, least, by = Math.max(Math.sqrt(dot(v, v)), least) || 1) => v.map((a) => a / by);
const strip = (s, texts) => s.replace(new RegExp(`^[${texts.spaces}]+|[${texts.spaces}]+$`, "g"), "");
function text(f, cell) {
  const found = cell.normalize("NFKC").match(/[\p{L}\p{M}\p{N}]+|\p{S}/gu) || [], x = Array(f.width).fill(0);
  const words = found.map((word) => Array.from(word, (c) => c.toLowerCase()).join("")), seed = Buffer.from(Uint32Array.of(f.seed).buffer);
  const runs = (kind, signs, glue, [low, high]) => signs.flatMap((_, i) =>
    signs.slice(i, i + high).map((_, n) => kind + signs.slice(i, i + n + 1).join(glue)).slice(low - 1));
  for (const run of runs("w", words, " ", f.words).concat(words.flatMap((w) => runs("l", [" ", ...w, " "], "", f.letters)))) {
    let h = Buffer.concat([seed, Buffer.from(run)]).reduce((h, byte) => Math.imul(h ^ byte, 16777619), 2166136261); // FNV-1a, mixed
    for (const [shift, factor] of [[16, 0x85ebca6b], [13, 0xc2b2ae35], [16, 1]]) h = Math.imul(h ^ (h >>> shift), factor);
    x[(h & 0x7fffffff) % f.width] += h < 0 ? -1 : 1;
  }
  return unit(x, 0);
}
function time(f, cell, texts) {
  const [, date, hour = 0, minute = 0, second = "0", zone, sign = "+", h = 0, m = 0] = cell.match(texts.time) || [];
  const ahead = zone ? (sign + 1) * (h * 3600 + m * 60) : f.utc_offset, number = cell / (Math.abs(cell) < 1e11 ? 1 : 1000);
  const seconds = date ? Date.parse(date) / 1000 + hour * 3600 + minute * 60 + Number(second.replace(",", ".")) - ahead : number;
  const at = seconds + f.utc_offset, days = Math.floor(at / 86400), day = (at - days * 86400) / 86400, again = ((days % 146097) + 146097) % 146097;
  const year = new Date(again * 864e5).getUTCFullYear(), [first, next] = [year, year + 1].map((y) => Date.UTC(y, 0) / 864e5);
  const turns = { day, week: ((again + 3) % 7 + day) / 7, year: (again - first + day) / (next - first) };
  const away = Array.from({ length: 8 }, (_, k) => Math.abs(8 * day - k - 0.5)), hat = (d) => Math.max(0, 1 - Math.min(d, 8 - d));
  return f.parts.flatMap((part) => (part === "hours" ? away.map(hat) : [Math.sin, Math.cos].map((circle) => circle(2 * Math.PI * turns[part]))));
}
function coordinates(f, cell, texts) {
  if (f.kind === "set") return f.values.map((v) => Number(cell.split("|").some((s) => strip(s, texts) === v)));
  if (texts.blanks.includes(cell.toLowerCase())) return Array(f.width).fill(0);
  const floats = () => [...new Float32Array(Uint8Array.from(Buffer.from(cell, "base64")).buffer)];
  if (f.kind === "vector") return unit(cell[0] === "[" ? cell.match(/[^[\], ]+/g).map(Number) : floats(), f.scale);
  if (!cell.match({ text: "", time: `${texts.number}|${texts.time}` }[f.kind] ?? texts.number)) throw Error(`column "${f.name}": bad value "${cell}"`);
  if (f.kind === "text" || f.kind === "time") return { text, time }[f.kind](f, cell, texts);
  if (f.kind === "range") return Array.from({ length: f.width }, (_, i) => Number(i === f.edges.filter((edge) => edge <= cell).length));
  const inside = Math.min(Math.max(cell, f.min), f.max), half = (f.log ? Math[f.log](inside) : inside) / 2, rise = (i) => (half - f.knots[i]) / (f.knots[i + 1] - f.knots[i]);
  return f.knots?.map((_, i) => Math.max(0, Math.min(i ? rise(i - 1) : 1, 1 - (rise(i) || 0)))) ?? [f.from + (half - f.half) * f.times];
}
function encode(m, given) {
  const plain = (v) => (!Array.isArray(v) ? `${v ?? ""}` : typeof v[0] === "string" ? v.join("|") : `[${v}]`), end = m.constant ? [m.constant] : [];
  const row = Object.fromEntries(Object.entries(given).map(([name, v]) => [name, strip(plain(v), m.texts)]));
  const seen = m.features.flatMap((f) => coordinates(f, row[f.name], m.texts)).map((v) => v / m.usual_norm);
  let x = unit(seen, m.normalise ? 0 : 1), map = m.map;
  const waves = (map?.rows ?? []).map((w) => dot(w, m.normalise ? x : seen) * map.scale).flatMap((a) => [Math.cos(a), Math.sin(a)]);
  if (map) x = x.map((v) => v * map.keep).concat(waves.map((v) => v * map.size));
  const key = row[m.keys?.column] ?? "", name = require("node:crypto").createHash("sha256").update(key).digest().subarray(0, 8);
  const entry = m.keys?.buckets ? String(name.readBigUInt64LE() % BigInt(m.keys.buckets)) : name.toString("hex");
  return x.concat((!m.texts.blanks.includes(key.toLowerCase()) && m.keys?.entries[entry]) || (m.keys ? [0, 0] : []), end);
}
function predict(m, row) {
  const { link, center, min, max, classes } = m.target, x = encode(m, row), number = { identity: Number, log: Math.exp, log1p: Math.expm1 }[link];
  const z = (link === "logistic" ? [0] : []).concat(m.weights.map((w) => dot(w, x)));
  if (number) return { value: Math.min(Math.max(number(z[0] + center), min), max) };
  if (link === "sign") return { value: Math.sign(z[0]) };
  const odds = z.map((v) => Math.exp(v - Math.max(...z))), shares = odds.map((v) => v / total(odds)), value = Math.max(...shares);
  if (!classes) return { value: shares[1] };
  return { value, class: classes[shares.indexOf(value)], probabilities: Object.fromEntries(classes.map((name, k) => [name, shares[k]])) };
}
module.exports = { predict };
const model = require.main === module && JSON.parse(require("node:fs").readFileSync(process.argv[2])), input = process.stdin;
if (model) require("node:readline").createInterface({ input }).on("line", (line) => console.log(JSON.stringify(predict(model, JSON.parse(line)))));
