"""What the page keeps for experts, what it leaves out, and that a phone cuts nothing off."""

from __future__ import annotations

import pytest

from report.browser import CASES, opened, people, scored, traced, unfold

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("browser")]
PHONE = {"viewport": {"width": 375, "height": 700}}
FILES = {"path": "path.kpath", "model": "a/rather/long/folder/of/results/model.kpmodel"}


def ticks(page, chart, anchor):
    return page.locator(f"#{chart} text.axis.small[text-anchor={anchor}]").all_text_contents()


# -- folding ---------------------------------------------------------------------------------------


def test_what_is_for_experts_opens_by_the_keyboard_and_is_drawn_then(browser, tmp_path):
    with opened(browser, tmp_path, scored()) as one:
        page = one.page
        for chart in ("weights", "count", "certificates"):
            assert page.locator(f"#{chart}").is_hidden()
            page.locator(f"details:has(#{chart}) summary").focus()
            page.keyboard.press("Enter")
            page.wait_for_selector(f"#{chart} svg", state="visible")
            box = page.locator(f"#{chart}").bounding_box()
            drawn = page.locator(f"#{chart} svg").get_attribute("viewBox").split()
            assert abs(float(drawn[2]) - box["width"]) <= 1
            page.keyboard.press("Enter")
            assert page.locator(f"#{chart}").is_hidden()
        assert one.complaints == []


def test_a_folded_chart_has_the_width_that_the_page_has_when_it_is_opened(browser, tmp_path):
    with opened(browser, tmp_path, scored()) as one:
        page = one.page
        page.set_viewport_size({"width": 500, "height": 700})
        page.locator("details:has(#weights) summary").click()
        width = page.locator("#weights").bounding_box()["width"]
        page.wait_for_function(
            "(width) => Math.abs(document.querySelector('#weights svg').viewBox.baseVal.width"
            " - width) <= 1",
            arg=width,
        )
        assert page.evaluate("document.documentElement.scrollWidth") <= 500


def test_a_path_without_scores_shows_its_weights_at_once(browser, tmp_path):
    with opened(browser, tmp_path, traced()) as one:
        assert one.page.locator("#weights").is_visible()
        assert one.page.locator("#certificates").is_hidden()


# -- a phone ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("case", ["scored", "people", "hostile", "turning"])
def test_a_phone_has_no_small_letters_and_nothing_beyond_its_edge(browser, tmp_path, case):
    with opened(browser, tmp_path, CASES[case](), **PHONE) as one:
        page = one.page
        unfold(page)
        sizes = page.eval_on_selector_all(
            "svg text", "all => all.map((one) => parseFloat(getComputedStyle(one).fontSize))"
        )
        assert min(sizes) >= 13
        edges = page.eval_on_selector_all(
            "svg text",
            "all => all.map((one) => one.getBoundingClientRect()).map((b) => [b.left, b.right])",
        )
        assert min(left for left, _ in edges) >= 0
        assert max(right for _, right in edges) <= 375
        assert page.evaluate("document.documentElement.scrollWidth") <= 375


def test_a_phone_cuts_no_line_of_code(browser, tmp_path):
    command = f"kernelpath path table.csv --target {'outcome' * 12} --cv 5 --out run"
    with opened(
        browser, tmp_path, scored(), page={"command": command, "files": FILES}, **PHONE
    ) as one:
        cut = "all => all.filter((one) => one.scrollWidth > one.clientWidth).length"
        assert one.page.locator("pre").count() == 2
        assert one.page.eval_on_selector_all("pre", cut) == 0
        assert command in one.page.locator("pre").last.inner_text()


# -- labels and axes -------------------------------------------------------------------------------


@pytest.mark.parametrize("width", [375, 1400])
def test_names_of_categories_are_whole_where_there_is_room(browser, tmp_path, width):
    summary = people()
    with opened(browser, tmp_path, summary, viewport={"width": width, "height": 800}) as one:
        place = [summary["features"][view["feature"]]["name"] for view in summary["views"]]
        said = one.page.locator(f"#view-{place.index('sex')} text").all_text_contents()
        assert said[said.index("men") :][:7:2] == ["men", "not stated", "women", "missing"]


