"""Errors of the tuned lone model, for lone.json. See the README beside this."""

import argparse
import json
import os
import sys
import time

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import multiprocessing
import warnings

import numpy as np
from sklearn.linear_model import LogisticRegression

import madeup

TESTS = 20000  # records a cell
FOLDS = 5
FINEST = .5    # octaves of the penalty between two points of the grid
WIDEST = 14    # octaves on either side of 1


def persons(p, m):
    """How many: the wider and longer, the fewer it takes, and the longer each."""
    return {8: 200, 24: 100, 100: 40, 1000: 8}[m] // (2 if p == 561 and m >= 100 else 1)


def dealt(y, classes):
    """The fold of each record: dealt in turn, class by class."""
    order = np.arange(len(y)) if not classes else np.argsort(y, kind="stable")
    fold = np.empty(len(y), int)
    fold[order] = np.arange(len(y)) % FOLDS
    return fold


class Ridge:
    """A person whose labels are numbers. The intercept is free."""

    octaves = np.arange(-WIDEST, WIDEST + FINEST, FINEST)

    def __init__(self, x, y):
        fold = dealt(y, 0)
        self.whole = self.turned(x, y)
        self.folds = [(self.turned(x[fold != k], y[fold != k]), x[fold == k], y[fold == k]) for k in range(FOLDS)]

    @staticmethod
    def turned(x, y):
        centre, level = x.mean(0), y.mean()
        u, s, vt = np.linalg.svd(x - centre, full_matrices=False)
        return centre, level, s, vt, u.T @ (y - level)

    @staticmethod
    def at(turned, x, octave):
        centre, level, s, vt, along = turned
        return (x - centre) @ vt.T @ (s / (s**2 + 2.**octave) * along) + level

    def loss(self, octave):
        """The squares of the inner folds."""
        return sum(((self.at(turned, x, octave) - y)**2).sum() for turned, x, y in self.folds)

    def predict(self, x, octave):
        return self.at(self.whole, x, octave)


class Logistic:
    """A person whose labels are classes. The intercept is free."""

    def __init__(self, x, y):
        self.present, y = np.unique(y, return_inverse=True)
        classes = len(self.present)
        self.turn = None
        if x.shape[0] < x.shape[1]:  # a rotation changes no fit, and leaves no more columns than records
            self.turn = np.linalg.svd(x, full_matrices=False)[2].T
            x = x @ self.turn
        self.x, self.y, self.seen = x, y, {}
        fold = dealt(y, classes)
        self.folds = [fold == k for k in range(FOLDS) if (fold == k).any() and len(np.unique(y[fold != k])) == classes > 1]

    def fit(self, kept, octave):
        solver = "newton-cholesky" if len(self.present) == 2 else "lbfgs"
        return LogisticRegression(C=2.**-octave / 2, solver=solver, tol=1e-4, max_iter=1000).fit(self.x[kept], self.y[kept])

    def loss(self, octave):
        """The log loss of the inner folds."""
        if octave not in self.seen:
            self.seen[octave] = 0
            for left in self.folds:
                q = self.fit(~left, octave).predict_log_proba(self.x[left])
                self.seen[octave] -= q[np.arange(left.sum()), self.y[left]].sum()
        return self.seen[octave]

    def predict(self, x, octave):
        if len(self.present) == 1:
            return np.full(len(x), self.present[0])
        x = x if self.turn is None else x @ self.turn
        return self.present[self.fit(np.full(len(self.y), True), octave).predict(x)]


def tuned(persons):
    """The octave of one penalty for all of them."""
    loss = lambda octave: sum(p.loss(octave) for p in persons)
    if isinstance(persons[0], Ridge):
        return min(Ridge.octaves, key=loss)
    best, step = 0., 4.
    while step >= FINEST:
        best, step = downhill(best, step, loss), step / 2
    return best


def downhill(at, step, loss):
    """The lowest point with this step. Along the penalty the loss has one valley, but for noise."""
    while True:
        best = min((o for o in (at, at - step, at + step) if abs(o) <= WIDEST), key=loss)
        if best == at:
            return at
        at = best


def measure(cell):
    warnings.filterwarnings("ignore")
    people, target, p, m = cell
    start = time.time()
    population, n = madeup.Population(people, target, p), persons(p, m)
    errors, octaves, total = [], [], 0
    for i in range(n):
        theta = population.model(i)
        x, y = population.training(i, theta, m)
        tx, ty = population.test(i, theta, TESTS // n)
        person = (Ridge if target == "number" else Logistic)(x, y)
        octave = tuned([person])
        guess = person.predict(tx, octave)
        errors.append(float(np.sqrt(((guess - ty)**2).mean()) if target == "number" else (guess != ty).mean()))
        octaves.append(octave)
        total += x[:, -1].sum() + tx[0].sum() + y[-1]
    spread = float(np.std(errors, ddof=1) / np.sqrt(n))
    print(f"{people} {target} p {p} m {m}: {np.mean(errors):.4f} +- {spread:.4f}, octave {np.median(octaves)}, {time.time() - start:.0f} s",
          file=sys.stderr, flush=True)
    return {"people": people, "target": target, "p": p, "m": m, "persons": n, "tests": TESTS // n * n,
            "error": round(float(np.mean(errors)), 5), "standard_error": round(spread, 5), "check": float(total),
            "errors": [round(e, 5) for e in errors]}


def cells():
    for people in madeup.PEOPLE:
        for target in madeup.CLASSES:
            for p in 5, 20, 100, 561:
                for m in 8, 24, 100, 1000:
                    yield people, target, p, m


def few(cell):
    _, target, _, m = cell
    return target != "number" and m < madeup.FEWEST * madeup.CLASSES[target]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cells", default="", help="only those whose line holds this, as in 'two p 100'")
    parser.add_argument("--processes", type=int, default=2)
    args = parser.parse_args()
    chosen = [c for c in cells() if args.cells in "{} {} p {} m {} ".format(*c)]
    chosen.sort(key=lambda c: -c[2] * c[3])
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "lone.json")
    known = {}
    if os.path.exists(path):
        known = {(c["people"], c["target"], c["p"], c["m"]): c for c in json.load(open(path))["cells"]}
    with multiprocessing.Pool(args.processes) as pool:
        for cell, result in zip([c for c in chosen if not few(c)], pool.imap(measure, [c for c in chosen if not few(c)])):
            known[cell] = result
            write(path, known)
    write(path, known)


def write(path, known):
    done = [known[c] for c in cells() if c in known]
    skipped = ["{} {} p {} m {}".format(*c) for c in cells() if few(c)]
    with open(path + ".new", "w") as f:
        f.write('{\n"about": "errors of the tuned lone model, by lone.py: RMSE, or the share of wrong classes, means over persons",\n')
        f.write('"skipped": {"why": "fewer than three records a class", "cells": ' + json.dumps(skipped) + '},\n"cells": [\n')
        f.write(",\n".join(json.dumps(c) for c in done) + "\n]}\n")
    os.replace(path + ".new", path)


if __name__ == "__main__":
    main()
