"""Votes from elsewhere, added on the lead's page in a real browser."""

import httpx

from .test_lead_page import fill
from .test_pages import browser, page, pytestmark  # noqa: F401 - fixtures


def test_a_file_of_votes_is_added_on_the_page(page, start, tmp_path):  # noqa: F811
    server, good, bad = start(), tmp_path / "votes.csv", tmp_path / "bad.csv"
    good.write_text("left,right,winner,voter\ni0,i1,left,ann\ni2,i3,left,bob\n")
    bad.write_text("left,right,winner\ni0,i1,nobody\n")
    with httpx.Client(base_url=server.address) as client:
        fill(client, 1)
        page.goto(f"{server.address}/models/teas")
        page.wait_for_selector("#manage:not([hidden])")
        page.set_input_files("#votes", good)
        page.wait_for_function("() => document.querySelector('#voted').textContent === '2 votes read, 2 learnt.'")
        page.set_input_files("#votes", bad)
        page.wait_for_function("() => document.querySelector('#problem').textContent.includes('nobody')")
        assert client.get("/v1/models/teas").json()["summary"]["voters"].keys() >= {"ann", "bob"}
    assert page.problems == []
