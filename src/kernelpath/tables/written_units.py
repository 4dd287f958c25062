"""Numbers with a unit, such as "12 kg", "5.2 mg/dL" or "EUR 95.19": which unit all of them have.

A unit stands behind its numbers; the letters of a currency may stand before them.  Other letters
before numbers, as in "room 12" or "A7", name things.
"""

from __future__ import annotations

import re
from typing import Any

CURRENCIES = (
    "AUD|BRL|CAD|CHF|CNY|CZK|DKK|EUR|GBP|HKD|HUF|INR|JPY|KRW|MXN|NOK|NZD|PLN|RON|RUB|SEK|SGD|TRY|"
    "USD|ZAR"
)
LETTER = "[A-Za-z°µμΩ]"  # both signs that look like mu
UNIT = rf"{LETTER}{{1,5}}[²³23]?(?:/{LETTER}{{1,4}}[²³23]?)?"
BEHIND = re.compile(rf"^\s*[+-]?[\d.,][\d.,\s'’]*?\s*({UNIT})\s*$")
BEFORE = re.compile(rf"^\s*({CURRENCIES})\s*[+-]?[\d.,][\d.,\s'’]*$")


def common_unit(text: Any) -> str:
    """The unit that stands with every number of a column of text, or "".

    Examples
    --------
    >>> import pandas as pd
    >>> common_unit(pd.Series(["12 kg", "3.5 kg"])), common_unit(pd.Series(["12 kg", "90 g"]))
    ('kg', '')
    >>> common_unit(pd.Series(["EUR 12", "EUR 1,200.50"])), common_unit(pd.Series(["A1", "A2"]))
    ('EUR', '')
    """
    first = str(text.iloc[0])
    found = BEHIND.match(first) or BEFORE.match(first)
    if found is None:
        return ""
    unit = found.group(1)
    same = without_unit(text, unit)
    return unit if (same != text).all() else ""


def without_unit(text: Any, unit: str) -> Any:
    """A column of text whose numbers stand alone; what has another unit, or none, stays.

    Examples
    --------
    >>> import pandas as pd
    >>> without_unit(pd.Series(["12 kg", "90 g", "7"]), "kg").tolist()
    ['12', '90 g', '7']
    """
    if not unit:
        return text
    own = re.escape(unit)
    before = rf"^\s*{own}\s*(?=[+-]?[\d.,])|" if re.fullmatch(CURRENCIES, unit) else ""
    return text.str.replace(rf"{before}(?<=[\d.,])\s*{own}\s*$", "", regex=True)