def test_dates_and_booleans_have_their_own_ticks(browser, tmp_path):
    summary = people()
    names = [summary["features"][view["feature"]]["name"] for view in summary["views"]]
    with opened(browser, tmp_path, summary) as one:
        dates = ticks(one.page, f"view-{names.index('boarded')}", "middle")
        assert len(dates) >= 2
        assert all(text.split()[1] == "Apr" for text in dates)
        assert ticks(one.page, f"view-{names.index('alone')}", "middle") == ["0", "1"]


@pytest.mark.parametrize("case", ["scored", "people", "regression", "classes"])
def test_every_axis_has_two_numbers(browser, tmp_path, case):
    with opened(browser, tmp_path, CASES[case]()) as one:
        views = one.page.locator("#views figure > div")
        assert views.count() >= 2
        for i in range(views.count()):
            across = views.nth(i).locator("text.axis.small[text-anchor=middle]")
            assert across.count() >= 2, views.nth(i).inner_text()


def test_a_logarithmic_axis_has_no_zero(browser, tmp_path):
    summary = scored()
    with opened(browser, tmp_path, summary) as one:
        unfold(one.page)
        points = summary["points"]
        zeros = sum(value == 0 for name in ("kkt", "gap") for value in points[name])
        said = ticks(one.page, "certificates", "end")
        assert zeros > 0
        assert "0" not in said
        assert said[-1] == "exactly 0"
        assert one.page.locator("#certificates circle.zero").count() == zeros
    for name in ("kkt", "gap"):
        points[name] = [value or 1e-16 for value in points[name]]
    with opened(browser, tmp_path, summary) as one:
        unfold(one.page)
        assert "exactly 0" not in ticks(one.page, "certificates", "end")


def test_sizes_beyond_the_ends_lie_on_the_line_too(browser, tmp_path):
    summary = traced()
    below = [s["n_features"] < min(summary["points"]["n_selected"]) for s in summary["sizes"]]
    assert any(below)
    with opened(browser, tmp_path, summary) as one:
        page = one.page
        page.locator("#slider").fill(str(below.index(True)))
        away = page.evaluate(
            """() => {
                const ring = document.querySelector("#curve .now");
                const x = Number(ring.getAttribute("cx")), y = Number(ring.getAttribute("cy"));
                const lines = [...document.querySelectorAll("#curve path.line")];
                return Math.min(...lines.flatMap((line) => {
                    const found = [];
                    for (let s = 0; s <= line.getTotalLength(); s += 1) {
                        const at = line.getPointAtLength(s);
                        found.push(Math.hypot(at.x - x, at.y - y));
                    }
                    return found;
                }));
            }"""
        )
        assert away < 2


# -- references ------------------------------------------------------------------------------------


def with_references(*scores):
    summary = scored()
    labels = ("Logistic regression", "Boosting")
    summary["references"] = [
        {"name": label.lower(), "label": label, "n_features": 60, "score": score, "se": 0.01,
         "difference": 0.0, "difference_se": 0.01, "above": False, "note": ""}
        for label, score in zip(labels, scores)
    ]  # fmt: skip
    return summary


@pytest.mark.parametrize("width", [375, 1280])
def test_references_are_levels_with_their_names(browser, tmp_path, width):
    best = scored()["cv"]["best"]["score"]
    summary = with_references(best, best - 0.03)
    with opened(browser, tmp_path, summary, viewport={"width": width, "height": 800}) as one:
        page = one.page
        assert page.locator("#curve path.reference").count() == 2
        assert page.locator("#curve path.error").count() == 2
        words = page.locator("#curve").inner_text()
        for name in ("Logistic regression, all 60", "Boosting, all 60", "f_test", "lp-kta"):
            assert name in words
        said = page.locator("section:has(#h-curve)").inner_text().replace("\N{NO-BREAK SPACE}", " ")
        assert f"All 60 features: logistic regression {best:.3f} ± 0.010, boosting" in said


def test_a_level_far_away_is_said_in_words(browser, tmp_path):
    with opened(browser, tmp_path, with_references(-7.25, 40.0)) as one:
        page = one.page
        assert page.locator("#curve path.reference").count() == 0
        words = page.locator("#curve .note").inner_text()
        assert "Above this picture: Boosting, all 60 40.000." in words
        assert "Below this picture: Logistic regression, all 60 −7.250" in words
        assert one.complaints == []
