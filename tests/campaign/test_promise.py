"""The words of the promise are those of what was asked for, wherever a result shows them."""

from html import unescape

import pytest
from tests.campaign.worlds import create, finish

from quorate.certificate import certify, html, markdown
from quorate.core.policies.calibrated import FOR_EACH_LABEL, ON_AVERAGE, Calibrated
from quorate.registry import lookup


def shown(campaign):
    """Every place that says what holds of the labels."""
    row = next(one for one in campaign.labels() if one["status"] == "labelled")
    return {
        row["promise"],
        campaign.explain(row["item"])["promise"],
        campaign.status()["promise"],
        certify(campaign).promise,
    }


@pytest.mark.parametrize(
    ("policy", "average", "words"),
    [
        ("calibrated", False, FOR_EACH_LABEL),
        ("calibrated", True, ON_AVERAGE),
        ("calibrated-average", False, ON_AVERAGE),
        ("calibrated-average", True, ON_AVERAGE),
        ("votes-3", True, lookup("policies", "votes-3").promise),
    ],
)
def test_the_words_are_those_of_what_was_asked_for(policy, average, words):
    campaign = finish(create(policy=policy, average=average, item_cap=30))
    assert shown(campaign) == {words}
    found = certify(campaign)
    for page in (markdown(found), unescape(html(found))):
        assert words[1:] in page
        assert (FOR_EACH_LABEL[1:] in page) == (words == FOR_EACH_LABEL)
        assert "right, by true label" not in page


def test_a_policy_made_for_the_average_says_so():
    assert Calibrated(average=True).promise == ON_AVERAGE != Calibrated().promise


def test_items_that_were_labelled_for_the_average_keep_the_weaker_words():
    campaign = finish(create(policy="calibrated", average=True, item_cap=30))
    campaign.change(average=False)
    assert shown(campaign) == {ON_AVERAGE}
