"""Cards in a real browser: Markdown, code, pictures and labels, from texts that would like to do harm."""

import json
import struct
import zlib

import httpx
import pytest

from .test_pages import READY, after, browser, page, pytestmark  # noqa: F401 - fixtures

MARKDOWN = """# A *pot*

Some **bold**, `code <b>`, ~~gone~~ and [a link](https://example.org/a_(b) "title"), snake_case_word, 2 * 3 * 4.

1. one
2. two
   - inner
   - ***both***

> quoted

```html
<script>document.title = "owned"</script>
```

| a | b |
|---|---|
| 1 | **2** |

---
"""
EVIL = [
    "[fine](https://example.org/) and [here](/docs)",
    "<script>document.title='owned'</script>",
    "<img src=x onerror=\"document.title='owned'\">",
    "[x](javascript:document.title='owned')",
    "[x](JaVaScRiPt:document.title='owned')",
    "[x](\tjavascript:document.title='owned')",
    "[x](data:text/html,<script>alert(1)</script>)",
    "[x](vbscript:msgbox)",
    "![x](http://elsewhere.invalid/x.png)",
    "[![x](https://elsewhere.invalid/x.png)](javascript:alert(1))",
    '[x](https://example.org/" onclick="document.title=1)',
    "<https://example.org> <a href='javascript:alert(1)'>a</a>",
    "<style>body{display:none}</style><svg onload=alert(1)>",
    "`` ` `` **unclosed _and *more [open](",
    "\\*plain\\* &lt;b&gt; &#x6a;avascript:",
]
LONG = [
    "*" * 50_000,
    "[" * 50_000,
    "`" * 49_999,
    "> " * 20_000,
    "- " * 20_000,
    " " * 100_000 + "x",
    "| " * 30_000,
    "# " + " " * 100_000 + "x #",
]


def png(width, height):
    raw = b"".join(b"\0" + bytes((200, y % 256, 90)) * width for y in range(height))

    def part(name, data):
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    head = part(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))
    return b"\x89PNG\r\n\x1a\n" + head + part(b"IDAT", zlib.compress(raw)) + part(b"IEND", b"")


def pool(server, name, items, images=(), **settings):
    with httpx.Client(base_url=server.address) as client:
        assert client.post("/v1/models", json={"name": name, "algorithm": "gnr", **settings}).status_code == 201
        for file, data in images:
            assert client.post(f"/v1/models/{name}/images?file={file}", content=data).is_success
        reply = client.post(f"/v1/models/{name}/items", content="\n".join(map(json.dumps, items)).encode())
        assert reply.is_success, reply.text


def enter(page, server, name):  # noqa: F811
    page.goto(f"{server.address}/pick/{name}")
    page.wait_for_function(f"() => document.querySelector('#who').open || ({READY})()")
    if page.is_visible("#voter"):
        page.fill("#voter", "Ann")
        page.click("#who button")
    page.wait_for_function(READY)


def card(page, word):  # noqa: F811
    """The card that speaks of this."""
    return page.locator(".choice .text", has_text=word)


def test_markdown_is_rendered_by_name(page, start):  # noqa: F811
    server = start()
    pool(
        server,
        "m",
        [
            {"id": "a", "text": MARKDOWN, "prompt": "a **pot**?"},
            {"id": "b", "text": "no *pot*", "prompt": "a **pot**?"},
        ],
        format="markdown",
    )
    enter(page, server, "m")
    one = card(page, "snake_case_word, 2 * 3 * 4.")
    found = {
        tag: one.locator(tag).all_inner_texts()
        for tag in (
            "h3",
            "h3 em",
            "p strong",
            "p code",
            "del",
            "ol > li > ul > li",
            "li strong em",
            "blockquote p",
            "pre code",
            "th",
            "td strong",
        )
    }
    assert found == {
        "h3": ["A pot"], "h3 em": ["pot"], "p strong": ["bold"], "p code": ["code <b>"], "del": ["gone"],
        "ol > li > ul > li": ["inner", "both"], "li strong em": ["both"], "blockquote p": ["quoted"],
        "pre code": ['<script>document.title = "owned"</script>'], "th": ["a", "b"], "td strong": ["2"],
    }  # fmt: skip
    link = one.locator("a")
    assert link.get_attribute("href") == "https://example.org/a_(b)"
    assert {*link.get_attribute("rel").split()} >= {"noopener", "noreferrer"}
    assert one.locator("hr").count() == 1
    assert page.inner_text("#context strong") == "pot"
    assert page.problems == []


