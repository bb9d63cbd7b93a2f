"""The pages for people in a real browser, Debian's chromium: what somebody does there, with a keyboard, without
scripts, on a narrow screen, in both themes, also while the search is busy or broken. axe-core looks at each page, and
each is valid HTML.

With SLUICE_SCREENSHOTS=DIR the pictures of the docs are taken as well."""
import json
import os
import pathlib
import re
import urllib.parse

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect, sync_playwright

import pages
from markup import faults_of
from pages import PAGES, PIN, BusySite, Site
from wire import until

SCREENSHOTS = os.environ.get("SLUICE_SCREENSHOTS")
TIMEOUT_MS = 30_000


@pytest.fixture(scope="session")
def browser():
    # Its sandbox needs a user of its own: root, as in containers, has none.
    args = ["--no-sandbox"] if os.geteuid() == 0 else []
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=args)
        yield chromium
        chromium.close()


@pytest.fixture(scope="module")
def site():
    site = Site()
    yield site
    site.stop()


@pytest.fixture(scope="module")
def strict_site():
    """One that lets a client search twice a minute."""
    site = Site("[titles]\nlimit_minute = 2\n")
    yield site
    site.stop()


@pytest.fixture(scope="module")
def busy_site():
    site = BusySite()
    yield site
    site.stop()


@pytest.fixture(scope="module")
def broken_site():
    site = pages.broken_site()
    yield site
    site.stop()


class Visitor:
    """A window of its own. What a page should not do is an error: a script that fails, a file that is not there or
    comes from elsewhere, something that the policy refuses."""

    def __init__(self, browser, site, **options):
        self.site, self.problems = site, []
        self.context = browser.new_context(base_url=site.url, **{"viewport": {"width": 1000, "height": 760},
                                                                 **options})
        self.context.set_default_timeout(TIMEOUT_MS)
        self.page = self.context.new_page()
        self.page.on("pageerror", lambda error: self.problems.append(str(error)))
        self.page.on("console", self._console)
        self.page.on("request", self._request)

    def _console(self, message):
        # Chromium also reports a page that is an error itself, which tests ask for.
        if message.type == "error" and "Failed to load resource" not in message.text:
            self.problems.append(message.text)

    def _request(self, request):
        if not request.url.startswith(self.site.url):
            self.problems.append(f"asks for {request.url}")

    def go(self, path, status=200):
        response = self.page.goto(path)
        assert response.status == status, (path, response.status)
        self.check_markup(response)

    def check_markup(self, response):
        assert response.headers["content-type"] == "text/html; charset=utf-8"
        assert faults_of(response.body()) == [], response.url

    def check_accessibility(self):
        found = Axe().run(self.page)
        assert found.violations_count == 0, found.generate_report()

    def check_width(self):
        """Nothing has to be scrolled sideways."""
        wide = self.page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        assert wide <= 0, f"{wide} pixels too wide at {self.page.url}"

    def picture(self, name):
        if SCREENSHOTS:
            self.page.screenshot(path=pathlib.Path(SCREENSHOTS) / f"{name}.png")

    def leave(self):
        self.context.close()
        assert self.problems == []


@pytest.fixture
def visit(browser):
    visitors = []

    def start(site, **options):
        visitors.append(Visitor(browser, site, **options))
        return visitors[-1]
    yield start
    for visitor in visitors:
        visitor.leave()


def search(visitor, query):
    box = visitor.page.get_by_label("Search titles")
    box.fill(query)
    box.press("Enter")


def test_a_mistyped_search_leads_to_the_page(site, visit):
    visitor = visit(site)
    page = visitor.page
    visitor.go("/")
    search(visitor, "kubrenetes deploymnt")
    expect(page).to_have_title("Results for “kubrenetes deploymnt” · Pages")
    expect(page.get_by_label("Search titles")).to_have_value("kubrenetes deploymnt")
    first = page.get_by_role("row").nth(1)
    expect(first).to_contain_text("Kubernetes deployment checklist")
    assert first.locator("mark").all_inner_texts()[0] == "Kube"
    visitor.picture("pages-results")
    first.get_by_role("link").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Kubernetes deployment checklist")
    expect(page.locator(".prose strong")).to_have_text("Before you deploy")


