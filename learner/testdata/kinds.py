"""Codes cells as docs/tasks.md says, without a line of the program, and writes
kinds.json, with which TestKindsAreThoseOfPython compares."""

import base64
import datetime
import json
import math
import re
import struct
import unicodedata


def words(text):
    found, word = [], ""
    for c in unicodedata.normalize("NFKC", text):
        kind = unicodedata.category(c)[0]
        if kind in "LMN":
            word += c.lower()
            continue
        if word:
            found.append(word)
        word = ""
        if kind == "S":
            found.append(c)
    return found + [word] if word else found


def hashed(seed, run):
    h = 2166136261
    for byte in struct.pack("<I", seed) + run.encode():
        h = (h ^ byte) * 16777619 & 0xFFFFFFFF
    h = (h ^ h >> 16) * 0x85EBCA6B & 0xFFFFFFFF
    h = (h ^ h >> 13) * 0xC2B2AE35 & 0xFFFFFFFF
    return h ^ h >> 16


def text(f, cell):
    found, runs = words(cell), []
    w, l = f.get("words"), f.get("letters")
    if not w and not l:
        w, l = [1, 1], [3, 4]
    for n in range(w[0], w[1] + 1) if w else []:
        runs += ["w" + " ".join(found[i : i + n]) for i in range(len(found) - n + 1)]
    for n in range(l[0], l[1] + 1) if l else []:
        for word in found:
            spaced = " " + word + " "
            runs += ["l" + spaced[i : i + n] for i in range(len(spaced) - n + 1)]
    x = [0] * f.get("buckets", 1024)
    for run in runs:
        h = hashed(f.get("seed", 0), run)
        x[h % 2**31 % len(x)] += 1 if h < 2**31 else -1
    return [n / math.sqrt(sum(n * n for n in x)) if n else 0.0 for n in x]


def time(f, cell):
    sign, hours, minutes = re.fullmatch("([+-])(..):(..)", f.get("utc_offset", "+00:00")).groups()
    clock = datetime.timezone(datetime.timedelta(minutes=int(sign + "1") * (60 * int(hours) + int(minutes))))
    if re.fullmatch("-?[0-9.]+", cell):
        seconds = float(cell)
        at = datetime.datetime.fromtimestamp(seconds / 1000 if abs(seconds) >= 1e11 else seconds, clock)
    else:
        at = datetime.datetime.fromisoformat(cell)
        at = at.replace(tzinfo=clock) if at.tzinfo is None else at.astimezone(clock)
    day = (at.hour * 3600 + at.minute * 60 + at.second + at.microsecond / 1e6) / 86400
    x = []
    for part in f.get("parts", ["day", "week", "year"]):
        passed = day
        if part == "hours":
            after = (24 * day - 1.5) % 24 / 3  # spans of three hours since the middle of the first, half past one
            x += [after % 1 if k == (int(after) + 1) % 8 else 1 - after % 1 if k == int(after) else 0.0 for k in range(8)]
            continue
        if part == "week":
            passed = (at.weekday() + day) / 7
        if part == "year":
            here = datetime.date(at.year, 1, 1)
            passed = ((at.date() - here).days + day) / (datetime.date(at.year + 1, 1, 1) - here).days
        x += [math.sin(2 * math.pi * passed), math.cos(2 * math.pi * passed)]
    return x


def vector(f, cell):
    if cell.startswith("["):
        x = [float(v) for v in re.split(" *, *| +", cell[1:-1].strip())]
    else:
        x = [v for (v,) in struct.iter_unpack("<f", base64.b64decode(cell))]
    length = math.hypot(*x)
    by = max(length, f["scale"]) if "scale" in f else length or 1
    return [v / by for v in x]


def number(f, cell):
    low, high = f.get("min", 0.0), f["max"]
    v = min(max(float(cell), low), high)
    if f.get("log"):
        log = math.log if low > 0 else math.log1p
        v, low, high = log(v), log(low), log(high)
    elif high == 1 and low in (0, -1) and "bends" not in f:
        return [v]
    if "bends" in f:
        knots = [low] + [log(b) if f.get("log") else b for b in f["bends"]] + [high]
        i = max(k for k in range(len(knots) - 1) if knots[k] <= v)
        u = (v - knots[i]) / (knots[i + 1] - knots[i])
        return [0.0] * i + [1 - u, u] + [0.0] * (len(knots) - 2 - i)
    return [2 * ((v - low) / (high - low)) - 1]


kinds = {"text": text, "time": time, "vector": vector, "number": number}

