"""Errors of a mean-regularised model beside the tuned lone model, for together.json. See the README beside this.

Person i predicts by w + v_i, and

    sum over i and its records of loss(w + v_i) + a |w|^2 + b sum over i of |v_i|^2

is least (Evgeniou and Pontil 2004), with a and b chosen by inner cross-validation. The intercept of w is free, that of v_i costs what v_i does.
"""

import argparse
import json
import os
import sys
import time

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import multiprocessing
import warnings

import numpy as np
from scipy.optimize import minimize
from scipy.special import log_softmax, softmax

import lone
import madeup

FOLDS = 5     # of the test, as in paper csv
SHUFFLES = 3  # seeds 1, 2, 3
START = 0, 2  # octaves of a and b
OUTSIDE = .005  # of a column, at each end beyond its range
PERSONS, RECORDS, COLUMNS = 60, 30, 20  # of a made-up population


def pcg(high, low):
    """PCG-DXSM as in Go's math/rand/v2."""
    state = high << 64 | low
    while True:
        state = (state * (2549297995355413924 << 64 | 4865540595714422341) + (6364136223846793005 << 64 | 1442695040888963407)) % 2**128
        high, low = state >> 64, state % 2**64
        high ^= high >> 32
        high = high * 0xda942042e4dd58b5 % 2**64
        high ^= high >> 48
        yield high * (low | 1) % 2**64


def shuffled(n, i, seed):
    """The order into which paper csv puts the n records of node i."""
    draws, order = pcg(seed, 2**62 + i), np.arange(n)
    for k in range(n - 1, 0, -1):
        m = k + 1
        if m & (m - 1) == 0:
            j = next(draws) & (m - 1)
        else:
            while True:
                product = next(draws) * m
                if product % 2**64 >= 2**64 % m:
                    break
            j = product >> 64
        order[[k, j]] = order[[j, k]]
    return order


class Ridge:
    """The minimum for numbers, in closed form: v_i is what is left to it by w."""

    def __init__(self, x, y, node, nodes):
        self.x, self.y = x, y
        self.square, self.along = np.zeros((nodes, x.shape[1], x.shape[1])), np.zeros((nodes, x.shape[1]))
        for i in range(nodes):
            mine = node == i
            self.square[i], self.along[i] = x[mine].T @ x[mine], x[mine].T @ y[mine]

    def fit(self, a, b):
        p = self.x.shape[1]
        inverse = np.linalg.inv(self.square + b * np.eye(p))
        part = self.square @ inverse  # (X'X) (X'X + b)^-1
        free = np.full(p, a)
        free[-1] = 1e-9
        shared = np.linalg.solve((self.square - part @ self.square).sum(0) + np.diag(free),
                                 (self.along - np.einsum("ijk,ik->ij", part, self.along)).sum(0))
        return shared + np.einsum("ijk,ik->ij", inverse, self.along - self.square @ shared)

    @staticmethod
    def losses(theta, x, y, node):
        return ((x * theta[node]).sum(1) - y)**2

    errors = losses