def test_no_result_keeps_the_query(site, visit):
    visitor = visit(site)
    visitor.go("/search?q=zzqqxx+%3Cb%3E%22")
    expect(visitor.page.get_by_text("No pages match.")).to_be_visible()
    expect(visitor.page.get_by_label("Search titles")).to_have_value('zzqqxx <b>"')
    visitor.page.get_by_role("link", name="All pages").click()
    expect(visitor.page.get_by_role("heading", level=1)).to_have_text("All pages")


def test_too_short_and_too_long_are_told_at_the_box(site, visit):
    visitor = visit(site)
    for query, status, note in (("k", 200, "Enter at least 2 characters."),
                                ("k" * 65, 400, "Enter at most 64 characters.")):
        visitor.go(f"/search?q={query}", status)
        box = visitor.page.get_by_label("Search titles")
        expect(box).to_have_accessible_description(note)
        expect(box).to_have_attribute("aria-invalid", "true")


def test_the_list_has_parts_and_orders(site, visit):
    visitor = visit(site)
    page = visitor.page
    visitor.go("/")
    expect(page.get_by_text(f"{len(PAGES)} pages")).to_be_visible()
    page.get_by_role("link", name="By title").click()
    expect(page.get_by_role("link", name="By title")).to_have_attribute("aria-current", "true")
    expect(page.get_by_role("row").nth(1)).to_contain_text("A/B experiment registry")
    page.get_by_role("link", name="Next").click()
    expect(page.get_by_text("Page 2 of 2")).to_be_visible()
    page.get_by_role("link", name="Previous").click()
    expect(page.get_by_text("Page 1 of 2")).to_be_visible()


def test_a_theme_stays_and_leads_back(site, visit):
    visitor = visit(site, color_scheme="light")
    page = visitor.page
    ground = "getComputedStyle(document.documentElement).backgroundColor"
    visitor.go("/search?q=kafka+rebalance")
    light = page.evaluate(ground)
    page.get_by_role("link", name="Dark").click()
    expect(page).to_have_url(f"{site.url}/search?q=kafka+rebalance")
    dark = page.evaluate(ground)
    assert dark != light
    visitor.go("/")
    assert page.evaluate(ground) == dark
    page.get_by_role("link", name="As the browser").click()
    assert page.evaluate(ground) == light
    assert visitor.context.cookies() == []
    page.emulate_media(color_scheme="dark")
    assert page.evaluate(ground) == dark


def test_a_keyboard_is_enough(site, visit):
    visitor = visit(site)
    page = visitor.page
    visitor.go("/")
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to the content")).to_be_focused()
    assert page.get_by_role("link", name="Skip to the content").bounding_box()["x"] >= 0
    page.keyboard.press("Enter")
    expect(page.locator("main")).to_be_focused()
    page.keyboard.press("/")
    expect(page.get_by_label("Search titles")).to_be_focused()
    page.keyboard.type("redis evicton/")
    expect(page.get_by_label("Search titles")).to_have_value("redis evicton/")
    page.keyboard.press("Backspace")
    page.keyboard.press("Enter")
    expect(page.get_by_role("row").nth(1)).to_contain_text("Redis cache eviction policies")
    focused = "getComputedStyle(document.activeElement).outlineStyle"
    page.keyboard.press("Tab")
    assert page.evaluate(focused) == "solid"


def go_to_the_limit(visitor):
    """Searches until that is refused, and returns for how many seconds."""
    response = visitor.page.goto("/search?q=kafka")
    while response.status == 200:
        response = visitor.page.goto("/search?q=kafka")
    assert response.status == 429
    visitor.check_markup(response)
    left = int(response.headers["retry-after"])
    assert 1 <= left <= 60
    return left


def test_waiting_is_counted_down(strict_site, visit):
    visitor = visit(strict_site)
    page = visitor.page
    left = go_to_the_limit(visitor)
    expect(page.get_by_role("heading", level=1)).to_have_text("Too many searches")
    expect(page.get_by_role("timer")).to_have_attribute("data-seconds", str(left))
    visitor.picture("pages-wait")

    def three_seconds(route):
        """The same page, so that nobody has to wait for a minute."""
        response = route.fetch()
        page_text = re.sub(r'data-seconds="\d+"', 'data-seconds="3"', response.text())
        route.fulfill(response=response, body=page_text)
    page.route("**/search?*", three_seconds)
    go_to_the_limit(visitor)
    expect(page.get_by_role("timer")).to_have_text(re.compile("^[12] seconds?$"))
    expect(page.get_by_role("status")).to_have_text("You can try again now.")
    expect(page.get_by_role("timer")).to_be_hidden()
    expect(page.get_by_role("link", name="Try again")).to_have_attribute("href", "/search?q=kafka")


