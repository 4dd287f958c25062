"""The HTML page in a real browser: it draws, answers to keys and pointer, and stays on its own."""

from __future__ import annotations

import csv
import io
import re

import pytest

from report.browser import (
    CASES,
    HOSTILE,
    faint,
    hostile,
    mixed,
    opened,
    scored,
    traced,
    unfold,
    wide,
)

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("browser")]


def names(page):
    """Full names in the table, from top to bottom."""
    return page.eval_on_selector_all(
        "#features tbody .name", "all => all.map((one) => one.getAttribute('title'))"
    )


def heaviest(summary, k):
    size = next(one for one in summary["sizes"] if one["n_features"] == k)
    return [summary["features"][place]["name"] for place in size["features"]]


def move_over(page, selector, x, y):
    """Move the pointer to a place in an element, given as shares of its width and height."""
    page.locator(selector).scroll_into_view_if_needed()
    box = page.locator(selector).bounding_box()
    page.mouse.move(box["x"] + x * box["width"], box["y"] + y * box["height"])


@pytest.mark.parametrize("case", CASES)
def test_it_loads_quietly_and_alone(browser, tmp_path, case):
    with opened(browser, tmp_path, CASES[case]()) as one:
        charts = one.page.locator(".chart, #views figure > div")
        empty = [i for i in range(charts.count()) if charts.nth(i).locator("svg").count() != 1]
        assert one.complaints == []
        assert empty == []
        assert one.requests == [one.page.url]
        assert one.page.locator("svg:not([role=img][aria-label])").count() == 0


def test_broken_numbers_never_reach_a_picture(browser, tmp_path):
    for case in CASES.values():
        with opened(browser, tmp_path, case()) as one:
            drawn = one.page.eval_on_selector_all(
                "svg", "all => all.map((s) => s.outerHTML).join()"
            )
            assert "NaN" not in drawn
            assert "undefined" not in drawn
            assert "Infinity" not in drawn


@pytest.mark.parametrize("make", [scored, traced])
def test_the_slider_changes_the_table(browser, tmp_path, make):
    summary = make()
    with opened(browser, tmp_path, summary) as one:
        page = one.page
        for place in (0, 3, 5):
            size = summary["sizes"][place]
            page.locator("#slider").fill(str(place))
            assert names(page) == heaviest(summary, size["n_features"])[:50]
            assert page.locator("#now").inner_text().startswith(f"{size['n_features']} feature")
            assert page.locator("#live").inner_text() == page.locator("#now").inner_text()
        if summary["cv"]:
            said = f"12 features: {size['score']:.3f} ± {size['se']:.3f}"
            assert page.locator("#now").inner_text() == said


@pytest.mark.parametrize("place", ["#slider", "#curve"])
def test_arrow_keys_move_from_size_to_size(browser, tmp_path, place):
    summary = scored()
    with opened(browser, tmp_path, summary) as one:
        page = one.page
        page.locator(place).focus()
        page.keyboard.press("Home")
        assert names(page) == heaviest(summary, 1)
        page.keyboard.press("ArrowRight")
        page.keyboard.press("ArrowRight")
        assert names(page) == heaviest(summary, 3)
        page.keyboard.press("ArrowLeft")
        assert names(page) == heaviest(summary, 2)
        assert page.locator("#slider").get_attribute("aria-valuetext").startswith("2 features: ")


def test_focus_and_click_on_the_curve(browser, tmp_path):
    summary = scored()
    with opened(browser, tmp_path, summary) as one:
        page = one.page
        page.locator("#curve").focus()
        page.keyboard.press("End")
        assert "60 features" in page.locator("#tip").inner_text()
        assert "predictor joint_rbf" in page.locator("#tip").inner_text()
        page.keyboard.press("Escape")
        assert page.locator("#tip").is_hidden()
        box = page.locator("#curve svg").bounding_box()
        page.mouse.click(box["x"] + 62, box["y"] + box["height"] / 2)  # the left end
        assert names(page) == heaviest(summary, 1)


def test_the_pointer_shows_names_and_numbers(browser, tmp_path):
    summary = mixed("classification")
    with opened(browser, tmp_path, summary) as one:
        page = one.page
        tip = page.locator("#tip")
        move_over(page, "#weights svg", 0.4, 0.5)
        for line in summary["weights"]["named"]:
            assert summary["features"][line["feature"]]["name"] in tip.inner_text()
        pair = summary["redundancy"]["features"][:2]
        move_over(page, "#redundancy svg rect.heat >> nth=1", 0.5, 0.5)
        for place in pair:
            assert summary["features"][place]["name"] in tip.inner_text()
        value = f"{summary['redundancy']['similarity'][0][1]:.2f}"
        assert value in tip.inner_text()
        page.mouse.move(2, 2)
        assert tip.is_hidden()