class Logistic:
    """The minimum for classes, by L-BFGS."""

    def __init__(self, x, y, node, nodes):
        order = np.argsort(node, kind="stable")
        self.x, self.y, self.node, self.nodes = x[order], y[order], node[order], nodes
        self.present, self.starts = np.unique(self.node, return_index=True)
        self.classes = y.max() + 1
        self.scores = 1 if self.classes == 2 else self.classes
        self.last = np.zeros((nodes + 1) * self.scores * x.shape[1])

    def fit(self, a, b):
        n, p = self.x.shape
        weight = np.full((self.nodes + 1, 1, p), float(b))
        weight[0] = a
        weight[0, 0, -1] = 1e-9

        def objective(flat):
            all_ = flat.reshape(self.nodes + 1, self.scores, p)
            theta = (all_[0] + all_[1:])[self.node]
            z = np.einsum("np,nkp->nk", self.x, theta)
            if self.scores == 1:
                margin = z[:, 0] * (2 * self.y - 1)
                value = np.logaddexp(0, -margin).sum()
                slope = ((1 - 2 * self.y) / (1 + np.exp(np.minimum(margin, 700))))[:, None]
            else:
                value = -log_softmax(z, axis=1)[np.arange(n), self.y].sum()
                slope = softmax(z, axis=1)
                slope[np.arange(n), self.y] -= 1
            each = np.add.reduceat(slope[:, :, None] * self.x[:, None, :], self.starts)
            gradient = 2 * weight * all_
            gradient[1 + self.present] += each
            gradient[0] += each.sum(0)
            return value + (weight * all_**2).sum(), gradient.ravel()

        self.last = minimize(objective, self.last, jac=True, method="L-BFGS-B", options={"maxiter": 1000, "ftol": 1e-7, "gtol": 1e-3}).x
        all_ = self.last.reshape(self.nodes + 1, self.scores, p)
        return all_[0] + all_[1:]

    @staticmethod
    def scores_of(theta, x, node):
        z = np.einsum("np,nkp->nk", x, theta[node])
        return np.hstack([np.zeros_like(z), z]) if z.shape[1] == 1 else z

    @staticmethod
    def losses(theta, x, y, node):
        return -log_softmax(Logistic.scores_of(theta, x, node), axis=1)[np.arange(len(y)), y]

    @staticmethod
    def errors(theta, x, y, node):
        return (Logistic.scores_of(theta, x, node).argmax(1) != y).astype(float)


def tuned(kind, x, y, node, nodes, inner):
    """The model with the a and b, in octaves, that predict the inner folds best."""
    fits, seen = [(kind(x[inner != k], y[inner != k], node[inner != k], nodes), inner == k) for k in range(lone.FOLDS)], {}

    def loss(at):
        if at not in seen:
            seen[at] = sum(kind.losses(f.fit(2.**at[0], 2.**at[1]), x[left], y[left], node[left]).sum() for f, left in fits)
        return seen[at]

    best, at = START, None
    for step in 4, 2, 1:
        while best != at:
            at = best
            best = min([at] + [(at[0] + i * step, at[1] + j * step) for i in (-1, 0, 1) for j in (-1, 0, 1)], key=loss)
        at = None
    return kind(x, y, node, nodes).fit(2.**best[0], 2.**best[1]), best


def split(args):
    """The losses of all test records of one fold of one shuffle: alone and mean-regularised."""
    data, seed, k = args
    warnings.filterwarnings("ignore")
    x, y, node, nodes, number = data
    test, inner = np.zeros(len(y), bool), np.zeros(len(y), int)
    for i in range(nodes):
        mine = np.flatnonzero(node == i)
        order = mine[shuffled(len(mine), i, seed)]
        test[order[k::FOLDS]] = True
        kept = order[np.arange(len(order)) % FOLDS != k]
        inner[kept] = lone.dealt(y[kept], 0 if number else 2)
    kept = ~test
    low, high = np.quantile(x, [OUTSIDE, 1 - OUTSIDE], axis=0)
    low, high = np.where(low < high, low, x.min(0)), np.where(low < high, high, x.max(0))
    x = 2 * (np.clip(x, low, high) - low) / (high - low)
    x = np.hstack([x - x[kept].mean(0), np.ones((len(y), 1))])
    level = y[kept].mean() if number else 0
    kind = Ridge if number else Logistic
    theta, best = tuned(kind, x[kept], y[kept] - level, node[kept], nodes, inner[kept])
    together = kind.errors(theta, x[test], y[test] - level, node[test])
    return node[test], alone_errors(x[:, :-1], y, node, nodes, kept, number), together, best


def alone_errors(x, y, node, nodes, kept, number):
    """The losses of the test records under lone models: each with its own penalty, and all with the same."""
    kind = lone.Ridge if number else lone.Logistic
    persons = [kind(x[kept & (node == i)], y[kept & (node == i)]) for i in range(nodes)]
    common, out = lone.tuned(persons), np.zeros((2, (~kept).sum()))
    for i, person in enumerate(persons):
        left = ~kept & (node == i)
        for row, octave in zip(out, (lone.tuned([person]), common)):
            guess = person.predict(x[left], octave)
            row[(node == i)[~kept]] = (guess - y[left])**2 if number else guess != y[left]
    return out