def test_waiting_is_counted_down_without_scripts(strict_site, visit):
    visitor = visit(strict_site, java_script_enabled=False)
    page = visitor.page
    page.route("**/assets/countdown-*", lambda route: route.continue_(
        url=re.sub(r"-\d+\.css$", "-3.css", route.request.url)))
    go_to_the_limit(visitor)
    shown = "Number(getComputedStyle(document.querySelector('.clock'), '::after').getPropertyValue('--left'))"
    first = page.evaluate(shown)
    assert 1 <= first <= 3
    until(lambda: page.evaluate(shown) < first)
    over = page.get_by_text("You can try again now.")
    expect(over).to_be_visible()
    assert page.evaluate(shown) == 0


def test_everything_works_without_scripts(site, visit):
    visitor = visit(site, java_script_enabled=False)
    page = visitor.page
    visitor.go("/")
    search(visitor, "grafana dashbord")
    page.get_by_role("link", name="Grafana dashboard inventory").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Grafana dashboard inventory")
    page.get_by_role("link", name="Dark").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Grafana dashboard inventory")
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")


def test_a_pin_opens_a_claimed_page(site, visit):
    visitor = visit(site)
    page = visitor.page
    visitor.go("/p/sealed")
    expect(page.get_by_role("heading", level=1)).to_have_text("This page is claimed")
    page.get_by_label("PIN").fill("0000")
    with page.expect_navigation() as refused:
        page.get_by_role("button", name="Open").click()
    visitor.check_markup(refused.value)
    expect(page.get_by_label("PIN")).to_have_accessible_description("That is not the PIN.")
    page.get_by_label("PIN").fill(PIN)
    page.get_by_role("button", name="Open").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Sealed")


@pytest.fixture
def own_site():
    """One whose pages and searches no other test counts."""
    site = Site("[titles]\nlimit_minute = 10\n")
    yield site
    site.stop()


def test_a_page_spends_no_search_of_who_reads_it(own_site, visit):
    """Its pictures may name the search, or a theme, and the browser loads them as what they are not."""
    own_site.pages("import", "-", text=json.dumps({
        "title": "Greedy", "slug": "greedy",
        "body": "![a](/search?q=kafka)![b](/search?q=redis)![c](/theme/dark?back=/search?q=tls)![d](/search/?q=tls)"}))
    visitor = visit(own_site)
    asked = []
    visitor.page.on("response", lambda response: asked.append((response.request.resource_type, response.status)))
    visitor.go("/p/greedy")
    visitor.page.wait_for_load_state("networkidle")
    # The one with a slash too many is led to the search first.
    assert sorted(status for kind, status in asked if kind == "image") == [308, 404, 404, 404, 404]
    assert visitor.context.cookies() == []
    response = visitor.page.goto("/search?q=kafka")
    assert response.status == 200 and '"minute";r=9;' in response.headers["ratelimit"]


def test_an_address_that_is_nearly_right(site, visit):
    visitor = visit(site)
    visitor.go("/p/kubernetes-deployment-checklist/")
    expect(visitor.page).to_have_url(f"{site.url}/p/kubernetes-deployment-checklist")
    visitor.go("/search/?q=kafka+rebalance")
    expect(visitor.page).to_have_url(f"{site.url}/search?q=kafka+rebalance")
    visitor.go("/pages", 404)
    expect(visitor.page.get_by_role("heading", level=1)).to_have_text("There is no such page")
    visitor.page.get_by_role("link", name="All pages").click()
    expect(visitor.page.get_by_role("heading", level=1)).to_have_text("All pages")


RIGHT_TO_LEFT = {"title": "דליל הפרסום המהיר לכל מי שכותב כאן הרבה דפים ארוכים", "slug": "rtl", "author": "\u202edna", "body": "שלום"}