def test_the_table_sorts(browser, tmp_path):
    with opened(browser, tmp_path, scored()) as one:
        page = one.page
        page.locator("#slider").fill("6")
        ranked = names(page)
        page.click("th[data-key=name] button")
        assert page.locator("th[data-key=name]").get_attribute("aria-sort") == "ascending"
        assert names(page) == sorted(ranked, key=lambda name: int(name[1:]))
        page.click("th[data-key=name] button")
        assert page.locator("th[data-key=name]").get_attribute("aria-sort") == "descending"
        assert names(page) == sorted(ranked, key=lambda name: -int(name[1:]))
        page.click("th[data-key=weight] button")
        assert names(page) == ranked
        assert page.locator("th[aria-sort]").count() == 1
        page.click("th[data-key=share] button")
        shares = page.locator("#features tbody td:last-child").all_inner_texts()
        values = [int(text.split()[0]) for text in shares]
        assert values == sorted(values, reverse=True)
        assert len(set(values)) > 1


def test_the_table_filters_and_shows_all(browser, tmp_path):
    summary = traced()
    size = next(i for i, one in enumerate(summary["sizes"]) if len(one["features"]) > 60)
    with opened(browser, tmp_path, summary) as one:
        page = one.page
        page.locator("#slider").fill(str(size))
        everything = heaviest(summary, summary["sizes"][size]["n_features"])
        assert names(page) == everything[:50]
        page.click("#all")
        assert names(page) == everything
        assert page.locator("#all").is_hidden()
        page.fill("#filter", "X1")
        assert names(page) == [name for name in everything if "x1" in name]
        page.fill("#filter", "no such name")
        assert names(page) == []
        assert "No name contains" in page.locator("#features tbody").inner_text()


def test_sizes_with_hidden_features_say_so(browser, tmp_path):
    summary = traced()
    with opened(browser, tmp_path, summary) as one:
        one.page.locator("#slider").fill(str(len(summary["sizes"]) - 1))
        assert summary["sizes"][-1]["n_hidden"] > 0
        assert "200 heaviest" in one.page.locator("#table-note").inner_text()


def test_download_is_a_safe_csv(browser, tmp_path):
    summary = hostile()
    with opened(browser, tmp_path, summary) as one:
        page = one.page
        page.locator("#slider").fill("6")
        with page.expect_download() as waiting:
            page.click("#download")
        assert waiting.value.suggested_filename == "features-20.csv"
        text = waiting.value.path().read_bytes().decode("utf-8")
    header, *rows = csv.reader(io.StringIO(text, newline=""))
    assert header == ["rank", "name", "column", "weight", "share_of_folds"]
    size = summary["sizes"][6]
    assert [int(row[0]) for row in rows] == list(range(1, 21))
    assert [int(row[2]) for row in rows] == [
        summary["features"][i]["index"] for i in size["features"]
    ]
    assert [float(row[3]) for row in rows] == size["weights"]
    for row, name in zip(rows, heaviest(summary, 20), strict=True):
        expected = "'" + name if name[0] in "=+-@\t\r" else name
        assert row[1] == expected.replace("\ud83e", "\ufffd")
    assert sum(row[1].startswith("'") for row in rows) == 6


def test_copying_names(browser, tmp_path):
    summary = scored()
    permissions = ["clipboard-read", "clipboard-write"]
    with opened(browser, tmp_path, summary, permissions=permissions) as one:
        one.page.locator("#slider").fill("3")
        one.page.click("#copy")
        one.page.wait_for_function("document.getElementById('copied').textContent !== ''")
        assert one.page.locator("#copied").inner_text() == "5 copied"
        copied = one.page.evaluate("navigator.clipboard.readText()")
        assert copied.split("\n") == heaviest(summary, 5)


def test_dark_colours(browser, tmp_path):
    background = "getComputedStyle(document.body).backgroundColor"
    with opened(browser, tmp_path, scored(), color_scheme="light") as one:
        page = one.page
        assert page.evaluate(background) == "rgb(255, 255, 255)"
        page.emulate_media(color_scheme="dark")
        dark = page.evaluate(background)
        assert dark != "rgb(255, 255, 255)"
        page.click("#theme")
        assert page.evaluate(background) == "rgb(255, 255, 255)"
        page.click("#theme")
        assert page.evaluate(background) == dark
        page.emulate_media(media="print")
        assert page.evaluate(background) == "rgb(255, 255, 255)"


@pytest.mark.parametrize("case", CASES)
def test_a_telephone_needs_no_sideways_scrolling(browser, tmp_path, case):
    viewport = {"width": 375, "height": 700}
    with opened(browser, tmp_path, CASES[case](), viewport=viewport) as one:
        assert one.page.evaluate("document.documentElement.scrollWidth") <= 375
        if one.page.locator("#slider:enabled").count():
            one.page.locator("#slider").fill("0")
            assert one.page.evaluate("document.documentElement.scrollWidth") <= 375


