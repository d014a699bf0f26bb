"""Money as whole micro-units of a currency: 1 USD = 1,000,000 micros.  Floats only inside formulas."""

from __future__ import annotations

from decimal import ROUND_HALF_UP, Decimal, InvalidOperation

from quorate.errors import SpecError

MICROS = 1_000_000
LARGEST = 2**62  # what a database integer holds, with room to add


def micros(amount: int | float | str | Decimal) -> int:
    """An amount of currency as micros, exactly; more than six decimals is an error, not a rounding.

    >>> micros("0.05"), micros(2), micros("300 USD"), micros(0.1)
    (50000, 2000000, 300000000, 100000)
    """
    text = str(amount).strip()
    number = text.split()[0] if text else text
    try:
        value = Decimal(number) * MICROS
    except InvalidOperation:
        raise SpecError(f"{amount!r} is not an amount of money.", hint='Write it like "0.05" or "300 USD".') from None
    if not value.is_finite() or value < 0 or value > LARGEST:
        raise SpecError(f"{amount!r} is not an amount of money that can be paid.", hint="It must be 0 or more.")
    if value != value.to_integral_value():
        if isinstance(amount, float):  # 0.1 + 0.2: what the caller means is the nearest micro
            return int(value.to_integral_value(ROUND_HALF_UP))
        raise SpecError(
            f"{amount!r} has more than six decimals.",
            hint="The smallest amount is 0.000001: round it to that.",
        )
    return int(value)


def currency_of(amount: int | float | str | Decimal, default: str = "USD") -> str:
    """The currency named in an amount.

    >>> currency_of("300 EUR"), currency_of("300")
    ('EUR', 'USD')
    """
    parts = str(amount).split()
    return parts[1].upper() if len(parts) > 1 else default


def show(amount: int, currency: str = "") -> str:
    """Micros for people: two decimals, or as many as it takes.

    >>> show(50000), show(400), show(300_000_000, "USD"), show(1_234_567_890_000)
    ('0.05', '0.0004', '300.00 USD', '1,234,567.89')
    """
    whole, rest = divmod(abs(amount), MICROS)
    decimals = f"{rest:06d}".rstrip("0").ljust(2, "0")
    text = f"{'-' if amount < 0 else ''}{whole:,}.{decimals}"
    return f"{text} {currency}" if currency else text
