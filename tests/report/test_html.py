"""The HTML page as text: what it holds, what it must not hold, how large it is."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import time
from html.parser import HTMLParser
from itertools import pairwise

import numpy as np
import pytest

import kernelpath as kp
from kernelpath.report.displays._canvas import label, labels
from kernelpath.report.html import SCRIPTS, render_html, save_html, shown_name, summary_json
from report.browser import (
    CASES,
    HOSTILE,
    hostile,
    mixed,
    no_feature,
    one_point,
    scored,
    traced,
    wide,
)


class Reader(HTMLParser):
    """Elements with their attributes, and the text of scripts."""

    def __init__(self, page):
        super().__init__(convert_charrefs=True)
        self.elements, self.scripts, self.text = [], [], []
        self._open = []
        self.feed(page)

    def handle_starttag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))
        if tag == "wbr":  # within a word
            self.text.append("\0")
        elif tag not in ("meta", "input", "img", "br"):
            self._open.append(tag)
        if tag == "script":
            self.scripts.append("")

    def handle_endtag(self, tag):
        while self._open and self._open.pop() != tag:
            pass

    def handle_data(self, data):
        if self._open and self._open[-1] == "script":
            self.scripts[-1] += data
        elif not self._open or self._open[-1] != "style":
            self.text.append(data)

    def of(self, tag):
        return [attributes for name, attributes in self.elements if name == tag]

    def words(self):
        return " ".join(" ".join(self.text).replace(" \0 ", "").split())


# -- content --------------------------------------------------------------------------------------


@pytest.mark.parametrize("case", CASES)
def test_every_kind_of_summary_is_drawn(case):
    summary = CASES[case]()
    page = Reader(render_html(summary))
    assert summary["headline"] in page.words()
    levels = [int(tag[1]) for tag, _ in page.elements if re.fullmatch("h[1-6]", tag)]
    assert levels.count(1) == 1
    assert levels[0] == 1
    assert max(b - a for a, b in pairwise(levels)) <= 1
    ids = [a["id"] for _, a in page.elements if "id" in a]
    assert len(ids) == len(set(ids))
    wanted = {a["aria-labelledby"] for _, a in page.elements if "aria-labelledby" in a}
    assert wanted <= set(ids)


@pytest.mark.parametrize("case", CASES)
def test_the_summary_is_inside_and_comes_back_unchanged(case):
    summary = CASES[case]()
    data, script = Reader(render_html(summary)).scripts
    assert json.loads(data) == summary
    assert "JSON.parse" in script


EMPTY = {
    "test": None,
    "data": None,
    "cv": None,
    "stability": None,
    "redundancy": None,
    "fingerprint": None,
    "estimator": None,
    "notices": [],
    "baselines": [],
    "views": [],
    "settings": {},
    "versions": {},
    "sizes": [],
    "entries": {"nested": True, "sizes": [], "rows": []},
    "weights": {"named": [], "others": [], "n_hidden": 0},
    "junctures": {"parameter": [], "n_selected": [], "n_total": 0},
}


@pytest.mark.parametrize("section", EMPTY)
def test_every_section_may_be_missing(section):
    summary = scored() | {section: EMPTY[section]}
    page = Reader(render_html(summary))
    assert summary["headline"] in page.words()


def test_sections_are_there_exactly_when_they_have_something_to_show():
    def charts(summary):
        return {a["id"] for a in Reader(render_html(summary)).of("div") if "data-label" in a}

    assert charts(scored()) == {
        "curve", "weights", "count", "stability", "strip", "certificates", "volcano",
    }  # fmt: skip
    assert charts(traced()) == {"curve", "weights", "certificates", "volcano"}
    assert "redundancy" in charts(mixed("classification"))  # a copy; the others are strangers
    assert "entries" in charts(CASES["wandering"]())
    assert charts(CASES["bare"]()) == set()
    assert charts(no_feature()) == {"certificates"}


def test_the_chosen_features_are_there_without_scripts():
    summary = scored()
    chosen = summary["cv"]["chosen"]["n_features"]
    size = next(one for one in summary["sizes"] if one["n_features"] == chosen)
    page = render_html(summary)
    body = page[page.index("<tbody>") : page.index("</tbody>")]
    names = re.findall(r"<bdi[^>]*>(.*?)</bdi>", body)
    assert names == [summary["features"][place]["name"] for place in size["features"]]


def test_facts_and_notices():
    words = Reader(render_html(scored())).words()
    for part in ("120 rows", "60 features", "classification, 2 classes", "3 folds", "accuracy"):
        assert part in words
    summary = scored()
    summary["cv"]["nested"] = {"score": 0.71234, "se": 0.02, "n_features": [3, 3, 5]}
    assert "(nested): 0.712 ± 0.020" in Reader(render_html(summary)).words()
    summary["data"]["target"]["classes"] = [{"label": "a", "count": 120}]
    assert "classification, 1 class " in Reader(render_html(summary)).words()
    copies = mixed("regression")
    assert copies["notices"][0]["text"] in Reader(render_html(copies)).words()


def test_leaks_come_first_and_apart():
    summary = scored()
    summary["notices"] = [
        {"kind": "constant", "text": "A column is constant."},
        {"kind": "leak", "text": "Check whether <b>earnings</b> is known before the outcome."},
    ]
    page = render_html(summary)
    words = Reader(page).words()
    told = [
        words.index(part) for part in ("Check this first", "earnings", "Please note", "constant")
    ]
    assert told == sorted(told)
    assert words.index("Please note") < words.index("Accuracy against number of features")
    assert page.count('class="notices grave"') == 1
    assert 'grave"' not in render_html(scored())


def test_what_is_nothing_is_not_listed():
    words = Reader(render_html(scored())).words()
    for nothing in ("Categorical", "Constant", "Copies of earlier columns", "Who is in at"):
        assert nothing not in words
    assert "A feature that is in at one size is in at every larger size." in words
    assert "heaviest features have little in common" in words
    assert "Copies of earlier columns" in Reader(render_html(mixed("regression"))).words()
    same = one_point()
    assert "Number of features along the path" not in Reader(render_html(same)).words()


def test_a_choice_without_weights_has_no_column_of_them():
    summary = traced()
    assert "weight" in [a.get("data-key") for a in Reader(render_html(summary)).of("th")]
    for size in summary["sizes"]:
        size["weights"] = [1.0] * len(size["weights"])
    heads = [a["data-key"] for a in Reader(render_html(summary)).of("th") if "data-key" in a]
    assert heads == ["rank", "name"]


def test_the_parts_for_experts_are_closed():
    page = Reader(render_html(scored()))
    assert len(page.of("details")) >= 5
    assert not any("open" in attributes for attributes in page.of("details"))
    words = page.words()
    for part in ("KKT is how far", "juncture point"):
        assert words.index("For experts") < words.index(part)


def test_how_to_load_names_the_files_and_the_command():
    files = {"path": 'odd "name".kpath', "model": "model.kpmodel", "scores_table": "scores.csv"}
    files["path.png"] = "path.png"
    page = render_html(scored(), title="A <title>", command="kernelpath cv 'a & b'", files=files)
    words = Reader(page).words()
    assert r'kp.load_path("odd \"name\".kpath")' in words
    assert 'kp.load_model("model.kpmodel")' in words
    assert "Beside this page: scores table scores.csv , path.png ." in words
    assert "kernelpath cv 'a & b'" in words
    assert "<title>A &lt;title&gt;</title>" in page
    assert "load_model" not in render_html(traced(), files={"path": "path.kpath"})
    assert "load_path" not in render_html(scored(), files={"model": "m.kpmodel"})


@pytest.mark.parametrize("make", [scored, traced])
def test_without_files_the_page_says_how_to_make_them(make):
    words = Reader(render_html(make())).words()
    assert "How to load this" not in words
    kind = "model" if make is scored else "path"
    file = f'"{kind}.kp{kind}"' if kind == "model" else '"path.kpath"'
    saved, loaded = f"{kind}.save({file})", f"kp.load_{kind}({file})"
    assert words.index(saved) < words.index(loaded)
    # A command that wrote only other files, or none, is told how to write these.
    for files in ({}, {"comparison.csv": "comparison.csv"}):
        words = Reader(render_html(make(), command="kernelpath compare", files=files)).words()
        assert "run kernelpath path with --out run" in " ".join(words.split())
        assert "kp.load_" not in words
        assert ".save(" not in words


# -- safety ---------------------------------------------------------------------------------------


def test_long_names_may_be_broken_between_their_words_without_scripts():
    summary = scored()
    summary["features"][summary["sizes"][0]["features"][0]]["name"] = "YearsInCurrentRole<b>"
    summary["notices"] = [{"kind": "copies", "text": "Alike: 'total_charges_last_month'."}]
    page = render_html(summary)
    assert ">Years<wbr>In<wbr>Current<wbr>Role&lt;b&gt;</bdi>" in page
    assert "total_<wbr>charges_<wbr>last_<wbr>month" in page


def test_hostile_names_are_text():
    plain, harmful = Reader(render_html(scored())), Reader(render_html(hostile(), title=HOSTILE[1]))
    assert {tag for tag, _ in harmful.elements} == {tag for tag, _ in plain.elements} | {
        "aside",
        "ul",
        "li",
        "wbr",  # in a long name
    }
    assert len(harmful.of("script")) == 2
    assert not harmful.of("img")
    assert not [a for _, a in harmful.elements if any(key.startswith("on") for key in a)]
    assert HOSTILE[0] in harmful.words()
    assert HOSTILE[1] in [a.get("title") for a in harmful.of("bdi")]


def test_json_cannot_end_its_script():
    text = summary_json({"a": "</script><!-- & \u2028 \u2029 é"})
    assert not set("<>&\u2028\u2029é") & set(text)
    assert json.loads(text) == {"a": "</script><!-- & \u2028 \u2029 é"}
    with pytest.raises(ValueError, match="JSON"):
        summary_json({"a": float("nan")})


def test_nothing_is_loaded_from_anywhere():
    page = render_html(hostile(), command="kernelpath path table.csv", files={"path": "p.kpath"})
    addresses = set(re.findall(r"\w+://[^\s\"'<>]*", page))
    assert addresses == {"http://www.w3.org/2000/svg"}  # the name of SVG
    reader = Reader(page)
    for _, attributes in reader.elements:
        assert not {"src", "srcset", "action", "formaction", "style"} & set(attributes)
    assert [a["href"] for a in reader.of("a")] == ["#main"]
    for word in ("eval(", "innerHTML", "insertAdjacentHTML", "document.write", "@import", "url("):
        assert word not in page, word


def test_the_policy_allows_this_script_only():
    reader = Reader(render_html(scored()))
    policy = next(a["content"] for a in reader.of("meta") if "http-equiv" in a)
    digest = base64.b64encode(hashlib.sha256(reader.scripts[1].encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'" in policy
    assert policy.startswith("default-src 'none';")


def test_scripts_and_styles_are_complete_and_short():
    from importlib import resources

    folder = resources.files("kernelpath.report").joinpath("page")
    files = {file.name: file.read_text("utf-8") for file in folder.iterdir()}
    assert set(files) == {"page.html.jinja", "page.css", *SCRIPTS}
    for name, text in files.items():
        assert len(text.splitlines()) <= 400, name
        assert name == "page.html.jinja" or "</" not in text, name


@pytest.mark.parametrize("name", HOSTILE)
def test_shown_names_are_one_line_and_not_long(name):
    text = shown_name(name, longest=50)
    assert 0 < len(text) <= 50
    assert text.isprintable() or "\u202e" in text
    text.encode("utf-8")


def test_control_characters_are_written_out_everywhere():
    assert shown_name("\x1b[31mred\x9b") == label("\x1b[31mred\x9b") == r"\x1b[31mred\x9b"
    alike = [8 * "\x1b" + end for end in "ab"]
    assert len(set(labels(alike, longest=20))) == 2
    assert all(len(text) <= 20 for text in labels(alike, longest=20))


# -- files and size -------------------------------------------------------------------------------


def test_saving(tmp_path):
    file = tmp_path / "report.html"
    save_html(hostile(), file, title="Title")
    assert file.read_bytes().decode("utf-8") == render_html(hostile(), title="Title")
    with pytest.raises(FileNotFoundError):
        save_html(no_feature(), tmp_path / "nowhere" / "report.html")


def test_a_failure_leaves_the_old_page(tmp_path):
    file = tmp_path / "report.html"
    file.write_text("old")
    broken = no_feature()
    del broken["points"]
    with pytest.raises(kp.DataError, match="it has no 'points'"):
        save_html(broken, file)
    assert file.read_text() == "old"
    assert [one.name for one in tmp_path.iterdir()] == ["report.html"]


def test_the_same_summary_gives_the_same_page():
    assert render_html(scored()) == render_html(scored())


def test_a_hundred_thousand_features_are_quick_and_small():
    summary = wide()
    assert summary["n_features"] == 100_000
    render_html(no_feature())  # the template is compiled once
    start = time.process_time()
    page = render_html(summary)
    assert time.process_time() - start < 2
    assert len(page.encode("utf-8")) < 5_000_000


def test_what_is_no_summary_is_refused():
    with pytest.raises(TypeError, match=r"got list"):
        render_html([1, 2])


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({}, "it has no 'format'"),
        ({"format": "kernelpath-summary"}, "it has no 'version'"),
        (scored() | {"format": "kernelpath-comparison"}, "its format is 'kernelpath-comparison'"),
    ],
)
def test_a_dict_that_is_no_summary_is_refused_in_a_sentence(given, words):
    with pytest.raises(kp.DataError, match=words) as caught:
        render_html(given)
    assert "path.summary(X, y)" in str(caught.value)


def test_the_page_calls_the_method_as_it_is_told():
    assert "method lp-kta" in Reader(render_html(scored())).words()
    assert (
        "method Generalized lp-KTA"
        in Reader(render_html(scored(), method="Generalized lp-KTA")).words()
    )


def test_features_that_are_chosen_together_have_no_rank():
    X = np.random.default_rng(0).normal(size=(60, 6))
    path = kp.NMMKLSelector([2, 3]).fit(X, X[:, 0] + X[:, 1] > 0).path_
    summary = path.summary()
    assert {w for size in summary["sizes"] for w in size["weights"]} == {1.0}
    for nested in (True, False):
        page = render_html(summary | {"entries": summary["entries"] | {"nested": nested}})
        assert (">Rank<" in page, ">No.<" in page) == (nested, not nested)
        assert ("in the order of the columns" in page) is not nested
