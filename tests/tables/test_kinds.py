"""What a column of a frame holds, and how it becomes numbers."""

from __future__ import annotations

import datetime as dt

import numpy as np
import pandas as pd
import polars as pl
import pytest

import kernelpath as kp
from kernelpath.errors import ReadingWarning
from kernelpath.tables.encoding import TableEncoder
from kernelpath.tables.kinds import MARKS, MISSING_TEXTS, ColumnReading, Kind, is_identifier
from kernelpath.tables.table import as_column_table

NAN = float("nan")
COLUMNS = {
    "numbers as text": (["1", "2.5", "?", "-3e2"], Kind.NUMBER, [1.0, 2.5, NAN, -300.0]),
    "numbers as objects": ([1, None, 2.5], Kind.NUMBER, [1.0, NAN, 2.5]),
    "text": (["b", "a", None, "b"], Kind.CATEGORY, [0.0, 1.0, NAN, 0.0]),
    "text and numbers": (["b", 1, None, "b"], Kind.CATEGORY, [0.0, 1.0, NAN, 0.0]),
    "ISO dates": (["1970-01-02", "1971-01-01", "NA"], Kind.DATE, [1.0, 365.0, NAN]),
    "times of day in dates": (["1970-01-01 12:00", "1970-01-03"], Kind.DATE, [0.5, 2.0]),
    "days first": (["31/12/1970", "02/01/1970"], Kind.DAY_FIRST, [364.0, 1.0]),
    "months first": (["12/31/1970", "01/02/1970"], Kind.MONTH_FIRST, [364.0, 1.0]),
    "dots": (["02.01.1970", "01.02.1970"], Kind.DAY_FIRST, [1.0, 31.0]),
    "dates": ([dt.date(1970, 1, 3), None], Kind.DATE, [2.0, NAN]),
    "times": ([dt.time(6), None], Kind.DURATION, [0.25, NAN]),
    "nothing": ([None, None], Kind.NUMBER, [NAN, NAN]),
    "hardly dates": (["2020-01-01", "soon"], Kind.CATEGORY, [0.0, 1.0]),
    "versions": (["1.2.3", "4.5.6"], Kind.CATEGORY, [0.0, 1.0]),
    "decimal commas": (["3,5", "-0,25", "?", "7"], Kind.COMMA, [3.5, -0.25, NAN, 7.0]),
    "commas and points": (["1.250,5", "2.000.000"], Kind.COMMA, [1250.5, 2e6]),
    "three decimals": (["0,125", "0,500"], Kind.COMMA, [0.125, 0.5]),
    "thousands": (["1,250", "950", "2,000,000.5"], Kind.POINT, [1250.0, 950.0, 2000000.5]),
    "thousands apart": (["10 000", "1'250", "3"], Kind.POINT, [10000.0, 1250.0, 3.0]),
    "percent": (["12%", "3.5 %", "NA"], Kind.POINT, [12.0, 3.5, NAN]),
    "money": (["$3.50", "-$1,200"], Kind.POINT, [3.5, -1200.0]),
    "euros": (["5 €", "6,20 €"], Kind.COMMA, [5.0, 6.2]),
    "some percent": (["12%", "0.5"], Kind.CATEGORY, [0.0, 1.0]),
    "units": (["12 kg", "3.5 kg"], Kind.POINT, [12.0, 3.5]),
    "units with commas": (["1.250,5 mg/dL", "3,5 mg/dL"], Kind.COMMA, [1250.5, 3.5]),
    "degrees": (["-3°C", "12°C"], Kind.POINT, [-3.0, 12.0]),
    "currency before": (["EUR 95.19", "EUR 1,200"], Kind.POINT, [95.19, 1200.0]),
    "other units": (["12 kg", "900 g"], Kind.CATEGORY, [0.0, 1.0]),
    "a unit at times": (["12 kg", "900"], Kind.CATEGORY, [0.0, 1.0]),
    "letters before": (["A1", "A2"], Kind.CATEGORY, [0.0, 1.0]),
    "words before": (["room 1", "room 2"], Kind.CATEGORY, [0.0, 1.0]),
    "lists of numbers": (["1,2,3", "4,5"], Kind.CATEGORY, [0.0, 1.0]),
    "addresses": (["192.168.1.1", "10.0.0.1"], Kind.CATEGORY, [0.0, 1.0]),
}


