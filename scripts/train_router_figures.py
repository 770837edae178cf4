"""Cross-validated figures of the router's parts, for scripts/train_router.py: what a request never seen would get."""

from __future__ import annotations

from typing import Any

import numpy as np
import train_router_fits as fits
from sklearn.model_selection import GroupKFold, KFold, StratifiedKFold

from rightcall.router.ranking import shares


def own_tools(data: Any, strength: float = 0.05) -> tuple[np.ndarray, np.ndarray]:
    """The right tool among a request's own, and what its confidence is worth."""
    from train_router import related_array

    rows = [related_array(one) for one in data.own_rows]
    sources = np.array([row["source"] for row in data.own])
    tools = [" ".join(sorted(tool["name"] for tool in row["tools"])) for row in data.own]
    kept: tuple[np.ndarray, np.ndarray] | None = None
    for name, folds in (("random folds", KFold(5, shuffle=True, random_state=0).split(rows)),
                        ("folds by tools", GroupKFold(5).split(rows, groups=tools))):  # fmt: skip
        sure, right = np.zeros(len(rows)), np.zeros(len(rows), bool)
        for seen, unseen in folds:
            weights = fits.ranking([rows[i] for i in seen], [data.own_right[i] for i in seen], strength)
            for i in unseen:
                divided = shares((rows[i] @ weights).tolist())
                best = int(np.argmax(divided))
                sure[i], right[i] = divided[best], data.own_right[i][best]
        kept = kept or (sure, right)
        for about, which in (
            ("BFCL live multiple", sources == "bfcl_v4_live_multiple"),
            ("all with several", sources != ""),
        ):
            passed = which & (sure >= 0.7)
            error, precision = calibration(sure[which], right[which]), right[passed].mean()
            print(f"  own tools, {about}, {name}: right {right[which].mean():.3f}, ECE {error:.3f}")
            print(f"    at 0.7: precision {precision:.3f}, coverage {passed.sum() / which.sum():.3f}")
    assert kept is not None
    return kept


def calibration(sure: np.ndarray, right: np.ndarray) -> float:
    """The expected calibration error over ten bins."""
    bins = np.minimum((sure * 10).astype(int), 9)
    return sum(abs(sure[bins == i].mean() - right[bins == i].mean()) * (bins == i).mean() for i in set(bins.tolist()))


def many_tools(data: Any) -> None:
    """Recall at 1 and 5 of what the index finds, before and after the ranking."""
    from train_router import RANKING_STRENGTH, related_array

    rows = [related_array(one) for one in data.many_rows]
    requests = [name.split("/")[0] + name.split("/")[1] for name in data.many_ids]
    order: list[np.ndarray] = [np.empty(0)] * len(rows)
    for seen, unseen in GroupKFold(5).split(rows, groups=requests):
        useful = [i for i in seen if data.many_right[i].any()]
        weights = fits.ranking([rows[i] for i in useful], [data.many_right[i] for i in useful], RANKING_STRENGTH)
        for i in unseen:
            order[i] = data.many_right[i][np.argsort(-(rows[i] @ weights), kind="stable")]
    for kind in sorted({"/".join(name.split("/")[-2:]) for name in data.many_ids}):
        which = [i for i, name in enumerate(data.many_ids) if name.endswith(kind)]
        first, five = np.mean([order[i][0] for i in which]), np.mean([order[i][:5].any() for i in which])
        plain = np.mean([data.many_right[i][0] for i in which]), np.mean([data.many_right[i][:5].any() for i in which])
        print(
            f"  among many, {kind}: at 1 {first:.3f}, at 5 {five:.3f} (the index alone {plain[0]:.3f}, {plain[1]:.3f})"
        )


def intent(needs: Any, model: Any) -> None:
    """Needs a tool? Three answers, on requests with tools."""
    for name in ("random folds", "folds by tools"):
        every, answers, odds = held_out(needs, model, by_tools="tools" in name)
        bfcl = needs.bfcl[every]
        truth = needs.call[every][bfcl]
        for about, said in (("answer call", answers[bfcl] == 0), ("answer call or ask", answers[bfcl] != 2)):
            print(f"  BFCL, {about}, {name}: F1 {f1(said, truth):.4f}, specificity {specificity(said, truth):.4f}")
        when = ~bfcl & ~needs.everyday[every]
        wanted = np.where(needs.ask, 1, np.where(needs.call, 0, 2))[every][when]
        print(f"  When2Call three ways, {name}: accuracy {(answers[when] == wanted).mean():.4f} of {len(wanted)}")
        show_everyday(odds, needs.need[every], needs.everyday[every], name)


def show_everyday(odds: np.ndarray, need: np.ndarray, ours: np.ndarray, name: str) -> None:
    """What each limit of a final none would cost."""
    wanted, unwanted = odds[ours & need], odds[ours & ~need]
    print(f"  everyday, {name}: need seen {(wanted >= 0).mean():.3f}, none seen {(unwanted < 0).mean():.3f}")
    for limit in (0.02, 0.05, 0.08, 0.12, 0.2, 0.3):
        at = np.log(limit / (1 - limit))
        print(f"    final none below {limit}: wrongly {(wanted < at).mean():.3f}, rightly {(unwanted < at).mean():.3f}")


def held_out(needs: Any, model: Any, *, by_tools: bool = False) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The requests of the corpora, and for each the answer and the odds by a model that has not seen it."""
    every = np.flatnonzero(~needs.made)
    if by_tools:
        folds = GroupKFold(5).split(every, groups=needs.tools[every])
    else:
        strata = (needs.call + 2 * needs.ask + 4 * needs.bfcl)[every]
        folds = StratifiedKFold(5, shuffle=True, random_state=0).split(every, strata)
    answers, odds = np.zeros(len(every), int), np.zeros(len(every))
    for _, unseen in folds:
        hidden = set(needs.origins[every[unseen]])  # some requests are in two corpora, some are made of others
        tools = set(needs.tools[every[unseen]]) if by_tools else ()
        seen = [i for i in range(len(needs.cases)) if needs.origins[i] not in hidden and needs.tools[i] not in tools]
        answers[unseen], odds[unseen] = model(needs, np.array(seen)).answers(needs, every[unseen])
    return every, answers, odds


def f1(said: np.ndarray, truth: np.ndarray) -> float:
    return 2 * (said & truth).sum() / max(1, said.sum() + truth.sum())


def specificity(said: np.ndarray, truth: np.ndarray) -> float:
    return (~said & ~truth).sum() / (~truth).sum()


def by_text(data: Any) -> None:
    """Needs a tool? By the text alone (MetaTool)."""
    from train_router import TextVoice, alone_data

    labels = np.array([row["needs_tool"] for row in data.alone])
    said = np.zeros(len(labels), bool)
    for seen, unseen in StratifiedKFold(10, shuffle=True, random_state=0).split(labels, labels):
        said[unseen] = TextVoice(*alone_data(data, seen)).scores([data.alone[i]["text"] for i in unseen]) >= 0
    print(f"== text alone\n  MetaTool: F1 {f1(said, labels):.4f}, specificity {specificity(said, labels):.4f}")
