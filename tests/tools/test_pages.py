"""HTML as text: what a reader sees of a page, from any page, in time that grows with its length alone."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rightcall.tools.web import read_html
from support.every import every
from support.pace import process_time

pytestmark = pytest.mark.promise("X-82")

URL = "https://example.org/docs/page.html"
CASES = {
    "<p>a</p><p>b": "a\n\nb",
    "a<br>b<br/>c": "a\nb\nc",
    "<h1>One</h1>two<h3>Three</h3>": "# One\ntwo\n\n### Three",
    "<ul><li>a</li><li>b<li>c</ul>": "- a\n- b\n- c",
    "<table><tr><th>a</th><td>b</td></tr><tr><td>c</td></tr></table>": "a | b |\n\nc |",
    "<pre>  a\n    b</pre>": "  a\n    b".strip(),
    "a   b\n\tc": "a b c",
    "1 &lt; 2 &amp; 3 &#65; &nbsp;x": "1 < 2 & 3 A x",
    "1 < 2 <3 <": "1 < 2 <3 <",
    '<a href="x.html">A <b>link</b></a>': "[A link](https://example.org/docs/x.html)",
    "<a href='//other.org/a(1)'>x</a>": "[x](https://other.org/a%281%29)",
    '<a href="javascript:alert(1)">x</a><a href="#top">y</a><a>z</a><a href="">w</a>': "xyzw",
    '<a href="data:text/html,x">x</a> <a href="mailto:a@b.c">m</a> <a href="http://[">i</a>': "x m i",
    '<a title="1 > 0" href=y>x</a>': "[x](https://example.org/docs/y)",
    "<div data-x='a > \"b\"'>c</div>": "c",
    '<img alt="A cat" src=x><img src=y>': "[image: A cat]",
    "<script>x<y</script>a<style>p{}</style>b<SCRIPT>c</Script >d": "abd",
    "a<!-- <p>hidden</p> -->b<!doctype x><?php echo 1 ?>c": "abc",
    "a<script>never closed <p>b": "a",
    "a<!-- never closed <p>b": "a",
    "a<p title='never closed": "a",
    "<head><title>t</title><meta x></head><body>b": "b",
    "<head><title>t</title><body>b": "b",
    "<p hidden>no</p>yes": "yes",
    "<div HIDDEN><div>no</div>no</div>yes": "yes",
    '<div style="DISPLAY : none">no</div>yes': "yes",
    "<span style='visibility:hidden'>no</span>yes": "yes",
    '<p aria-hidden="true">no</p>yes': "yes",
    "<template>no</template><noscript>no</noscript><svg><text>no</text></svg>yes": "yes",
    "<input hidden>yes": "yes",
    "<textarea><p>no</textarea>yes": "yes",
    "<P>A</P>": "A",
    "<table><tr><td>1<td>2<tr><td>30<td>40</table>": "1 | 2 |\n30 | 40 |",
    "<table><tr><th>a<td>b<tbody><tr><td>c<table><tr><td>in</table>d</table>": "a | b |\nc\n\nin |\n\nd",
    "<table><tr><td>1<td hidden>no<b>no</b><td>2<tr hidden><td>no<td>no<tr><td>3</table>4": "1 | 2 |\n3 |\n\n4",
    "<table><tr><td hidden>no<table><tr><td>no</table>no<td>1</table>": "1 |",
    "<table><tbody hidden><tr><td>no<tbody><tr><td>1</table>": "1 |",
    "<!doctype html><head><title>T</title><p>Hello": "Hello",
    "<head hidden><meta x><link y><style>no</style><template><p>no</p></template>Hello": "Hello",
    "<p hidden>x<p>Visible price 5<p>More": "Visible price 5\n\nMore",
    "<p>5<p hidden>no</p>0": "5\n\n0",
    "<p hidden>no<b>no</b><p hidden>no<h2>yes</h2>": "## yes",
    "<div><p hidden>no</div>yes": "yes",
    "<ul><li hidden>x<li>y</ul><p>rest": "- y\n\nrest",
    "<ul><li hidden>no<ul><li>no<li>no</ul>no</ul><p>rest": "rest",
    "<ol><li hidden>no</li><li>y</ol>": "- y",
    "<dl><dt hidden>no<dd>d<dd hidden>no<dl><dt>no</dl>no</dl>e": "d\n\ne",
    "<datalist><option hidden>no<option>y</datalist>z": "yz",
    "<!-->Visible<p>a <!-- c --> b": "Visible\n\na  b",
    "<!--->a<!---->b<!-- > --!>c<!--!>no-->d": "abcd",
}


@every("html", sorted(CASES))
def test_a_page_reads_as_it_looks(html: str) -> None:
    assert read_html(html, URL).text == CASES[html]


def test_the_title_and_the_main_part_are_found() -> None:
    main = "word " * 60
    page = read_html(f"<title>A\n &amp; B</title><title>no</title><nav>menu</nav><main>{main}</main><footer>f", URL)
    assert (page.title, page.text) == ("A & B", main.strip())
    assert read_html("<nav>menu</nav><main>little</main>", URL).text == "menu\n\nlittle"


@given(st.text(alphabet="<>/!-a=\"' &;#hiddenscript\n", max_size=200))
def test_whatever_the_page_there_is_a_text(html: str) -> None:
    page = read_html(html, URL)
    assert page.text == page.text.strip()
    assert "<script" not in page.text.lower() or "<script" in html.lower()


PIECES = (
    "<", "<a", '<a"', "<a '\"", "<!--", "<!", "<script>", "<div>", "<div hidden>", "&", "&#9", "<a href=x>", "</a>",
    "<a href=x>y</a>", "<p>", " ", "<title>", "<main>", "</main>", "<svg/>", "<a " + "x " * 50, "<![CDATA[", "\n ", "x",
    "<p hidden>", "<ul><li hidden>", "<table><td>", "<td hidden><table>", "<!-->", "<!--->", "--!", "<head>",
)  # fmt: skip


def seconds_for(html: str) -> float:
    began = process_time()
    read_html(html, URL)
    return process_time() - began


@every("piece", PIECES)
def test_the_time_grows_with_the_length_and_not_with_its_square(piece: str) -> None:
    """Twenty times as much takes less than eighty times as long; the square would be four hundred."""
    small, large = piece * (2_000 // len(piece)), piece * (40_000 // len(piece))
    # of three turns one, as the garbage collector may come into any of them
    assert any(seconds_for(large) < 80 * max(seconds_for(small), 0.001) for _ in range(3))


def test_links_in_links_take_no_longer() -> None:
    assert seconds_for("<a href=x>" * 2000 + "y" * 50_000 + "</a>" * 2000) < 1
