"""The pages in a real browser: nothing is fetched, nothing fails, and every control works."""

import csv
import hashlib
import io
import re
from pathlib import Path

import pytest
from sample_run import EVIL, write_run

from separatrix.report import write_report

pytestmark = pytest.mark.usefixtures("browser")
AXE = Path(__file__).parents[1] / "vendor" / "axe.min.js"


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """The page of a study and the index, with plain names and with evil ones."""
    out = {}
    for extra, text in (("", ""), ("evil", EVIL)):
        index = write_report(write_run(tmp_path_factory.mktemp("run") / "run", text))
        out[extra] = index.with_name("study-sample.html").as_uri()
        out[f"index {extra}".strip()] = index.as_uri()
    return out


@pytest.fixture
def visit(browser, pages):
    """Open a page; at the end there must have been no complaint and no request but for the page
    itself.
    """
    tabs = []

    def go(which="", **options):
        tab = browser.new_page(**({"viewport": {"width": 1200, "height": 900}} | options))
        said, asked = [], []
        tab.on("console", lambda message: said.append(message.text))
        tab.on("pageerror", lambda error: said.append(str(error)))
        tab.on("request", lambda request: asked.append(request.url))
        tab.goto(pages[which])
        tabs.append((tab, said, asked))
        return tab

    yield go
    for tab, said, asked in tabs:
        tab.close()
        assert said == []
        assert [url for url in asked if not url.startswith(("data:", "blob:"))] == [asked[0]]


def hover(tab, figure, share=(0.5, 0.5)):
    box = tab.locator(f"#{figure} .chart > svg").bounding_box()
    tab.mouse.move(box["x"] + share[0] * box["width"], box["y"] + share[1] * box["height"])


def over_point(tab, figure, group, index):
    """Move the mouse to where the page's data say that a point is."""
    place = tab.evaluate(
        """([id, group, index]) => {
            const figure = document.getElementById(id), svg = figure.querySelector(".chart > svg");
            svg.scrollIntoView({block: "center", behavior: "instant"});
            const [x, y] = JSON.parse(figure.dataset.figure).groups[group].at[index];
            const at = new DOMPoint(x, y).matrixTransform(svg.getScreenCTM());
            return [at.x, at.y];
        }""",
        [figure, group, index],
    )
    tab.mouse.move(*place)
    return tab.locator(f"#{figure} .tip")


def test_the_accessibility_checker_is_the_one_we_state():
    stated = re.search(r"axe\.min\.js.*`([0-9a-f]{64})`", (AXE.parent / "README.md").read_text())
    assert stated is not None
    assert hashlib.sha256(AXE.read_bytes()).hexdigest() == stated.group(1)


def test_claims_are_filtered_by_paper_verdict_and_words(visit):
    tab = visit("index")
    rows = tab.locator("tr[data-paper]:visible")
    assert rows.count() == 3
    tab.get_by_label("Paper").select_option("lahoti")
    assert rows.count() == 2
    tab.locator("[name=verdict]").select_option("undecided")
    assert rows.count() == 1
    assert "1 of 3 claims" in tab.locator("#filters").inner_text()
    tab.get_by_label("Paper").select_option("malach")
    assert rows.count() == 0
    assert not tab.locator("tr.question").is_visible(), "a question without claims is not shown"
    tab.get_by_label("Paper").select_option("")
    tab.locator("[name=verdict]").select_option("")
    tab.get_by_label("Words").fill("Malach")
    assert rows.count() == 1


def test_claims_are_sorted_and_come_back(visit):
    tab = visit("index")

    def verdicts():
        return [row.get_attribute("data-verdict") for row in tab.locator("tr[data-paper]").all()]

    before = verdicts()
    tab.get_by_label("Order").select_option("verdict")
    assert verdicts() == ["refuted", "undecided", "supported"]
    tab.get_by_label("Order").select_option("")
    assert verdicts() == before
    assert tab.locator("tr.question").is_visible()