cells = [
    ({"kind": "text", "buckets": 16}, "The cat sat on the mat, and the CAT sat on the hat."),
    ({"kind": "text", "buckets": 16, "words": [1, 2]}, "New York, new york"),
    ({"kind": "text", "buckets": 16, "letters": [1, 8]}, "a bc def"),
    ({"kind": "text", "buckets": 16, "words": [2, 4], "letters": [2, 3], "seed": 3000000001}, "one two three four five"),
    ({"kind": "text", "buckets": 16, "words": [2, 2]}, "one"),
    ({"kind": "text", "buckets": 16}, "?!"),
    ({"kind": "text", "buckets": 32}, "Ｆｕｌｌ width ﬁne ½ x² №5 ℡ Ⓐ ㎞"),
    ({"kind": "text", "buckets": 32}, "ΣΊΣΥΦΟΣ İstanbul DŽ Straße ẞ ǅ Ꙁ Ა"),
    ({"kind": "text", "buckets": 32}, "e\u0301tude étude Å Å q\u0307\u0323 q\u0323\u0307"),
    ({"kind": "text", "buckets": 32}, "很高兴 見到 จังหวัด हिन्दी 한국어 \u1112\u1161\u11ab"),
    ({"kind": "text", "buckets": 32}, "good 🙂🙂 c++ $5 €3 a=b 👩\u200d🚀 <b>it's</b> x_y 1,5 don\u2019t\ttab\nline"),
    ({"kind": "text"}, "a text of the usual 1024 buckets"),
    ({"kind": "time"}, "2026-03-01T08:30:00+01:00"),
    ({"kind": "time"}, "2026-03-01T08:30:00.25Z"),
    ({"kind": "time", "utc_offset": "+05:30"}, "2024-12-31 23:59:59"),
    ({"kind": "time", "utc_offset": "-03:30"}, "2024-02-29"),
    ({"kind": "time", "utc_offset": "-14:00", "parts": ["year", "day"]}, "2023-01-01 07:15"),
    ({"kind": "time", "parts": ["week"]}, "1772431200"),
    ({"kind": "time", "parts": ["hours", "year"], "utc_offset": "+01:00"}, "2026-03-01T08:30:00Z"),
    ({"kind": "time", "parts": ["week", "hours"]}, "2026-03-01 00:45"),
    ({"kind": "time", "parts": ["hours"]}, "2026-03-01 22:30"),
    ({"kind": "time"}, "1772431200123"),
    ({"kind": "time", "utc_offset": "+01:00"}, "-86399.5"),
    ({"kind": "vector", "length": 3}, "[1, -2.5, 0.125]"),
    ({"kind": "vector", "length": 3}, "[3.  4.  12.]"),
    ({"kind": "vector", "length": 2}, "[0,0]"),
    ({"kind": "vector", "length": 4}, base64.b64encode(struct.pack("<4f", 0.1, -2e-3, 3e10, 4)).decode()),
    ({"kind": "vector", "length": 2, "scale": 10.0}, "[3,4]"),
    ({"kind": "vector", "length": 2, "scale": 2.5}, "[3,4]"),
    ({"kind": "number", "min": -30.0, "max": 50.0}, "21.5"),
    ({"kind": "number", "max": 1.0}, "0.25"),
    ({"kind": "number", "min": 0.01, "max": 1e4, "log": True}, "37"),
    ({"kind": "number", "max": 5000.0, "log": True}, "120"),
    ({"kind": "number", "max": 5000.0, "log": True}, "1e9"),
    ({"kind": "number", "max": 24.0, "bends": [4.0, 8.0, 16.0]}, "7.25"),
    ({"kind": "number", "max": 1.0, "bends": [0.5]}, "0.5"),
    ({"kind": "number", "min": -10.0, "max": 30.0, "bends": [0.0, 21.0]}, "-11"),
    ({"kind": "number", "min": -10.0, "max": 30.0, "bends": [0.0, 21.0]}, "29.75"),
    ({"kind": "number", "min": 0.01, "max": 1e4, "log": True, "bends": [1.0, 100.0]}, "37"),
    ({"kind": "number", "max": 5000.0, "log": True, "bends": [120.0]}, "2"),
]

with open("kinds.json", "w") as out:
    rows = [json.dumps({"feature": f, "cell": c, "x": kinds[f["kind"]](f, c)}, ensure_ascii=False) for f, c in cells]
    out.write("[\n" + ",\n".join(rows) + "\n]\n")