def test_nothing_of_a_text_runs_or_is_fetched(page, start):  # noqa: F811
    server = start()
    fetched = []
    page.on("request", lambda request: fetched.append(request.url))
    page.on("dialog", lambda dialog: page.problems.append(dialog.message))
    texts = ["\n\n".join(EVIL), "\n\n".join(reversed(EVIL))]
    items = [
        {"id": f"i{k}", "text": text, "label": EVIL[2], "meta": {EVIL[2]: EVIL[1]}} for k, text in enumerate(texts)
    ]
    for style in ("markdown", "plain", "code"):
        pool(server, style, items, format=style, question=EVIL[2])
        enter(page, server, style)
        assert "owned" not in page.title()
        inside = ".choice .text :is(script, style, img, svg, iframe, object, [onclick], [onerror], [onload], [style])"
        assert page.locator(inside).count() == 0
        links = page.eval_on_selector_all(".choice .text a", "(all) => all.map((one) => one.protocol)")
        assert {*links} <= {"https:", "http:"}
        assert (style == "markdown") == bool(links)
        assert "<script>document.title='owned'</script>" in page.locator(".choice .text").first.inner_text()
    assert [url for url in fetched if not url.startswith(server.address)] == []
    assert page.problems == []


def test_a_long_text_of_marks_does_not_hold_the_page(page, start):  # noqa: F811
    """What took a time that grows with the square of its length would not come back before the page's time is over."""
    server = start()
    page.goto(server.address)
    read = """async (texts) => {
      const { markdown } = await import("/static/markdown.js");
      return texts.map((text) => markdown(text).length);
    }"""
    assert min(page.evaluate(read, LONG)) > 0
    assert page.problems == []


def test_plain_texts_stay_plain(page, start):  # noqa: F811
    server = start()
    pool(server, "m", [{"id": "a", "text": "# not *a* heading"}, {"id": "b", "text": "**b**", "format": "markdown"}])
    enter(page, server, "m")
    assert card(page, "# not *a* heading").evaluate("(one) => one.children.length") == 0
    assert page.locator(".choice .text strong").all_inner_texts() == ["b"]


@pytest.mark.parametrize("width", [320, 1280])
def test_pictures_labels_and_meta_are_shown(page, start, width):  # noqa: F811
    server = start()
    page.set_viewport_size({"width": width, "height": 800})
    items = [
        {
            "id": "a",
            "image": "a.png",
            "label": "Blue",
            "features": {"size": 2},
            "meta": {"by": "Ann", "tags": ["x", "y"]},
        },
        {"id": "b", "image": "/static/none.png", "label": "Red", "features": {"size": 1}},
    ]
    pool(server, "m", items, images=[("a.png", png(640, 480))])
    enter(page, server, "m")
    blue = card(page, "Blue")
    page.wait_for_function(
        "() => [...document.querySelectorAll('.choice img')].some((one) => one.naturalWidth === 640)"
    )
    assert blue.locator("img").get_attribute("alt") == "Blue"
    assert "x, y" in blue.inner_text()
    page.wait_for_function("() => document.body.innerText.includes('The picture cannot be shown.')")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.problems == []


def test_the_start_page_warns_of_large_numbers(page, start):  # noqa: F811
    page.goto(start().address)
    table = b"id,brand,price\na,x,349.5\nb,y,12\n"
    page.set_input_files("#file", {"name": "pots.csv", "mimeType": "text/csv", "buffer": table})
    page.click("form button.primary")
    page.wait_for_selector("#made:not([hidden])")
    assert "The numbers of “price” are large" in page.inner_text("#made")


def test_the_start_page_says_what_became_of_a_file(page, start):  # noqa: F811
    server = start()
    page.goto(server.address)
    table = b"id,Review,stars,label\na,good tea,3,A\nb,bad tea,2,B\nc,,1,\n"
    page.set_input_files("#file", {"name": "teas.csv", "mimeType": "text/csv", "buffer": table})
    page.click("form button.primary")
    page.wait_for_selector("#made:not([hidden])")
    told = page.inner_text("#made")
    for line in (
        "“teas” has 2 items",
        "“Review”",
        "not learnt: “label”",
        "Not used: “stars”",
        "One row without a text",
    ):
        assert line in told
    page.click("#made button")
    page.wait_for_selector("#form:not([hidden])")
    assert httpx.get(f"{server.address}/v1/models").json()["models"] == []
    page.click("form button.primary")
    page.wait_for_selector("#made:not([hidden])")
    page.click("#made a")
    page.wait_for_url("**/pick/teas")
    assert page.problems == []


def test_pictures_alone_become_items(page, start):  # noqa: F811
    server = start()
    page.goto(server.address)
    files = [{"name": f"pot {k}.png", "mimeType": "image/png", "buffer": png(20 + k, 20)} for k in range(3)]
    page.set_input_files("#file", files)
    assert page.inner_text("#chosen") == "pictures.jsonl and 3 pictures"
    page.click("form button.primary")
    page.wait_for_url("**/pick/pictures")
    page.fill("#voter", "Ann")
    page.click("#who button")
    after(page, 0)
    page.wait_for_function(
        "() => [...document.querySelectorAll('.choice img')].filter((one) => one.naturalWidth).length === 2"
    )
    page.keyboard.press("1")
    after(page, 1)
    assert page.problems == []
