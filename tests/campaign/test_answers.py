"""Whatever is told: recorded, kept apart, or refused in a sentence — never a traceback, never half a batch."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.campaign.worlds import answer_of, create, finish

from quorate.campaign.answers import storable, wrong_with
from quorate.campaign.engine import Campaign
from quorate.errors import AnswerError, InputError, QuorateError
from quorate.facts import key_of, parse_key
from quorate.model import Answer
from quorate.stores import open_store

ANY_TEXT = st.text(st.characters(), max_size=8)  # half characters and NULs too
ANYTHING = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), ANY_TEXT, st.binary(max_size=3),
    st.lists(st.integers(), max_size=2), st.dictionaries(ANY_TEXT, ANY_TEXT, max_size=2),
)  # fmt: skip
RIGHT_OR_NOT = {
    "label": st.sampled_from(["no", "yes", None]) | ANYTHING,
    "worker": st.sampled_from([None, "ann"]) | ANYTHING,
    "price": st.sampled_from([None, 0, 7]) | ANYTHING,
    "failure": st.sampled_from([None, "exhausted", "refused", "expired", "parked", "same worker"]) | ANYTHING,
    "raw": st.just({}) | st.dictionaries(ANYTHING.filter(lambda one: getattr(one, "__hash__", None)), ANYTHING)
    | ANYTHING,
}  # fmt: skip


@given(st.data())
def test_anything_may_be_told(data):
    campaign = create(items=2)
    ask, other = campaign.ask(2)
    before = campaign.ledger.campaign()
    key = data.draw(st.sampled_from([ask.key, f"{ask.key}0", "x-1-0-0"]) | ANYTHING)
    answer = Answer(key, **{name: data.draw(values, label=name) for name, values in RIGHT_OR_NOT.items()})
    became, error = told(campaign, [Answer(other.key, "yes"), answer])
    if error is None:
        assert became[0] == "recorded"
        assert became[1] == ("recorded" if key == ask.key else "known" if key == other.key else "stray")
    else:
        assert error.message.isprintable()
        assert error.hint
        assert campaign.ledger.campaign() == before
    campaign.ledger.verify()
    campaign.tell_many([answer_of(ask), answer_of(other)])
    assert finish(campaign).done
    assert Campaign(campaign.ledger).decisions().digest == campaign.decisions().digest


def told(campaign, answers):
    """What became of answers, or the error of ours."""
    try:
        return campaign.outcomes(answers), None
    except QuorateError as error:
        return None, error


@pytest.mark.parametrize("price", [0.05, "0.05", True, -1, 2**40])
def test_a_price_in_the_wrong_unit_is_refused_and_not_booked_as_nothing(price):
    campaign = create()
    (ask,) = campaign.ask(1)
    money = campaign.ledger.money()
    with pytest.raises(AnswerError, match="a price that is no amount"):
        campaign.tell(Answer(ask.key, "yes", price=price))
    assert campaign.ledger.money() == money


def test_half_a_character_in_what_a_model_said_is_kept():
    campaign = create()
    (ask,) = campaign.ask(1)
    assert campaign.tell(Answer(ask.key, "yes", raw={"said": "oh \ud83d no"}))
    (fact,) = [one for one in campaign.ledger.history(0) if one.table == "answer"]
    assert fact.row["raw"] == '{"said": "oh \\ud83d no"}'


@given(ANY_TEXT)
def test_what_is_storable_is_what_a_database_can_keep(text):
    kept = storable(text)
    kept.encode()
    assert "\0" not in kept
    if text.isascii() and text.isprintable():
        assert kept == text


def test_what_is_no_answer_at_all():
    assert wrong_with(None) == wrong_with(Answer(7, "yes")) == "not an answer"


def test_a_key_of_an_epoch_that_never_was_is_nobodys():
    campaign = create()
    (ask,) = campaign.ask(1)
    parts = parse_key(ask.key)
    assert campaign.outcomes([Answer(key_of(parts.uid, 2, 0, 0), "yes")]) == ["stray"]
    assert campaign.tell(answer_of(ask))


def test_an_ask_of_before_the_backup_keeps_its_key_and_later_ones_have_another():
    with open_store("memory:") as store:
        campaign = create(store)
        kept = campaign.ask(2)
        store.restored()
        campaign = Campaign.open(store)
        again = campaign.ask(3)
        later = [one for one in again if one.item not in {two.item for two in kept}]
        assert {parse_key(one.key).epoch for one in later} == {2}
        adopted = campaign.ask(50)
        while not {one.key for one in kept} & {one.key for one in adopted}:
            adopted = campaign.ask(50)
        assert campaign.tell(answer_of(kept[0]))
        lost = parse_key(later[0].key)
        assert campaign.outcomes([Answer(key_of(lost.uid, 1, lost.item, lost.ordinal), "yes")]) == ["stray"]


@pytest.mark.parametrize("n", [0, -1])
def test_no_asks_are_no_asks(n):
    campaign = create()
    if n < 0:
        with pytest.raises(InputError, match="-1"):
            campaign.ask(n)
    else:
        assert campaign.ask(n) == []
    assert len(campaign.ask(3)) == 3


def test_who_asks_and_tells_for_long_keeps_no_list_of_it():
    campaign = finish(create())
    assert not campaign.left_over
