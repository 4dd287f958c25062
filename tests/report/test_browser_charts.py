"""What the charts of the page draw and write: no line that is not data, no label on a line."""

from __future__ import annotations

import pytest

from report.browser import (
    CASES,
    beaten,
    faint,
    mixed,
    opened,
    ranked,
    scored,
    traced,
    unfold,
    wide,
)

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("browser")]
WIDTHS = [375, 1280]


def sized(width):
    return {"viewport": {"width": width, "height": 800}}


EDGE = """(chart) => {
    const base = document.querySelector(`#${chart} line.base`);
    const right = Number(base.getAttribute("x2"));
    const seen = [...document.querySelectorAll(`#${chart} .leader, #${chart} .key`)];
    return seen.map((one) => [one.getAttribute("class"), one.getBBox().x - right]);
}"""


def test_names_of_lines_add_nothing_to_the_plot(browser, tmp_path):
    summary = faint()
    with opened(browser, tmp_path, summary) as one:
        unfold(one.page)
        drawn = one.page.evaluate(EDGE, "weights")
    named = summary["weights"]["named"]
    stay = [line for line in named if line["weights"][-1] > 0]
    assert 0 < len(stay) < len(named)
    assert all(right >= 0 for _, right in drawn)
    assert sum(name.startswith("key") for name, _ in drawn) == len(named)
    assert sum(name.startswith("leader") for name, _ in drawn) == len(stay)


def test_a_phone_has_the_names_of_lines_whole_below_the_plot(browser, tmp_path):
    summary = beaten()
    longest = "the mean of a rather long name, in Euro per month"
    summary["features"][summary["weights"]["named"][0]["feature"]]["name"] = longest
    with opened(browser, tmp_path, summary, **sized(375)) as one:
        unfold(one.page)
        names = one.page.locator("#weights .legend bdi")
        places = [line["feature"] for line in summary["weights"]["named"]]
        assert names.all_inner_texts() == [summary["features"][i]["name"] for i in places]
        said = one.page.locator("#curve .legend bdi").all_inner_texts()
        assert said == ["f_test", "Logistic regression, all 60", "Boosting, all 60", "lp-kta"]
        cut = "all => all.filter((one) => one.scrollWidth > one.clientWidth + 1).length"
        assert one.page.eval_on_selector_all(".legend span", cut) == 0


def test_a_weight_at_one_point_is_as_grey_as_a_line(browser, tmp_path):
    with opened(browser, tmp_path, faint()) as one:
        dot = one.page.locator("#weights circle.other").first
        dash = one.page.locator("#curve line.dash").first  # of the colour of all grey lines
        grey = dash.evaluate("(node) => getComputedStyle(node).stroke")
        assert dot.evaluate("(node) => getComputedStyle(node).fill") == grey
        assert grey != "rgb(0, 0, 0)"


def test_where_the_parameter_turns_a_line_says_so(browser, tmp_path):
    summary = CASES["turning"]()
    with opened(browser, tmp_path, summary) as one:
        assert one.page.locator("#weights path.dash").count() == 2
        said = one.page.locator("#weights text").all_text_contents()
        assert "point of the path" in said
        assert [text for text in said if text.startswith("sum of weights")] == [
            "sum of weights falls",
            "sum of weights grows",
        ]


# -- labels ----------------------------------------------------------------------------------------

COVERED = """() => {
    const lines = [...document.querySelectorAll("#curve path.line, #curve line.dash")];
    const points = lines.flatMap((line) => {
        const to = line.getScreenCTM(), length = line.getTotalLength(), found = [];
        for (let s = 0; s <= length; s += 2) {
            const at = line.getPointAtLength(s).matrixTransform(to);
            found.push([at.x, at.y]);
        }
        return found;
    });
    return [...document.querySelectorAll("#curve text.halo")].map((text) => {
        const box = text.getBoundingClientRect(), style = getComputedStyle(text);
        const hit = points.filter(([x, y]) =>
            x > box.left && x < box.right && y > box.top + 3 && y < box.bottom - 3);
        return [text.textContent, hit.length, style.paintOrder, style.stroke];
    });
}"""


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("case", ["scored", "beaten", "faint", "one feature"])
def test_labels_on_the_curve_cover_no_line(browser, tmp_path, case, width):
    with opened(browser, tmp_path, CASES[case](), **sized(width)) as one:
        found = one.page.evaluate(COVERED)
        back = one.page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert any("chance" in text for text, *_ in found)
    assert any("chosen" in text for text, *_ in found)
    for text, hits, order, stroke in found:
        assert hits == 0, text
        assert order.startswith("stroke")
        assert stroke == back


