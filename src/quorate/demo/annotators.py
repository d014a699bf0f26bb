"""The demonstration's two programs that label texts.  Both are cheap, quick, and much worse than people."""

from __future__ import annotations

from functools import cache
from typing import Any, Final

from quorate.demo.hutto import PRODUCTS, sentences
from quorate.errors import MissingExtra

CLEAR: Final = 0.3  # mean ratings nearer to 0 teach nothing


def lexicon(text: str) -> str | None:
    """VADER's word list and rules; silent where no word of the text is in the list."""
    score = _vader().polarity_scores(text)["compound"]
    return None if score == 0 else "pleased" if score > 0 else "displeased"


def shopper(texts: list[str]) -> list[str]:
    """A text classifier that learned from rated product reviews, and has never seen a film review."""
    return ["pleased" if one else "displeased" for one in _trained().predict(texts)]


@cache
def _vader() -> Any:
    try:
        from vaderSentiment.vaderSentiment import SentimentIntensityAnalyzer  # type: ignore[import-untyped]
    except ImportError:
        raise MissingExtra("The demonstration", "demo") from None
    return SentimentIntensityAnalyzer()


@cache
def _trained() -> Any:
    try:
        from sklearn.feature_extraction.text import TfidfVectorizer
        from sklearn.linear_model import LogisticRegression
        from sklearn.pipeline import make_pipeline
    except ImportError:
        raise MissingExtra("The demonstration", "demo") from None
    rated = [(one.text, sum(one.ratings) / len(one.ratings)) for one in sentences(PRODUCTS) if one.ratings]
    clear = [(text, mean > 0) for text, mean in rated if abs(mean) > CLEAR]
    model = make_pipeline(
        TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True, min_df=2),
        LogisticRegression(C=4, class_weight="balanced"),
    )
    return model.fit([text for text, _ in clear], [good for _, good in clear])