@pytest.mark.parametrize("name", COLUMNS)
def test_columns_are_read_as_what_they_hold(name):
    values, kind, want = COLUMNS[name]
    column = pd.Series(values, dtype=object, name=name)
    reading, numbers = ColumnReading.learn(column)
    assert reading.kind is kind
    np.testing.assert_array_equal(numbers, want)
    np.testing.assert_array_equal(reading.read(column), numbers)


def test_typed_columns():
    frame = pd.DataFrame(
        {
            "when": pd.to_datetime(["1970-01-02", None]),
            "there": pd.to_datetime(["1970-01-02", None]).tz_localize("UTC"),
            "month": pd.PeriodIndex(["1970-02", "1970-03"], freq="M"),
            "long": pd.to_timedelta(["36h", None]),
            "grade": pd.Categorical(["low", "high"], ["low", "mid", "high"], ordered=True),
            "town": pd.Categorical(["Ulm", None], ["Bonn", "Ulm"]),
            "count": pd.array([3, None], dtype="Int64"),
            "yes": pd.array([True, None], dtype="boolean"),
        }
    )
    table = as_column_table(frame)
    want = [[1.0, 1.0, 31.0, 1.5, 0.0, 0.0, 3.0, 1.0], [NAN, NAN, 59.0, NAN, 2.0, NAN, NAN, NAN]]
    np.testing.assert_array_equal(table.values, want)
    assert table.categorical.tolist() == [name == "town" for name in frame.columns]
    assert table.kind(4) is Kind.ORDERED


def test_polars_frames_read_the_same():
    columns = {"a": [1.5, None], "b": ["x", None], "d": [dt.date(1970, 1, 2), None]}
    ours, theirs = as_column_table(pl.DataFrame(columns)), as_column_table(pd.DataFrame(columns))
    np.testing.assert_array_equal(ours.values, theirs.values)
    assert ours.categorical.tolist() == [False, True, False]


def test_new_rows_are_read_as_those_of_fit():
    train = pd.DataFrame({"n": ["1", "?"], "t": ["u", "v"], "d": ["2020-01-01", "2020-01-02"]})
    encoder, _ = TableEncoder.fit(train)
    new = pd.DataFrame({"n": [2.5, None], "t": ["w", None], "d": ["2021-01-01", None]})
    first, second = encoder.encode(new).tolist()
    assert first == [2.5, 2.0, 18628.0]
    assert np.isnan(second).all()
    with pytest.raises(kp.DataError, match="text in column 'n'"):
        encoder.encode(train.assign(n="many"))
    with pytest.raises(kp.DataError, match="Column 'd' held dates"):
        encoder.encode(train.assign(d="soon"))
    with pytest.raises(kp.DataError, match="numbers in column 't'"):
        encoder.encode(train.assign(t=1.0))


def test_the_order_of_day_and_month_is_learned_once():
    reading, _ = ColumnReading.learn(pd.Series(["31/12/1970", "02/01/1970"]))
    assert reading.read(pd.Series(["02/01/1970"])).tolist() == [1.0]
    other, _ = ColumnReading.learn(pd.Series(["12/31/1970", "01/02/1970"]))
    assert other.read(pd.Series(["02/01/1970"])).tolist() == [31.0]


def test_values_that_no_kind_takes_are_refused_by_name():
    with pytest.raises(kp.DataError, match="'a' holds values of the type list"):
        as_column_table(pd.DataFrame({"a": [[1], [2]]}))


@pytest.mark.parametrize("text", [*MISSING_TEXTS, *MARKS])
def test_texts_that_mean_missing(text):
    frame = pd.DataFrame({"a": ["1", text, "3"]})
    np.testing.assert_array_equal(as_column_table(frame).values[:, 0], [1.0, NAN, 3.0])


def test_marks_are_labels_among_labels():
    reading, codes = ColumnReading.learn(pd.Series(["+", "-", "?", None]))
    assert reading.categories == ["+", "-", "?"]
    np.testing.assert_array_equal(codes, [0.0, 1.0, 2.0, NAN])


@pytest.mark.parametrize(
    ("name", "values", "kind", "answer"),
    [
        ("name", np.arange(100.0), Kind.CATEGORY, True),
        ("name", np.arange(100.0) % 50, Kind.CATEGORY, False),
        ("few", np.arange(15.0), Kind.CATEGORY, False),
        ("rownames", np.arange(1.0, 101.0), Kind.NUMBER, True),
        ("x", np.arange(1.0, 101.0), Kind.NUMBER, True),
        ("year", np.arange(1900.0, 2000.0), Kind.NUMBER, False),
        ("PassengerId", np.random.default_rng(0).permutation(100), Kind.NUMBER, True),
        ("paid", np.random.default_rng(0).permutation(100), Kind.NUMBER, False),
        ("id", np.linspace(0.0, 1.0, 100), Kind.NUMBER, False),
        ("day", np.arange(100.0), Kind.DATE, False),
    ],
)
def test_identifiers(name, values, kind, answer):
    assert is_identifier(name, np.asarray(values, dtype=float), kind) is answer


