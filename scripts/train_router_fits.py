"""How each part of the router is fitted, for scripts/train_router.py: a ranking, words, trees, a missing value."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import lightgbm
import numpy as np
from scipy.optimize import minimize
from sklearn.feature_extraction import DictVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GroupKFold, StratifiedKFold

TREES = 300
"""Few, since each costs a microsecond of every request."""


def ranking(rows: Sequence[Any], right: Sequence[Any], strength: float) -> np.ndarray:
    """Weights of a conditional logit: the right tools' share of the softmax over a request's tools is made large."""
    spread = np.vstack(rows).std(0) + 1e-6
    scaled = [one / spread for one in rows]
    lengths = [len(one) for one in scaled]
    which, starts = np.repeat(np.arange(len(scaled)), lengths), np.r_[0, np.cumsum(lengths)][:-1]
    matrix, wanted = np.vstack(scaled), np.concatenate(right).astype(float)

    def loss(weights: np.ndarray) -> tuple[float, np.ndarray]:
        scores = matrix @ weights
        powers = np.exp(scores - np.maximum.reduceat(scores, starts)[which])
        whole, good = np.add.reduceat(powers, starts), np.maximum(np.add.reduceat(powers * wanted, starts), 1e-12)
        slope = matrix.T @ (powers / whole[which] - powers * wanted / good[which])
        return -np.log(good / whole).sum() + 0.5 / strength * (weights @ weights), slope + weights / strength

    fitted = minimize(loss, np.zeros(matrix.shape[1]), jac=True, method="L-BFGS-B", options={"maxiter": 300})
    return fitted.x / spread


class Words:
    """Logistic regression on words, as `learned.Wordy` scores them."""

    def __init__(self, words: Sequence[Sequence[str]], labels: Any, strength: float = 10.0, rare: float = 0.0) -> None:
        """`rare`: how much more freely the weight of a rare word may differ from 0 than that of a common one."""
        self.names = DictVectorizer()
        matrix = self.names.fit_transform([_scaled(one) for one in words])
        holding = np.asarray((matrix > 0).sum(0)).ravel()
        self.kept = holding >= 2
        self.rarity = (1.0 + np.log(len(words) / holding[self.kept])) ** rare
        self.model = LogisticRegression(C=strength, max_iter=3000, class_weight="balanced")
        self.model.fit(matrix[:, self.kept].multiply(self.rarity).tocsr(), labels)

    def scores(self, words: Sequence[Sequence[str]]) -> np.ndarray:
        matrix = self.names.transform([_scaled(one) for one in words])[:, self.kept]
        return self.model.decision_function(matrix.multiply(self.rarity).tocsr())

    def table(self) -> dict[str, Any]:
        names = np.array(self.names.get_feature_names_out())[self.kept]
        weights = {
            name: round(float(weight), 2) for name, weight in zip(names, self.model.coef_[0] * self.rarity, strict=True)
        }
        kept = {name: weight for name, weight in sorted(weights.items()) if abs(weight) >= 0.02}
        return {"weights": kept, "bias": round(float(self.model.intercept_[0]), 4)}


def meaning(vectors: np.ndarray, labels: np.ndarray, groups: np.ndarray) -> tuple[dict[str, Any], np.ndarray]:
    """Whether a request sounds like one for a tool, by its vector; and the same by models that had not seen its set."""

    scores = np.zeros(len(labels))
    for seen, unseen in GroupKFold(5).split(vectors, groups=groups):
        scores[unseen] = _by_vector(vectors[seen], labels[seen]).decision_function(vectors[unseen])
    return linear_meaning(vectors, labels), scores


def linear_meaning(vectors: np.ndarray, labels: np.ndarray, share: float = 1.0) -> dict[str, Any]:
    """Whether a request sounds like one for a tool, by its vector, as `ranking.Linear`; `share`: what of it counts."""
    model = _by_vector(vectors, labels)
    weights = [float(f"{share * weight:.4g}") for weight in model.coef_[0]]
    return {"weights": weights, "bias": share * float(model.intercept_[0])}


def _by_vector(vectors: np.ndarray, labels: np.ndarray) -> LogisticRegression:
    return LogisticRegression(C=2.0, max_iter=3000, class_weight="balanced").fit(vectors, labels)


def _scaled(words: Sequence[str]) -> dict[str, float]:
    found = set(words)
    return dict.fromkeys(found, 1.0 / (len(found) ** 0.5 or 1.0))


def held_out_words(words: Sequence[Sequence[str]], labels: np.ndarray) -> np.ndarray:
    """The score of each request by a model that has not seen it, for the trees to learn from."""
    scores = np.zeros(len(words))
    for seen, unseen in StratifiedKFold(8, shuffle=True, random_state=7).split(words, labels):
        model = Words([words[i] for i in seen], labels[seen])
        scores[unseen] = model.scores([words[i] for i in unseen])
    return scores


def trees(numbers: np.ndarray, labels: np.ndarray, weights: np.ndarray) -> lightgbm.Booster:
    settings = {
        "objective": "binary", "learning_rate": 0.05, "num_leaves": 15, "min_data_in_leaf": 15, "verbose": -1,
        "feature_fraction": 0.4, "bagging_fraction": 0.8, "bagging_freq": 1, "lambda_l2": 5, "num_threads": 1,
        "seed": 1, "deterministic": True,
    }  # fmt: skip
    return lightgbm.train(settings, lightgbm.Dataset(numbers, labels.astype(int), weight=weights), TREES)


def tree_tables(booster: lightgbm.Booster) -> list[list[Any]]:
    """As `learned.Tree` reads them."""
    return [_table(one["tree_structure"]) for one in booster.dump_model()["tree_info"]]


def _table(root: dict[str, Any]) -> list[Any]:
    nodes: list[list[Any]] = []
    leaves: list[float] = []

    def place(node: dict[str, Any]) -> int:
        if "leaf_value" in node:
            leaves.append(round(node["leaf_value"], 5))
            return -len(leaves)
        at = len(nodes)
        nodes.append([node["split_feature"], float(f"{node['threshold']:.6g}"), 0, 0])
        nodes[at][2:] = [place(node["left_child"]), place(node["right_child"])]
        return at

    if place(root) < 0:  # a tree that is one leaf
        return [[[0, 0.0, -1, -1]], leaves]
    return [nodes, leaves]


def missing_value(numbers: np.ndarray, labels: np.ndarray, weights: np.ndarray) -> dict[str, Any]:
    """Log odds that a value is missing, as `learned.Linear`."""
    mean, spread = numbers.mean(0), numbers.std(0) + 1e-6
    model = LogisticRegression(C=0.3, max_iter=3000).fit((numbers - mean) / spread, labels, sample_weight=weights)
    slope = model.coef_[0] / spread
    return {"weights": slope.tolist(), "bias": float(model.intercept_[0] - slope @ mean)}
