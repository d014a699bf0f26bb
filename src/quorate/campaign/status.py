"""Where a campaign stands: items, money, the classes with their uncertainty, the estimated error, the assumptions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from quorate.campaign.decider import REASONS
from quorate.campaign.fold import STAGES_OF_A_COHORT, Fold
from quorate.core.diagnostics import binomial_mixture, fixed_counts
from quorate.core.hashing import generator
from quorate.model import OPEN, UNDECIDED, FloatArray

if TYPE_CHECKING:
    from quorate.campaign.engine import Campaign

DRAWS: Final = 200
LEAST: Final = 20  # concluded items from which a forecast is made
_Z: Final = 1.96
_DICE: Final = 0x57A7  # the stream of the status page's own draws


def status(campaign: Campaign) -> dict[str, Any]:
    """Everything `quorate status` shows, as plain JSON; money in micros."""
    fold, row = campaign.fold, campaign.ledger.campaign()
    verdict = fold.column("verdict", OPEN)
    real = fold.gold < 0
    reasons = fold.column("reason", 0)[real & (verdict == UNDECIDED)]
    cohort = fold.cohort
    accuracies, error = _estimates(campaign, verdict)
    return {
        "name": campaign.name,
        "state": row.state,
        "done": cohort is not None and cohort.decider.done and not (fold.cohort_of < 0).any(),
        "policy": campaign.policy.name,
        "promise": campaign.promise,
        "accuracy": campaign.spec.accuracy,
        "currency": campaign.spec.currency,
        "labels": list(campaign.spec.labels),
        "stage": cohort.decider.stage.name if cohort is not None and cohort.decider.stages else None,
        "stages": sum(len(one.decider.stages) for one in fold.cohorts),
        "cohorts": len(fold.cohorts),
        "items": {
            "total": fold.items,
            "labelled": int((real & (verdict >= 0)).sum()),
            "open": int((real & (verdict == OPEN)).sum()),
            "undecided": len(reasons),
            "gold": int((~real).sum()),
        },
        "undecided_for": {REASONS[r]: int((reasons == r).sum()) for r in np.unique(reasons).tolist()},
        "policy_ended": cohort.decider.why_ended if cohort is not None else "",
        "answers": fold.folded,
        "in_flight": len(campaign.ledger.asks()) - len(campaign.ledger.changes().answers),
        "money": {**row.money._asdict(), "forecast": _forecast(campaign, verdict, real, row.money.spent)},
        "error": error,
        "classes": _classes(campaign, accuracies),
        "health": health(campaign),
        "kept_apart": _kept_apart(campaign),
    }


def _kept_apart(campaign: Campaign) -> dict[str, int]:
    """Answers that are kept and do not count."""
    kinds = [one.outcome for one in campaign.ledger.conflicts()]
    counted: dict[str, int] = {kind: kinds.count(kind) for kind in sorted(set(kinds))}
    strays = len(campaign.ledger.strays())
    return {**counted, "stray": strays} if strays else counted


def _forecast(
    campaign: Campaign, verdict: NDArray[Any], real: NDArray[np.bool_], spent: int
) -> dict[str, int] | None:
    """What will have been spent at the end, if the open items cost what the concluded ones did."""
    used = campaign.fold.column("used", 0)
    if used.ndim == 1:
        return None
    cost = used @ np.array(campaign.spec.prices, np.float64)
    concluded = cost[real & (verdict >= 0)]
    open_ = real & (verdict == OPEN)
    if len(concluded) < LEAST:
        return None
    n = int(open_.sum())
    mean, variance = concluded.mean(), concluded.var()
    more = float(np.maximum(mean - cost[open_], 0).sum())
    spread = _Z * np.sqrt(variance * (n + n * n / len(concluded)))
    low, high = max(more - spread, 0.0), more + spread
    return {"expected": round(spent + more), "low": round(spent + low), "high": round(spent + high)}


def _estimates(campaign: Campaign, verdict: NDArray[Any]) -> tuple[FloatArray | None, dict[str, Any] | None]:
    """Accuracies (M, 2, 3) as estimate, low, high, and the error of the labels concluded so far with its interval."""
    from quorate.core.estimators.em import compress, fit_counts
    from quorate.core.estimators.posterior import posterior_draws

    fold = campaign.fold
    counts = fold.column("counts", 0)
    if len(campaign.spec.labels) != 2 or counts.ndim == 1 or not counts.any():
        return None, None
    rows = compress(counts)
    fit = fit_counts(rows.unique, weight=rows.weight)
    dice = generator(campaign.spec.seed, _DICE, fold.folded)
    accuracy, prior = posterior_draws(rows.unique, rows.weight, fit, draws=DRAWS, rng=dice)
    ends = np.quantile(accuracy, (0.025, 0.975), axis=0)
    table = np.stack([fit.accuracy_hat, ends[0], ends[1]], axis=-1)
    labelled = verdict >= 0
    if not labelled.any():
        return table, None
    log_odds = _log_odds(rows.unique, accuracy, prior)
    wrong = np.zeros(DRAWS)
    for label in (0, 1):
        times = np.bincount(rows.inverse[verdict == label], minlength=len(rows.unique))
        wrong += expit(log_odds if label == 0 else -log_odds) @ times
    share = wrong / labelled.sum()
    low, high = np.quantile(share, (0.025, 0.975))
    return table, {"expected": float(share.mean()), "low": float(low), "high": float(high), "of": int(labelled.sum())}


def _log_odds(unique: NDArray[np.int64], accuracy: FloatArray, prior: FloatArray) -> FloatArray:
    """log P(1 | row) / P(0 | row) for each draw and row: (D, rows)."""
    one = np.log(accuracy[:, :, 1]) - np.log1p(-accuracy[:, :, 0])  # of an answer 1
    zero = np.log1p(-accuracy[:, :, 1]) - np.log(accuracy[:, :, 0])
    odds: FloatArray = (
        one @ unique[:, :, 1].T + zero @ unique[:, :, 0].T + (np.log(prior) - np.log1p(-prior))[:, None]
    )
    return odds


def _classes(campaign: Campaign, accuracies: FloatArray | None) -> list[dict[str, Any]]:
    used = campaign.fold.column("used", 0)
    rows = []
    for k, one in enumerate(campaign.spec.classes):
        asked = int(used[:, k].sum(dtype=np.int64)) if used.ndim == 2 else 0
        rows.append(
            {
                "name": one.name,
                "price": one.price,
                "state": campaign.class_state[k],
                "why": campaign.why_halted.get(k, ""),
                "answers": asked,
                "accuracy": accuracies[k, :, 0].tolist() if accuracies is not None and asked else None,
                "interval": accuracies[k, :, 1:].tolist() if accuracies is not None and asked else None,
            }
        )
    return rows


def health(campaign: Campaign) -> list[dict[str, Any]]:
    """The goodness of fit of each class's answers, on items whose number of answers was fixed beforehand."""
    stages = fixed_stages(campaign.fold)
    if not stages:
        return []
    asks = campaign.decisions().asks
    fixed = np.isin(asks["stage"], stages)
    found = []
    for k, one in enumerate(campaign.spec.classes):
        ones, answers = fixed_counts(asks["item"][fixed], asks["class"][fixed], asks["label"][fixed], k)
        fit = binomial_mixture(ones, answers)
        if fit is not None:
            found.append(
                {
                    "class": one.name, "items": fit.items, "answers": fit.answers, "statistic": fit.statistic,
                    "freedom": fit.freedom, "p_value": fit.p_value, "says": _says(one.name, fit.p_value),
                }
            )  # fmt: skip
    return found


def fixed_stages(fold: Fold) -> list[int]:
    """The numbers of the stages whose number of answers per item did not depend on the answers."""
    return [
        cohort.number * STAGES_OF_A_COHORT + at
        for cohort in fold.cohorts
        for at, stage in enumerate(cohort.decider.stages)
        if stage.fixed
    ]


def _says(name: str, p_value: float) -> str:
    if p_value >= 0.05:
        return f"The answers of {name} look as if given independently, item by item."
    sure = "clearly " if p_value < 0.001 else ""
    return (
        f"The answers of {name} are {sure}not independent given the label (p = {p_value:.2g}): some items are harder"
        " than others, or answers are copied.  The promised accuracy may not hold; audit with a trusted class."
    )
