"""Made-up populations. madeup_test.go makes the same numbers.

A stream of random numbers has a name: it is SplitMix64 (Steele, Lea, Flood 2014) from the state FNV-1a of the name. A uniform is its upper 53
bits in [0, 1); a normal takes two of these, sqrt(-2 ln(1 - u)) cos(2 pi v) (Box and Muller 1958).
"""

import numpy as np

FACTORS = 20    # that correlated columns share
OWN_NOISE = .3  # of such a column, beside the factors, which have 1, 1/2, 1/3, ...
SPREAD = 1 / 3  # standard deviation of such a column
OFFSET = .5     # the largest mean of a column that is off centre
NUMBER = .5     # mean of a number to predict
NOISE = .5      # of a number to predict, and of scores, in their own standard deviation
FEWEST = 3      # records of each class that a person learns from

# How far a person's true model is from what all have in common, which is 1 long a coordinate or, where nothing is in common, 0.
PEOPLE = {"alike": (1, .3), "unlike": (1, 1), "independent": (0, 1)}

# Classes to predict, 0 for a number, and the scores that decide.
CLASSES = {"number": 0, "two": 2, "six": 6}
SCORES = {"number": 1, "two": 1, "six": 6}


def uniforms(name, count):
    state = 0xcbf29ce484222325
    for byte in name.encode():
        state = (state ^ byte) * 0x100000001b3 % 2**64
    with np.errstate(over="ignore"):
        z = np.uint64(state) + np.arange(1, count + 1, dtype=np.uint64) * np.uint64(0x9e3779b97f4a7c15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xbf58476d1ce4e5b9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94d049bb133111eb)
        z ^= z >> np.uint64(31)
    return (z >> np.uint64(11)) * 2.**-53


def normals(u):
    """From uniforms, two neighbours along the last axis each."""
    return np.sqrt(-2 * np.log1p(-u[..., ::2])) * np.cos(2 * np.pi * u[..., 1::2])


class Population:
    """People of one kind, whose records have p columns.

    alike: columns are independent of each other. unlike: they share factors. independent: they share factors and are off centre.
    """

    def __init__(self, people, target, p):
        self.name = f"{people} {target} {p}"
        self.target, self.p, self.scores = target, p, SCORES[target]
        self.shared, self.own = PEOPLE[people]
        self.common = normals(uniforms(self.name + " common", 2 * self.scores * p)).reshape(self.scores, p)
        self.loadings, self.mean = None, np.zeros(p)
        if people != "alike":
            q = min(p, FACTORS)
            strength = 1 / np.arange(1, q + 1)
            unit = SPREAD / np.sqrt((strength**2).sum() + OWN_NOISE**2)
            self.loadings = normals(uniforms(self.name + " loadings", 2 * p * q)).reshape(p, q) * strength * unit
            self.column_noise = OWN_NOISE * unit
        if people == "independent":
            self.mean = OFFSET * (2 * uniforms(self.name + " means", p) - 1)

    def model(self, i):
        """The true model of person i, by which scores have the standard deviation 1, but for what is beyond [-1, 1]."""
        own = normals(uniforms(f"{self.name} person {i}", 2 * self.scores * self.p)).reshape(self.scores, self.p)
        theta = self.shared * self.common + self.own * own
        if self.loadings is None:
            square = (theta**2).sum(1) / 3
        else:
            square = ((theta @ self.loadings)**2).sum(1) + self.column_noise**2 * (theta**2).sum(1)
        return theta / np.sqrt(square)[:, None]

    def records(self, name, theta, n):
        """x, n x p in [-1, 1], and labels: numbers, or classes from 0."""
        q = 0 if self.loadings is None else self.loadings.shape[1]
        columns = self.p if self.loadings is None else 2 * (q + self.p)
        u = uniforms(f"{self.name} {name}", n * (columns + 2 * self.scores)).reshape(n, -1)
        if self.loadings is None:
            x = 2 * u[:, :self.p] - 1
        else:
            g = normals(u[:, :columns])
            x = self.mean + g[:, :q] @ self.loadings.T + self.column_noise * g[:, q:]
            x = np.clip(x, -1, 1)
        z = (x - self.mean) @ theta.T + NOISE * normals(u[:, columns:])
        if self.target == "number":
            return x, NUMBER + z[:, 0]
        return x, (z[:, 0] > 0).astype(int) if self.target == "two" else z.argmax(1)

    def training(self, i, theta, m):
        """m records of person i, drawn again until every class is there often enough."""
        attempt = 1
        while True:
            x, y = self.records(f"person {i} training {m} {attempt}", theta, m)
            if self.target == "number" or np.bincount(y, minlength=CLASSES[self.target]).min() >= FEWEST:
                return x, y
            attempt += 1

    def test(self, i, theta, n):
        return self.records(f"person {i} test", theta, n)
