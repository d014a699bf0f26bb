"""Instance files: what is read is what was written, and every error says where."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from quorate.errors import FileError
from quorate.model import NO_CAP
from quorate.studies.instance_file import load_instance, parse_instance
from quorate.studies.instances import BUILT_IN, p1_price

CLASS = '[[class]]\nname = "crowd"\nprice = 0.05\naccuracy = [0.88, 0.82]\n'
CHEAP = '[[class]]\nname = "cheap"\nprice = "p1"\naccuracy = [0.7, 0.6]\nanswers_per_item = 3\n'


def test_reads_every_key(tmp_path):
    path = tmp_path / "two.toml"
    path.write_text(f"prior = 0.3\nalpha = 0.01\n{CLASS}{CHEAP}")
    one = load_instance(path)
    assert (one.name, one.prior, one.alpha, one.classes) == ("two", 0.3, 0.01, ("crowd", "cheap"))
    np.testing.assert_array_equal(one.accuracy, [[0.88, 0.82], [0.7, 0.6]])
    np.testing.assert_array_equal(one.price, [0.05, p1_price([0.7, 0.6])])
    np.testing.assert_array_equal(one.caps, [NO_CAP, 3])


def test_prior_and_alpha_have_the_papers_values_by_default():
    one = parse_instance(CLASS)
    assert (one.prior, one.alpha) == (0.5, 0.05)


@pytest.mark.parametrize("name", BUILT_IN)
def test_built_in_names(name):
    assert load_instance(name) is BUILT_IN[name]


@pytest.mark.parametrize(
    ("text", "said", "hint"),
    [
        ("priors = 0.5\n" + CLASS, "there is no key 'priors'", "Did you mean 'prior'?"),
        (CLASS + "acuracy = [0.5, 0.5]", "[[class]] number 1: there is no key 'acuracy'", "Did you mean 'accuracy'?"),
        ("prior = 1.5\n" + CLASS, "key 'prior' is 1.5", "between 0 and 1"),
        ("prior = true\n" + CLASS, "key 'prior' is True", "between 0 and 1"),
        ("prior = nan\n" + CLASS, "key 'prior' is nan", "between 0 and 1"),
        ("alpha = 0.5\n" + CLASS, "key 'alpha' is 0.5", "between 0 and 0.5"),
        ("", "no [[class]] table", "one [[class]] table"),
        ("class = 3", "no [[class]] table", "one [[class]] table"),
        (CLASS + CLASS, "number 2: key 'name' is 'crowd', as in number 1", "must differ"),
        (CLASS.replace('"crowd"', "7"), "key 'name' is 7", "in quotes"),
        (CLASS.replace("0.05", '"p2"'), "('crowd'): key 'price' is 'p2'", '"p1"'),
        (CLASS.replace("0.05", "-1"), "key 'price' is -1", "above 0"),
        (CLASS.replace("0.05", "inf"), "key 'price' is inf", "above 0"),
        (CLASS.replace("price = 0.05\n", ""), "('crowd'): there is no key 'price'", "Write a number"),
        ('[[class]]\nname = "a"\nprice = 1', "('a'): there is no key 'accuracy'", "two probabilities"),
        ("[[class]]\nprice = 1", "number 1: there is no key 'name'", "in quotes"),
        (CLASS.replace("[0.88, 0.82]", "0.88"), "key 'accuracy' is 0.88", "two probabilities"),
        (CLASS.replace("0.82", "1.0"), "key 'accuracy', second is 1.0", "between 0 and 1"),
        (CLASS.replace("0.05", "1" + 400 * "0"), "key 'price' is a number of more than", "below 1,000,000,000"),
        (CLASS.replace("0.05", "1e308"), "key 'price' is 1e+308", "below 1,000,000,000"),
        ("prior = 1e-300\n" + CLASS, "key 'prior' is 1e-300", "at least 1e-09 away"),
        (CLASS + "answers_per_item = 0", "key 'answers_per_item' is 0", "from 1 to"),
        ("prior = ", "is not TOML", "--help"),
        (f"prior = {5000 * '9'}", "is not TOML", "--help"),
        (f"prior = {100_000 * '['}", "is not TOML", "--help"),
    ],
)
def test_every_error_names_place_value_and_way_out(text, said, hint):
    with pytest.raises(FileError) as caught:
        parse_instance(text, "world.toml")
    assert caught.value.message.startswith("world.toml")
    assert said in caught.value.message
    assert hint in caught.value.hint


def test_a_misspelt_built_in_name():
    with pytest.raises(FileError) as caught:
        load_instance("p1_asym")
    assert caught.value.hint == "Did you mean 'p1-asym'?"


def test_a_path_that_no_file_can_have():
    with pytest.raises(FileError, match="neither a built-in name nor a file"):
        load_instance(5000 * "x")


def test_a_file_with_a_byte_order_mark(tmp_path):
    path = tmp_path / "world.toml"
    path.write_text(CLASS, "utf-8-sig")
    assert load_instance(path).classes == ("crowd",)


def test_a_file_that_is_not_text(tmp_path):
    path = tmp_path / "world.toml"
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(FileError, match="byte 0 is not UTF-8"):
        load_instance(path)


@given(st.text(max_size=200))
def test_text_is_an_instance_or_a_file_error(text):
    try:
        parse_instance(text)
    except FileError as error:
        hint = error.hint
    else:
        hint = "none needed"
    assert hint
