"""Draws what the router's probabilities are worth: how often it was right, for each tenth of what it said.

    python scripts/plot_calibration.py CORPORA

Cross-validated on the development corpora, as scripts/train_router.py fits and judges: whoever says something of a
request has not seen it. Needs what that script needs, and matplotlib with pillow. Writes calibration-own-tools.png and
calibration-intent.png under docs/images.
"""

from __future__ import annotations

import argparse
from io import BytesIO
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import train_router_fits as fits
from PIL import Image
from train_router import RANKING_STRENGTH, Data, NeedModel, Needs, related_array
from train_router_figures import calibration, held_out, own_tools

from rightcall.router.ranking import Linear

mpl.use("Agg")
from matplotlib import pyplot as plt  # after the choice of a backend that needs no screen

IMAGES = Path(__file__).parent.parent / "docs" / "images"
BINS = 10
BLUE, GREY = "#2a6fbb", "#9aa4ae"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpora", type=Path, help="the folder of the development corpora")
    chosen = parser.parse_args()
    data = Data(chosen.corpora, index=False)
    IMAGES.mkdir(exist_ok=True)
    sure, right = own_tools(data)
    live = np.array([row["source"] == "bfcl_v4_live_multiple" for row in data.own])
    draw("own-tools", "Is the first tool the right one? (BFCL live multiple)", "confidence", sure[live], right[live])
    draw("intent", "Is a tool needed? (BFCL)", "probability", *intent(data))


def intent(data: Data) -> tuple[np.ndarray, np.ndarray]:
    """For each request of BFCL with tools: the probability by a model that has not seen it, and the truth."""
    few = fits.ranking([related_array(rows) for rows in data.own_rows], data.own_right, RANKING_STRENGTH)
    needs = Needs(data, Linear(few.tolist()))
    every, _, odds = held_out(needs, NeedModel)
    bfcl = needs.bfcl[every]
    return 1.0 / (1.0 + np.exp(-odds[bfcl])), needs.call[every][bfcl]


def draw(name: str, title: str, said: str, sure: np.ndarray, true: np.ndarray) -> None:
    """One diagram: what was said against what came, and below how many requests stand behind each tenth."""
    tenth = np.minimum((sure * BINS).astype(int), BINS - 1)
    counts = np.bincount(tenth, minlength=BINS)
    there = np.flatnonzero(counts)
    mean = np.array([sure[tenth == i].mean() for i in there])
    share = np.array([true[tenth == i].mean() for i in there])
    figure, (upper, lower) = plt.subplots(
        2, 1, figsize=(6.4, 6.4), height_ratios=[3, 1], sharex=True, layout="constrained"
    )
    upper.plot([0, 1], [0, 1], color=GREY, linestyle="--", linewidth=1, label="what is said is what comes")
    upper.errorbar(
        mean, share, yerr=spread(share, counts[there]), color=BLUE, marker="o", linewidth=1.5, elinewidth=1, capsize=3,
        label="cross-validated, with 95 % intervals",
    )  # fmt: skip
    upper.set(ylabel="share that was so", ylim=(-0.02, 1.04))
    upper.set_title(f"{title}\n{len(sure):,} requests, ECE {calibration(sure, true):.3f}")
    upper.legend(loc="lower right")
    upper.grid(color="#e6e9ec")
    bars = lower.bar((np.arange(BINS) + 0.5) / BINS, counts, width=0.9 / BINS, color=BLUE)
    lower.bar_label(bars, labels=[f"{count:,}" for count in counts], fontsize=9)
    lower.set(xlabel=said, ylabel="requests", xlim=(0, 1), xticks=np.arange(11) / 10, ylim=(0, counts.max() * 1.2))
    save(figure, IMAGES / f"calibration-{name}.png")


def spread(share: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """How far below and above a share of so many requests the truth may lie (Wilson, 95 %)."""
    z = 1.96
    middle = (share + z * z / (2 * counts)) / (1 + z * z / counts)
    half = z / (1 + z * z / counts) * np.sqrt(share * (1 - share) / counts + z * z / (4 * counts**2))
    return np.maximum(0, [share - (middle - half), middle + half - share])


def save(figure: Any, file: Path) -> None:
    """Few colours, so that the file stays small."""
    drawn = BytesIO()
    figure.savefig(drawn, dpi=125)
    plt.close(figure)
    Image.open(drawn).convert("RGB").quantize(64).save(file, optimize=True)
    print(f"written: {file.name}, {file.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main()