def test_the_first_figure_is_in_the_first_screen(visit):
    tab = visit("index", viewport={"width": 1300, "height": 700})
    box = tab.locator(".card .chart > svg").first.bounding_box()
    assert box["y"] + box["height"] <= 700
    box = visit("index", viewport={"width": 390, "height": 844}).locator(".chart > svg").first
    assert box.bounding_box()["y"] + box.bounding_box()["height"] <= 2 * 844


def test_every_link_of_the_index_leads_to_the_evidence(visit, pages):
    tab = visit("index")
    links = tab.locator("tr[data-paper] a")
    assert links.count() == 3
    target = tab.evaluate("each => each.href", links.first.element_handle())
    assert target.startswith(pages[""] + "#claim-")


def test_hovering_tells_cell_interval_and_trials(visit):
    tab = visit()
    tip = over_point(tab, "sample-curves", 0, 0)
    assert tip.is_visible()
    for part in ("CNN", "samples m: 16", "risk: 0.4 [0.35, 0.45]", "from 2 trials"):
        assert part in tip.inner_text()
    told = over_point(tab, "sample-curves", 1, 2).inner_text()
    assert "FCN" in told
    assert "from 24 trials" in told, "what the series states"
    tab.mouse.move(5, 5)
    assert not tip.is_visible()


def test_points_are_where_the_drawing_has_them(visit):
    tab = visit()
    found = tab.evaluate("""() => {
        const figure = document.getElementById("sample-curves");
        const data = JSON.parse(figure.dataset.figure);
        const marks = [...figure.querySelectorAll('.chart [data-s="1"] use')];
        const drawn = marks.map((mark) => [mark.x.baseVal.value, mark.y.baseVal.value]);
        return [data.groups[1].at.filter(Boolean), drawn];
    }""")
    for place in found[0]:
        assert min(abs(place[0] - x) + abs(place[1] - y) for x, y in found[1]) < 0.2


def test_a_map_tells_its_cells_and_which_are_bounds(visit):
    tip = over_point(visit(), "sample-map", 0, 3)
    assert tip.inner_text().split("\n") == ["k: 20", "d: 6", "m*: at least 90", "only a bound"]


def test_series_are_switched_off_and_on(visit):
    tab = visit()
    box = tab.locator("#sample-curves .legend").get_by_label("CNN law")
    part = tab.locator('#sample-curves .chart [data-s="3"]').first
    assert part.evaluate("each => getComputedStyle(each).visibility") == "visible"
    box.uncheck()
    assert part.evaluate("each => getComputedStyle(each).visibility") == "hidden"
    tip = over_point(tab, "sample-curves", 3, 2)
    assert "(law)" not in tip.inner_text(), "what is not seen is not told"
    box.check()
    assert "(law)" in over_point(tab, "sample-curves", 3, 2).inner_text()
    assert tab.locator("#sample-curves .legend input").count() == 5


def test_the_keyboard_reads_all_points(visit):
    tab = visit()
    chart = tab.locator("#sample-curves .chart")
    chart.focus()
    told = []
    for key in ["ArrowRight", "ArrowRight", "ArrowDown"]:
        tab.keyboard.press(key)
        told.append(chart.locator(".tip").inner_text())
    assert "samples m: 16" in told[0]
    assert "samples m: 64" in told[1]
    assert told[2].startswith("FCN")
    tab.keyboard.press("Escape")
    assert not chart.locator(".tip").is_visible()


@pytest.mark.parametrize("name", ["sample-curves", "sample-bars", "sample-map", "sample-picture"])
def test_the_data_behind_a_figure_can_be_saved_and_are_those_beside_the_page(visit, pages, name):
    tab = visit()
    with tab.expect_download() as saved:
        tab.locator(f"#{name} .tools button").click()
    assert saved.value.suggested_filename == f"{name}.csv"
    beside = Path(pages[""].removeprefix("file://")).parent / "data" / f"{name}.csv"
    found, wanted = (
        list(csv.reader(io.StringIO(Path(file).read_text(encoding="utf-8"))))
        for file in (saved.value.path(), beside)
    )
    assert len(wanted) > 1

    def value(cell):
        try:
            return float(cell)
        except ValueError:
            return cell

    assert [[value(cell) for cell in row] for row in found] == [
        [value(cell) for cell in row] for row in wanted
    ]


