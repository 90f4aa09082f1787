"""Predicts with a file of `p2pnode model export`, which docs/model-format.md describes: predict.py MODEL.json <rows.ndjson"""
import base64, bisect, datetime, functools, hashlib, json, math, operator, re, struct, sys, unicodedata
def unit(v, least): return [a / (by or 1) for by in [max(math.hypot(*v), least)] for a in v]
def text(f, cell, texts):
    signs, x = [(c, unicodedata.category(c)[0]) for c in unicodedata.normalize("NFKC", cell)], [0] * f["width"]
    words = "".join(c.lower() if kind in "LMN" else f" {c} " if kind == "S" else " " for c, kind in signs).split()
    def runs(kind, signs, glue, low, high):
        return [kind + glue.join(signs[i:i + n]) for n in range(low, high + 1) for i in range(len(signs) - n + 1)]
    for run in runs("w", words, " ", *f["words"]) + [run for w in words for run in runs("l", f" {w} ", "", *f["letters"])]:
        h = functools.reduce(lambda h, byte: (h ^ byte) * 16777619 & 0xFFFFFFFF, struct.pack("<I", f["seed"]) + run.encode(), 2166136261)
        for shift, factor in (16, 0x85EBCA6B), (13, 0xC2B2AE35), (16, 1): h = (h ^ h >> shift) * factor & 0xFFFFFFFF  # FNV-1a, mixed
        x[(h & 0x7FFFFFFF) % len(x)] += -1 if h >> 31 else 1
    return unit(x, 0)
def time(f, cell, texts):
    zone = datetime.timezone(datetime.timedelta(seconds=f["utc_offset"]))
    if re.search(texts["number"], cell): v = float(cell) / (1 if abs(float(cell)) < 1e11 else 1000)
    else: v = (at if (at := datetime.datetime.fromisoformat(cell)).tzinfo else at.replace(tzinfo=zone)).timestamp()
    at = datetime.datetime.fromtimestamp(math.floor(v), zone)
    day = (at.hour * 3600 + at.minute * 60 + at.second + (v - math.floor(v))) / 86400
    turns = {"day": day, "week": (at.weekday() + day) / 7, "year": (at.timetuple().tm_yday - 1 + day) / at.replace(month=12, day=31).timetuple().tm_yday}
    hours = [max(0.0, 1 - min(away, 8 - away)) for away in (abs(8 * day - k - 0.5) for k in range(8))]
    return [v for part in f["parts"] for v in (hours if part == "hours" else [circle(2 * math.pi * turns[part]) for circle in (math.sin, math.cos)])]
def coordinates(f, cell, texts):
    if f["kind"] == "set": return [float(v in [s.strip(texts["spaces"]) for s in cell.split("|")]) for v in f["values"]]
    if cell.lower() in texts["blanks"]: return [0.0] * f["width"]
    if f["kind"] in ("text", "time"): return globals()[f["kind"]](f, cell, texts)
    if f["kind"] == "vector":
        v = re.split("[, ]+", cell.strip("[] ")) if cell[0] == "[" else struct.unpack(f"<{f['width']}f", base64.b64decode(cell))
        return unit([float(n) for n in v], f["scale"])
    if not re.search(texts["number"], cell): raise ValueError(f"column {f['name']!r}: {cell!r} is not a number")
    if f["kind"] == "range": return [float(i == bisect.bisect_right(f["edges"], float(cell))) for i in range(f["width"])]
    half = (getattr(math, f["log"]) if f["log"] else float)(min(max(float(cell), f["min"]), f["max"])) / 2
    rise = [(half - a) / (b - a) for a, b in zip(f.get("knots", []), f.get("knots", [])[1:])]
    return [max(0.0, min(up, 1 - down)) for up, down in zip([1.0] + rise, rise + [0.0])] if rise else [f["from"] + (half - f["half"]) * f["times"]]
def dot(a, b): return sum(map(operator.mul, a, b))
def encode(m, row):
    row = {name: "|".join(v) if v and isinstance(v, list) and isinstance(v[0], str) else v for name, v in row.items()}
    row = {name: ("" if v is None else v if isinstance(v, str) else json.dumps(v)).strip(m["texts"]["spaces"]) for name, v in row.items()}
    seen = [v / m["usual_norm"] for f in m["features"] for v in coordinates(f, row[f["name"]], m["texts"])]
    x = unit(seen, 0 if m["normalise"] else 1)
    if m["map"]:
        angles = [dot(w, x if m["normalise"] else seen) * m["map"]["scale"] for w in m["map"]["rows"]]
        x = [v * m["map"]["keep"] for v in x] + [m["map"]["size"] * circle(a) for a in angles for circle in (math.cos, math.sin)]
    if m["keys"]:
        key, buckets = row.get(m["keys"]["column"], ""), m["keys"]["buckets"]
        name = hashlib.sha256(key.encode()).digest()[:8] if key.lower() not in m["texts"]["blanks"] else b""
        x += m["keys"]["entries"].get(str(int.from_bytes(name, "little") % buckets) if name and buckets else name.hex(), [0, 0])
    return x + ([m["constant"]] if m["constant"] else [])
def predict(m, row):
    x, target, numbers = encode(m, row), m["target"], {"identity": float, "log": lambda v: math.exp(min(v, 709)), "log1p": lambda v: math.expm1(min(v, 709))}
    z = [0] * (target["link"] == "logistic") + [dot(w, x) for w in m["weights"]]
    if target["link"] in numbers: return {"value": min(max(numbers[target["link"]](z[0] + target["center"]), target["min"]), target["max"])}
    if target["link"] == "sign": return {"value": (z[0] > 0) - (z[0] < 0)}
    odds = [math.exp(v - max(z)) for v in z]
    if not target["classes"]: return {"value": odds[1] / sum(odds)}
    named = {name: share / sum(odds) for name, share in zip(target["classes"], odds)}
    return {"value": max(named.values()), "class": max(named, key=named.get), "probabilities": named}
if __name__ == "__main__":
    model = json.load(open(sys.argv[1]))
    for line in sys.stdin: print(json.dumps(predict(model, json.loads(line))), flush=True)