def measure(name, data, pool):
    """Errors, means over nodes, with the standard errors over nodes."""
    start = time.time()
    x, y, node, nodes, number = data
    parts = [(data, 1 + s, k) for s in range(SHUFFLES) for k in range(FOLDS)]
    sums, chosen = np.zeros((SHUFFLES, 3, nodes)), []
    for (_, seed, _), (at, alone, together, best) in zip(parts, pool.imap(split, parts)):
        for total, losses in zip(sums[seed - 1], (*alone, together)):
            total += np.bincount(at, losses, nodes)
        chosen.append(best)
    means = sums / np.bincount(node, minlength=nodes)
    alone, common, together = (np.sqrt(means) if number else means).mean(0)
    result = {"name": name}
    for what, of in ("alone", alone), ("alone_common", common), ("together", together), ("gain", min(alone, common, key=np.mean) - together):
        result[what] = round(float(of.mean()), 6)
        result[what + "_standard_error"] = round(float(of.std(ddof=1) / np.sqrt(nodes)), 6)
    print(result, "octaves of a and b:", np.median(chosen, 0), f"{time.time() - start:.0f} s", file=sys.stderr, flush=True)
    return result


def made_up(people, target):
    population = madeup.Population(people, target, COLUMNS)
    parts = [population.records(f"node {i}", population.model(i), RECORDS) for i in range(PERSONS)]
    return (np.vstack([x for x, _ in parts]), np.concatenate([y for _, y in parts]), np.repeat(np.arange(PERSONS), RECORDS), PERSONS,
            target == "number")


def from_file(path, owner, label, features, number):
    with open(path) as f:
        header = f.readline().strip().split(",")
        rows = [line.strip().split(",") for line in f]
    owners = list(dict.fromkeys(r[header.index(owner)] for r in rows))
    at = [i for i, name in enumerate(header) if name in features]
    x = np.array([[float(r[i]) for i in at] for r in rows])
    y = [float(r[header.index(label)]) for r in rows]
    node = np.array([owners.index(r[header.index(owner)]) for r in rows])
    return x, np.array(y) if number else (np.array(y) > 0).astype(int), node, len(owners), number


def populations(directory):
    for people in madeup.PEOPLE:
        for target in "number", "two":
            yield f"{people} {target}", lambda people=people, target=target: made_up(people, target)
    if directory:
        yield "vehicle", lambda: from_file(os.path.join(directory, "vehicle", "vehicle.csv"), "node", "label", {f"x{k}" for k in range(1, 101)}, False)
        yield "school", lambda: from_file(os.path.join(directory, "school", "school.csv"), "school", "score", {f"x{k}" for k in range(1, 28)}, True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", help="directory with school/school.csv and vehicle/vehicle.csv; without it, made-up populations only")
    parser.add_argument("--only", default="", help="only those whose name holds this")
    parser.add_argument("--processes", type=int, default=2)
    args = parser.parse_args()
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "together.json")
    known = {}
    if os.path.exists(path):
        known = {p["name"]: p for p in json.load(open(path))["populations"]}
    with multiprocessing.Pool(args.processes) as pool:
        for name, read in populations(args.data):
            if args.only in name:
                known[name] = measure(name, read(), pool)
                done = [known[n] for n, _ in populations("elsewhere") if n in known]
                with open(path + ".new", "w") as f:
                    f.write('{\n"about": "errors of the lone model, its penalty tuned for each node or for all alike, and of a mean-regularised model, by together.py: RMSE, or the share of wrong classes, '
                            'means over nodes of five folds of three shuffles",\n"populations": [\n')
                    f.write(",\n".join(json.dumps(p) for p in done) + "\n]}\n")
                os.replace(path + ".new", path)


if __name__ == "__main__":
    main()