def test_the_method_is_named_beside_the_others(browser, tmp_path):
    summary = beaten()
    with opened(browser, tmp_path, summary) as one:
        words = one.page.locator("#curve svg text").all_text_contents()
        assert {"lp-kta", "f_test"} <= set(words)
        assert "this path" not in words
        assert one.page.locator(".lede").inner_text() == "f_test reaches 0.770 with 5."


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("make", [traced, wide])
def test_the_first_number_keeps_off_the_title(browser, tmp_path, make, width):
    with opened(browser, tmp_path, make(), **sized(width)) as one:
        title = one.page.locator("#curve text", has_text="selected features").bounding_box()
        number = one.page.locator("#curve text.strong").first.bounding_box()
    assert number["y"] >= title["y"] + title["height"]


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("n", [4, 9])
def test_few_sizes_are_all_ticks(browser, tmp_path, n, width):
    with opened(browser, tmp_path, faint(n), **sized(width)) as one:
        for chart in ("curve", "stability"):
            ticks = f"#{chart} text.axis.small[text-anchor=middle]"
            words = one.page.locator(ticks).all_text_contents()
            assert words == [str(k) for k in range(1, n + 1)]


# -- words in place of pictures --------------------------------------------------------------------


def test_a_path_that_selects_nothing_never_says_selected(browser, tmp_path):
    summary = ranked()
    with opened(browser, tmp_path, summary) as one:
        page = one.page
        words = page.locator("body").inner_text()
        assert summary["notices"][0]["text"] in words
        for told in (summary["headline"], summary["notices"][0]["text"]):
            words = words.replace(told, "")
        assert "selected" not in words
        labels = page.eval_on_selector_all("svg", "all => all.map((s) => s.ariaLabel).join()")
        assert "selected" not in labels
        assert page.locator("#h-table").inner_text() == "First in the ranking: 6 features"
        page.locator("#slider").fill("0")
        assert page.locator("#h-table").inner_text() == "First in the ranking: one feature"
        assert one.complaints == []


def test_no_empty_frame_for_the_stability(browser, tmp_path):
    with opened(browser, tmp_path, faint(1)) as one:
        assert one.page.locator("#stability").count() == 0
        words = one.page.locator("section:has(#h-stability)").inner_text()
        assert "There is no index: every fold chooses the one feature." in words
    with opened(browser, tmp_path, scored()) as one:
        words = one.page.locator("section:has(#h-stability)").inner_text()
        assert "At all 60 features there is no index: every fold chooses all." in words


def test_a_filter_without_a_match_says_so(browser, tmp_path):
    with opened(browser, tmp_path, scored()) as one:
        one.page.fill("#filter", "<b>No such")
        assert one.page.locator("#features tbody").inner_text() == "No name contains “<b>No such”."
        one.page.fill("#filter", "x")
        assert "No name contains" not in one.page.locator("#features").inner_text()


def test_without_scripts_no_heading_stands_alone(browser, tmp_path):
    for make in (scored, traced):
        with opened(browser, tmp_path, make(), java_script_enabled=False) as one:
            sections = one.page.locator("section:visible").all_inner_texts()
            assert len(sections) >= 4
            assert all(len(words.strip().split("\n")) > 1 for words in sections)
            assert one.page.locator("#h-curve").is_hidden()


# -- paper -----------------------------------------------------------------------------------------

PAPER = """() => [...document.querySelectorAll(".chart")].map((chart) => {
    const block = chart.closest(".keep");
    const words = block && block.querySelector("h2, p");
    return [chart.id, block ? getComputedStyle(block).breakInside : "", words !== null,
            block ? block.getBoundingClientRect().height : Infinity];
})"""


@pytest.mark.parametrize("make", [scored, faint, lambda: mixed("regression"), wide])
def test_words_and_their_chart_share_a_page(browser, tmp_path, make):
    with opened(browser, tmp_path, make(), viewport={"width": 688, "height": 1017}) as one:
        page = one.page
        high = page.locator("#weights").bounding_box()["height"]
        page.emulate_media(media="print")
        page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
        found = page.evaluate(PAPER)
        assert len(found) >= 3
        for name, inside, words, height in found:
            assert inside == "avoid", name
            assert words, name
            assert height < 1017, name  # A4 with margins of 14 mm
        assert page.locator("#weights").bounding_box()["height"] < high
        page.emulate_media(media="screen")
        page.evaluate("window.dispatchEvent(new Event('afterprint'))")
        assert page.locator("#weights").bounding_box()["height"] == high


def test_paper_has_margins(browser, tmp_path):
    rules = "[...document.styleSheets[0].cssRules].map((rule) => rule.cssText).join()"
    with opened(browser, tmp_path, scored()) as one:
        assert "@page { margin: 14mm; }" in one.page.evaluate(rules)