def test_identifiers_are_left_out_and_said():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"name": [f"n{i}" for i in range(60)], "x": rng.normal(size=60)})
    y = frame["x"] > 0
    with pytest.warns(ReadingWarning, match="identifiers.*column 'name'"):
        selector = kp.LpKTASelector().fit(frame, y)
    assert selector.support_.tolist() == [False, True]
    kept = kp.LpKTASelector(identifiers="keep").fit(frame, y)
    assert kept.alignments_[0] > 0
    with pytest.raises(ValueError, match="identifiers"):
        kp.LpKTASelector(identifiers="maybe").fit(frame, y)
    with pytest.warns(ReadingWarning), pytest.raises(kp.DataError, match="or names its rows"):
        kp.LpKTASelector().fit(frame[["name"]], y)


def test_identifiers_are_named_with_their_counts():
    streets = [f"street {i % 38}" for i in range(62)] + [None]
    frame = pd.DataFrame({"street": streets, "x": np.arange(63) % 7 / 3})
    with pytest.warns(ReadingWarning) as said:
        kp.LpKTASelector().fit(frame, np.arange(63) // 32)
    assert [str(one.message) for one in said] == [
        "Left out as identifiers, whose values name rows (identifiers='keep' counts them): column "
        "'street' (38 values in 62 rows)."
    ]
    many = pd.DataFrame({f"s{j}": streets for j in range(9)} | {"x": frame["x"]})
    with pytest.warns(ReadingWarning, match=r"'s2' \(38 values in 62 rows\) and 6 more\.$"):
        kp.LpKTASelector().fit(many, np.arange(63) // 32)


def test_how_numbers_were_written_is_said_and_kept_for_new_rows():
    frame = pd.DataFrame({"price": [f"{i},5" for i in range(40)], "x": np.arange(40) % 7 / 3})
    with pytest.warns(ReadingWarning, match="decimal comma: column 'price'"):
        selector = kp.LpKTASelector(n_features_to_select=1).fit(frame, np.arange(40) // 20)
    assert selector.path_.at(n_features=1).names == ("price",)
    reading, _ = ColumnReading.learn(frame["price"])
    new = pd.Series(["2,25", None, "1.000,5"], name="price")
    np.testing.assert_array_equal(reading.read(new), [2.25, NAN, 1000.5])
    np.testing.assert_array_equal(reading.read(pd.Series([1.5, 2.0])), [1.5, 2.0])
    with pytest.raises(kp.DataError, match="holds text in column 'price'"):
        reading.read(pd.Series(["cheap"], name="price"))


def test_columns_that_pandas_keeps_as_arrow_does_are_read_like_others():
    frame = pd.DataFrame(
        {
            "town": ["Ulm", "Bonn", None],
            "n": [1, None, 3],
            "when": ["1970-01-02", None, "1970-01-03"],
        }
    )
    arrow = frame.assign(when=pd.to_datetime(frame["when"])).convert_dtypes(dtype_backend="pyarrow")
    one, other = as_column_table(frame), as_column_table(arrow)
    np.testing.assert_array_equal(one.values, other.values)
    np.testing.assert_array_equal(one.categorical, other.categorical)


@pytest.mark.parametrize("form", ["%d.%m.%Y", "%Y-%m-%d", "%m/%d/%Y", "%d/%m/%Y"])
def test_new_dates_say_themselves_how_they_are_written(form):
    fitted = pd.Series(pd.date_range("2020-01-01", periods=200).strftime(form), name="when")
    reading, days = ColumnReading.learn(fitted)
    np.testing.assert_array_equal(days, days[0] + np.arange(200))
    new = pd.Series(["2020-02-03", "03.02.2020", None], name="when")
    np.testing.assert_array_equal(reading.read(new), [days[33], days[33], np.nan])


@pytest.mark.parametrize(("form", "new"), [("%m/%d/%Y", "13/02/2020"), ("%d/%m/%Y", "02/13/2020")])
def test_new_dates_in_the_other_order_are_refused(form, new):
    fitted = pd.Series(pd.date_range("2020-01-01", periods=200).strftime(form), name="when")
    reading, _ = ColumnReading.learn(fitted)
    with pytest.raises(kp.DataError, match="'when' held dates in fit; give them again"):
        reading.read(pd.Series([new], name="when"))


WAYS = {
    "decimal commas": lambda x: f"{x:.2f}".replace(".", ","),
    "thousands": lambda x: f"{x:,.2f}",
    "thousands before commas": lambda x: f"{x:,.2f}".translate(str.maketrans(",.", ".,")),
    "percent": lambda x: f"{x:.2f} %",
    "a currency": lambda x: f"{x:.2f} €",
    "points": lambda x: f"{x:.2f}",
}


@pytest.mark.parametrize("new", WAYS)
@pytest.mark.parametrize("fit", [None, *WAYS])
def test_new_numbers_may_be_written_otherwise_than_those_of_fit(fit, new):
    numbers = pd.Series([1234.5, 0.25, -2.75, 1000.5, 17.0])
    fitted = numbers if fit is None else numbers.map(WAYS[fit])
    encoder, table = TableEncoder.fit(pd.DataFrame({"x": fitted}))
    np.testing.assert_array_equal(table.values[:, 0], numbers)
    for kind in (object, "category"):
        rows = pd.DataFrame({"x": numbers.map(WAYS[new]).astype(kind)})
        np.testing.assert_array_equal(encoder.encode(rows)[:, 0], numbers)
    np.testing.assert_array_equal(encoder.encode(pd.DataFrame({"x": numbers}))[:, 0], numbers)
    for wrong in (["1,8", "low"], ["2020-01-01", "2020-02-01"]):
        with pytest.raises(kp.DataError, match=r"holds (text|dates) in column 'x', which held num"):
            encoder.encode(pd.DataFrame({"x": wrong}))


def test_text_in_new_rows_of_an_array_is_no_code():
    encoder, _ = TableEncoder.fit(np.array([[1.0, 2.0], [3.0, 5.0]]))
    found = encoder.encode(np.array([["1,5", 2.0], ["2,5", 3.0]], dtype=object))
    np.testing.assert_array_equal(found, [[1.5, 2.0], [2.5, 3.0]])
    with pytest.raises(kp.DataError, match="holds text in column '0', which held numbers"):
        encoder.encode(np.array([["a", 2.0], ["b", 3.0]], dtype=object))


def test_the_unit_of_fit_is_that_of_new_rows():
    reading, values = ColumnReading.learn(pd.Series(["95.19 EUR", None, "1,200 EUR"]))
    assert reading.unit == "EUR"
    np.testing.assert_array_equal(values, [95.19, NAN, 1200.0])
    assert reading.read(pd.Series(["7 EUR", "8"])).tolist() == [7.0, 8.0]
    assert reading.read(pd.Series([7.5])).tolist() == [7.5]
    with pytest.raises(kp.DataError, match="in USD in column 'p', which held numbers in EUR"):
        reading.read(pd.Series(["7 USD", "8 USD"], name="p"))
    encoder, _ = TableEncoder.fit(pd.DataFrame({"p": [1.0, 2.0]}))
    with pytest.raises(kp.DataError, match="in USD in column 'p', which held numbers in fit"):
        encoder.encode(pd.DataFrame({"p": ["7 USD", "8 USD"]}))


def test_an_id_with_a_letter_stays_text():
    reading, _ = ColumnReading.learn(pd.Series(["1001A", "1002A"], name="patient_id"))
    assert reading.kind is Kind.CATEGORY


def test_a_saved_model_knows_the_unit(tmp_path):
    rng = np.random.default_rng(0)
    price = rng.normal(50.0, 9.0, 60)
    X = pd.DataFrame({"price": [f"{p:.2f} EUR" for p in price], "x": rng.normal(size=60)})
    model = kp.PathCV(cv=3, n_features=[1], references=False)
    with pytest.warns(ReadingWarning, match=r"units.*column 'price' \(in EUR\)"):
        model.fit(X, price > 50)
    told = [one["text"] for one in model.summary()["notices"] if one["kind"] == "reading"]
    assert len(told) == 1
    assert "column 'price' (in EUR)" in told[0]
    model.save(tmp_path / "m.kpmodel")
    loaded = kp.load_model(tmp_path / "m.kpmodel")
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
    with pytest.raises(kp.DataError, match="in USD"):
        loaded.predict(X.assign(price=X["price"].str.replace("EUR", "USD")))