LINES = """() => Array.from(document.querySelectorAll(".name, .notices li, h1")).flatMap((node) => {
  const found = [], range = document.createRange();
  const walk = document.createTreeWalker(node, NodeFilter.SHOW_TEXT);
  let before = null, letter = "";
  while (walk.nextNode()) {
    const text = walk.currentNode;
    for (let i = 0; i < text.length; i += 1) {
      range.setStart(text, i);
      range.setEnd(text, i + 1);
      const box = range.getBoundingClientRect();
      if (before !== null && box.top > before + 3) found.push(letter + text.data[i]);
      [before, letter] = [box.top, text.data[i]];
    }
  }
  return found;
})"""


@pytest.mark.parametrize("width", [375, 1400])
def test_names_are_broken_between_their_words(browser, tmp_path, width):
    """Two letters in different lines are two words, or stand around a sign or before a capital."""
    summary = scored()
    names = ("YearsInCurrentRole", "total_charges_last_month", "EnvironmentSatisfaction",
             "HTTPServerLoadAverage", "RelationshipSatisfactionOfTheLastYear")  # fmt: skip
    for place, name in zip(summary["sizes"][-1]["features"], names):
        summary["features"][place]["name"] = name
    text = "Near copies: 'RelationshipSatisfactionOfTheLastYear' and 'EnvironmentSatisfaction'."
    summary["notices"] = [{"kind": "copies", "text": text}]
    with opened(browser, tmp_path, summary, viewport={"width": width, "height": 800}) as one:
        one.page.locator("#slider").fill(str(len(summary["sizes"]) - 1))
        pairs = one.page.evaluate(LINES)
        shown = one.page.inner_text("#features")
        assert one.complaints == []
    assert [p for p in pairs if not re.search(r"[\s_/.:-]|[a-z][A-Z]|^[A-Z]{2}$", p)] == []
    assert any(re.match("[a-z][A-Z]", p) for p in pairs) == (width == 375)
    assert all(name in shown for name in names)


def test_pictures_are_drawn_again_for_another_width(browser, tmp_path):
    with opened(browser, tmp_path, scored()) as one:
        wide_box = one.page.locator("#curve svg").get_attribute("viewBox")
        one.page.set_viewport_size({"width": 500, "height": 700})
        one.page.wait_for_function(
            "(old) => document.querySelector('#curve svg').getAttribute('viewBox') !== old",
            arg=wide_box,
        )
        assert one.page.evaluate("document.documentElement.scrollWidth") <= 500
        assert one.complaints == []


LABELS = """() => [...document.querySelectorAll('#weights text, #curve text')].map((one) => {
  const box = one.getBoundingClientRect(), svg = one.closest('svg').getBoundingClientRect();
  return [one.closest('.chart').id, box.left, box.top, box.right, box.bottom, svg.left, svg.right];
})"""


@pytest.mark.parametrize("width", [375, 1280])
@pytest.mark.parametrize("make", [scored, traced, hostile])
def test_labels_neither_collide_nor_leave_the_picture(browser, tmp_path, make, width):
    with opened(browser, tmp_path, make(), viewport={"width": width, "height": 800}) as one:
        boxes = one.page.evaluate(LABELS)
    assert len(boxes) > 10
    for i, (chart, left, top, right, bottom, low, high) in enumerate(boxes):
        assert low - 3 <= left <= right <= high + 3, (chart, i)
        for other, left2, top2, right2, bottom2, _, _ in boxes[:i]:
            across = min(right, right2) - max(left, left2)
            down = min(bottom, bottom2) - max(top, top2)
            assert chart != other or across <= 0 or down <= 4, (chart, i)


def test_printing(browser, tmp_path):
    with opened(browser, tmp_path, mixed("regression")) as one:
        paper = one.page.pdf(format="A4")
        assert paper.startswith(b"%PDF")
        assert len(paper) > 20_000
        one.page.emulate_media(media="print")
        assert one.page.locator("#download").is_hidden()
        one.page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
        assert one.page.locator("details:not([open])").count() == 0
        one.page.evaluate("window.dispatchEvent(new Event('afterprint'))")
        assert one.page.locator("details[open]").count() == 0
        assert one.complaints == []


def test_hostile_names_do_nothing(browser, tmp_path):
    summary = hostile()
    with opened(browser, tmp_path, summary) as one:
        page = one.page
        title = page.title()
        page.locator("#slider").fill(str(len(summary["sizes"]) - 1))
        page.click("#all")
        assert {*HOSTILE[:7], r"\x1b[31mred\x07"} <= set(names(page))
        unfold(page)
        for chart in ("#curve", "#weights", "#strip", "#redundancy", "#view-0"):
            move_over(page, f"{chart} svg", 0.5, 0.5)
        page.fill("#filter", "<script>")
        page.wait_for_timeout(100)
        assert page.locator("script").count() == 2
        assert page.locator("img, iframe, object, embed").count() == 0
        assert page.locator("[onmouseover], [onerror]").count() == 0
        assert page.title() == title
        assert one.dialogs == []
        assert one.complaints == []
        assert one.requests == [page.url]


