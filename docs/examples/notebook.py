"""Ask a node from a notebook, with Python's standard library alone.

P2PNODE_URL is where the node's interface is, P2PNODE_TOKEN a token with the scopes read and data.
Each part that begins with "# %%" is a cell.
"""

# %% A function that asks, and says what is wrong in the node's own words.
import json
import os
import urllib.error
import urllib.request


def ask(path, value=None, **headers):
    request = urllib.request.Request(os.environ["P2PNODE_URL"] + path)
    request.add_header("Authorization", "Bearer " + os.environ["P2PNODE_TOKEN"])
    for name, text in headers.items():
        request.add_header(name.replace("_", "-"), text)
    if value is not None:
        request.data = json.dumps(value).encode()
        request.add_header("Content-Type", "application/json")
    try:
        with urllib.request.urlopen(request, timeout=120) as answer:
            return json.load(answer)
    except urllib.error.HTTPError as error:
        problem = json.load(error)
        raise RuntimeError("; ".join(filter(None, (problem["detail"], problem.get("hint"))))) from None


# %% Records, as a data frame's to_dict("records") gives them. A retry stores nothing twice.
day = [{"hour": hour, "outside": 8, "power": round(4 - hour / 12, 2)} for hour in range(24)]
stored = ask("/v1/records", {"records": day}, Idempotency_Key="a day")
again = ask("/v1/records", {"records": day}, Idempotency_Key="a day")
print([line["outcome"] for line in stored["lines"]].count("new"), "stored,",
      [line["outcome"] for line in again["lines"]].count("same"), "there already")

# %% Predictions of many rows.
rows = [{"hour": hour, "outside": 8} for hour in (0, 12, 23)]
for row, answer in zip(rows, ask("/v1/predict/rows", {"rows": rows})["answers"]):
    print("at", row["hour"], "o'clock:", round(answer["value"], 2))

# %% How the node is doing, and what it has spent.
status = ask("/v1/status")
budget = ask("/v1/budget")
print(status["records"], "records,", status["neighbours"], "neighbours, epsilon", budget["epsilon"])

# %% What is wrong is said in words.
try:
    ask("/v1/predict", {"hour": "noon", "outside": 8})
except RuntimeError as error:
    print("refused:", error)