def colours(tab):
    return tab.evaluate("""() => [getComputedStyle(document.body).backgroundColor,
        getComputedStyle(document.querySelector(".chart text")).fill]""")


def test_light_and_dark(visit):
    assert colours(visit(color_scheme="light")) == ["rgb(255, 255, 255)", "rgb(28, 32, 38)"]
    assert colours(visit(color_scheme="dark")) == ["rgb(21, 24, 29)", "rgb(228, 231, 235)"]


@pytest.mark.parametrize(
    "which, controls, kept_parts",
    [
        ("", ("nav", ".tools", ".legend input", ".up"), (".legend label", ".caption")),
        ("index", ("#filters", ".legend input"), (".card .answer", "table.claims thead")),
    ],
)
def test_on_paper_there_are_figures_with_legends_and_no_controls(
    visit, which, controls, kept_parts
):
    tab = visit(which, color_scheme="dark")
    tab.emulate_media(media="print")
    assert colours(tab)[1] == "rgb(28, 32, 38)", "black on paper, whatever the screen"
    for control in controls:
        assert tab.locator(control).first.is_hidden(), control
    for kept in (".chart svg", *kept_parts):
        assert tab.locator(kept).first.is_visible(), kept
    assert tab.pdf()[:4] == b"%PDF"


@pytest.mark.parametrize("which", ["", "index"])
@pytest.mark.parametrize("width", [320, 390, 768, 1200])
def test_nothing_sticks_out_at_any_width(visit, which, width):
    tab = visit(which, viewport={"width": width, "height": 800})
    assert tab.evaluate("document.documentElement.scrollWidth") <= width
    tip = over_point(tab, "sample-curves", 0, 2)
    box = tip.bounding_box()
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= width


def test_names_that_are_scripts_are_shown_and_not_run(visit):
    assert visit("index evil").evaluate("window.ran") is None
    tab = visit("evil")
    for figure in tab.locator("figure").all():
        name = figure.get_attribute("id")
        if not name.endswith("picture"):
            hover(tab, name)
            over_point(tab, name, 0, 0)
    assert EVIL in tab.locator("#sample-curves .tip").text_content()
    assert tab.evaluate("window.ran") is None
    assert tab.locator("img").count() == 0
    assert tab.locator("body").inner_text().count("<script>") > 10


@pytest.mark.parametrize("which", ["", "index"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_accessibility_checker_finds_nothing_serious(visit, which, scheme):
    tab = visit(which, color_scheme=scheme)
    over_point(tab, "sample-curves", 0, 0)
    # The page's policy forbids scripts that are not its own, so the checker comes in through the
    # debugger.
    tab.evaluate(AXE.read_text(encoding="utf-8") + "\n;undefined")
    found = tab.evaluate("axe.run(document, {resultTypes: ['violations']})")
    bad = [
        (each["id"], each["impact"], [node["html"][:120] for node in each["nodes"]][:3])
        for each in found["violations"]
    ]
    assert [each for each in bad if each[1] in ("serious", "critical")] == []
    assert len(found["passes"]) > 10


def test_without_scripts_the_page_is_still_whole(browser, pages):
    context = browser.new_context(java_script_enabled=False)
    tab = context.new_page()
    tab.goto(pages["index"])
    assert tab.locator("tr[data-paper]:visible").count() == 3
    tab.goto(pages[""])
    assert tab.locator("#sample-curves .legend label").count() == 5
    assert not tab.locator("#sample-curves .legend input:visible").count()
    assert tab.locator("#sample-curves .chart svg").is_visible()
    context.close()