def test_without_scripts_the_result_can_be_read(browser, tmp_path):
    summary = scored()
    with opened(browser, tmp_path, summary, java_script_enabled=False) as one:
        words = one.page.locator("body").inner_text()
        said = " ".join(words.replace("\N{NO-BREAK SPACE}", " ").split())
        assert summary["headline"] in said
        assert "Settings" in words
        assert one.page.locator("#slider").is_hidden()
        assert one.page.locator("#curve").is_hidden()
        chosen = summary["cv"]["chosen"]["n_features"]
        shown = one.page.locator("#features tbody .name").all_inner_texts()
        assert shown == heaviest(summary, chosen)


def test_a_hundred_thousand_features_open_quickly(browser, tmp_path):
    with opened(browser, tmp_path, wide()) as one:
        spent = one.page.evaluate(
            "performance.getEntriesByType('navigation')[0].loadEventEnd / 1000"
        )
        assert 0 < spent < 4
        assert one.complaints == []


def test_the_pointer_names_a_grey_line(browser, tmp_path):
    summary = traced()
    grey = summary["weights"]["others"][0]
    with opened(browser, tmp_path, summary) as one:
        page = one.page
        page.locator("#weights").scroll_into_view_if_needed()
        line = page.locator("#weights svg path.other, #weights svg polyline.other").first
        place = line.evaluate(
            """(node) => {
                const point = node.getPointAtLength(2);
                const at = new DOMPoint(point.x, point.y).matrixTransform(node.getScreenCTM());
                return [at.x, at.y];
            }"""
        )
        page.mouse.move(*place)
        assert summary["features"][grey["feature"]]["name"] in page.locator("#tip").inner_text()
        assert page.locator("#weights svg .bright").count() == 1
        page.mouse.move(2, 2)
        assert page.locator("#weights svg .bright").count() == 0


def many_shades():
    """Summary with similarities of all sizes."""
    summary = scored()
    table = summary["redundancy"]["similarity"]
    for i, row in enumerate(table):
        for j in range(len(row)):
            row[j] = (1 + i * len(row) + j) / (len(row) * len(table))
    return summary


CONTRAST = """() => {
    const parts = (color) => color.match(/[\\d.]+/g).map(Number);
    const light = (rgb) => {
        const [r, g, b] = rgb.slice(0, 3).map((v) => {
            const s = v / 255;
            return s <= 0.03928 ? s / 12.92 : ((s + 0.055) / 1.055) ** 2.4;
        });
        return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    const behind = (node) => {
        for (let one = node; one; one = one.parentElement) {
            const color = parts(getComputedStyle(one).backgroundColor);
            if (color.length === 3 || color[3] === 1) return color;
        }
        return [255, 255, 255];
    };
    const cell = (node) => {  // a number on a cell of a heat map, which is half transparent
        const rect = node.previousElementSibling, style = getComputedStyle(rect);
        const share = Number(style.fillOpacity), under = behind(node);
        return parts(style.fill).map((v, i) => share * v + (1 - share) * under[i]);
    };
    const own = (node) => [...node.childNodes].some((c) => c.nodeType === 3 && c.data.trim());
    const found = [];
    for (const node of document.querySelectorAll("body *")) {
        if (!own(node) || !node.checkVisibility()) continue;
        if (node.matches("script, style, title, desc")) continue;
        const style = getComputedStyle(node);
        const ink = parts(node instanceof SVGElement ? style.fill : style.color);
        const back = node.matches(".cool, .warm, .hot") ? cell(node) : behind(node);
        const [a, b] = [light(ink), light(back)].sort((x, y) => y - x);
        const kind = node.getAttribute("class") || node.tagName;
        found.push([(a + 0.05) / (b + 0.05), kind,
                    node.textContent.trim().slice(0, 40)]);
    }
    return found;
}"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("make", [scored, traced, hostile, many_shades, faint])
def test_all_text_stands_out(browser, tmp_path, scheme, make):
    """WCAG 2.1 AA: 4.5 to 1, also for the numbers on the cells of a heat map."""
    with opened(browser, tmp_path, make(), color_scheme=scheme) as one:
        found = one.page.evaluate(CONTRAST)
        assert len(found) > 100
        if make is many_shades:
            assert {"small cool", "small warm", "small hot"} <= {entry[1] for entry in found}
        assert [entry for entry in found if entry[0] < 4.5] == []
