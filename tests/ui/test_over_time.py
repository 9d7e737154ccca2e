"""How a queue went: three charts from its samples, for every range; the server takes samples by itself."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from playwright.sync_api import expect

from tests.waiting import until


def test_a_queue_shows_depth_age_and_throughput_over_time(visit, lab):
    screen = visit("user:obi", "/ui/queues/extraction")
    plots = screen.page.locator(".tn-plot svg")
    expect(plots).to_have_count(3)
    expect(screen.page.get_by_role("img", name="Depth: waiting now")).to_be_visible()
    expect(screen.page.get_by_role("img", name="Per minute: done now")).to_be_visible()
    before = plots.first.inner_html()
    screen.button("7 days").click()
    expect(screen.button("7 days")).to_have_attribute("aria-pressed", "true")
    until(lambda: plots.first.inner_html() != before)


def test_a_queue_without_samples_says_so(visit, client, lab):
    client.define_queue("never/sampled")
    screen = visit("user:obi", "/ui/queues/never%2Fsampled")
    expect(screen.page.get_by_text("Nothing recorded yet.")).to_have_count(3)


def test_while_the_server_runs_queues_are_sampled(visit, client, lab):
    visit("user:obi", "/ui/")
    hour = datetime.now(UTC) - timedelta(hours=1)
    until(lambda: client.queue_samples("sequencing", since=hour))