def test_directions_of_writing_stay_where_they_are(own_site, visit):
    own_site.pages("import", "-", text=json.dumps(RIGHT_TO_LEFT))
    visitor = visit(own_site, viewport={"width": 320, "height": 568})
    visitor.go("/search?q=" + urllib.parse.quote("הפרסום המהיר"))
    page = visitor.page
    link = page.get_by_role("row").nth(1).get_by_role("link")
    assert link.evaluate("a => getComputedStyle(a).direction") == "rtl"
    box, cell = link.bounding_box(), page.get_by_role("row").nth(1).get_by_role("cell").first.bounding_box()
    assert box["height"] > 40 and box["x"] + box["width"] <= cell["x"] + cell["width"], "it takes several lines"
    assert page.locator(".by").first.evaluate("by => getComputedStyle(by).direction") == "ltr"
    assert page.locator(".by bdi").first.evaluate("author => getComputedStyle(author).unicodeBidi") == "isolate"
    visitor.check_width()
    visitor.check_accessibility()
    visitor.go("/p/rtl")
    assert page.locator("h1").evaluate("title => getComputedStyle(title).direction") == "rtl"
    visitor.check_width()


@pytest.mark.parametrize("scripts", [True, False])
def test_a_search_that_finds_no_thread_can_be_tried_again(visit, scripts):
    site = BusySite()
    try:
        visitor = visit(site, java_script_enabled=scripts)
        page = visitor.page
        visitor.go("/")
        with page.expect_navigation() as refused:
            search(visitor, "grafana dashbord")
        assert refused.value.status == 503
        expect(page.get_by_role("heading", level=1)).to_have_text("Many people are searching")
        expect(page.get_by_label("Search titles")).to_have_value("grafana dashbord")
        site.let_go()
        page.get_by_role("link", name="Try again").click()
        expect(page.get_by_role("row").nth(1)).to_contain_text("Grafana dashboard inventory")
    finally:
        site.stop()


@pytest.mark.parametrize("scripts", [True, False])
def test_a_search_that_breaks_keeps_the_query_and_leads_back(broken_site, visit, scripts):
    visitor = visit(broken_site, java_script_enabled=scripts)
    page = visitor.page
    visitor.go("/")
    with page.expect_navigation() as broken:
        search(visitor, "grafana dashbord")
    assert broken.value.status == 500
    expect(page.get_by_role("heading", level=1)).to_have_text("Something went wrong")
    expect(page.get_by_label("Search titles")).to_have_value("grafana dashbord")
    expect(page.get_by_role("link", name="Try again")).to_have_attribute("href", "/search?q=grafana%20dashbord")
    page.get_by_role("link", name="All pages").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("All pages")


EVERY_PAGE = (("/", 200), ("/?sort=title&page=2", 200), ("/search?q=kubrenetes+deploymnt", 200),
              ("/search?q=zzqqxx", 200), ("/search?q=k", 200), ("/search?q=%ff", 400),
              ("/p/kubernetes-deployment-checklist", 200), ("/p/everything", 200), ("/p/sealed", 200), ("/p/never", 404), ("/nowhere", 404))


@pytest.fixture
def every_page(site, busy_site, broken_site):
    return ((site, EVERY_PAGE), (busy_site, (("/search?q=kubrenetes+deploymnt", 503),)),
            (broken_site, (("/search?q=kubrenetes+deploymnt", 500),)))


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_pages_are_accessible(every_page, strict_site, visit, theme):
    for one, paths in every_page:
        visitor = visit(one, color_scheme=theme)
        for path, status in paths:
            visitor.go(path, status)
            visitor.check_accessibility()
    strict = visit(strict_site, color_scheme=theme)
    go_to_the_limit(strict)
    strict.check_accessibility()
    if theme == "dark":
        visitor = visit(every_page[0][0], color_scheme=theme)
        visitor.go("/search?q=kubrenetes+deploymnt")
        visitor.picture("pages-dark")


@pytest.mark.parametrize("scripts", [True, False])
def test_nothing_is_wider_than_a_narrow_screen(every_page, strict_site, visit, scripts):
    options = {"viewport": {"width": 320, "height": 568}, "java_script_enabled": scripts}

    def check(visitor):
        visitor.check_width()
        if scripts:  # axe-core is one
            visitor.check_accessibility()
    for one, paths in every_page:
        visitor = visit(one, **options)
        for path, status in paths:
            visitor.go(path, status)
            check(visitor)
    strict = visit(strict_site, **options)
    go_to_the_limit(strict)
    check(strict)
    if scripts:
        visitor = visit(every_page[0][0], **options)
        visitor.go("/search?q=kubrenetes+deploymnt")
        visitor.picture("pages-narrow")
