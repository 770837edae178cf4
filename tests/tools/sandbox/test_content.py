"""What a program left in files, as one can look at it; hostile files included."""

import struct
import zlib
from base64 import b64decode, b64encode
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import to_builtins
from msgspec.json import encode

from rightcall.tools.sandbox.charts import png_size
from rightcall.tools.sandbox.program import MOST_IMAGE, MOST_TEXT, File, bytes_taken, look_into, name_only
from support.every import every

ROOM = 500_000
DC = "http://purl.org/dc/elements/1.1/"


def chunk(kind: bytes, body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))


def png(width: int = 3, height: int = 2, body: bytes = b"") -> bytes:
    head = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0))
    return b"\x89PNG\r\n\x1a\n" + head + chunk(b"IDAT", body or zlib.compress(b"\0" * 8)) + chunk(b"IEND", b"")


def test_a_text_is_its_own() -> None:
    found = look_into("a.txt", "grüße\n".encode(), ROOM)
    assert to_builtins(found) == {
        "path": "a.txt", "size": 8, "type": "text", "mediaType": "text/plain", "text": "grüße\n",
    }  # fmt: skip


def test_a_text_without_an_ending_is_plain_text() -> None:
    found = look_into("LICENSE", b"free", ROOM)
    assert (found.type, found.media_type) == ("text", "text/plain")


@every("content", [b"a\0b", b"\xff\xfe\x00", b"caf\xe9", b"ha\xc3"])
def test_what_is_no_text_is_only_named(content: bytes) -> None:
    found = look_into("x.txt", content, ROOM)
    assert (found.type, found.text, found.size) == ("binary", None, len(content))


def test_of_a_long_text_the_beginning_is_kept() -> None:
    found = look_into("a.log", b"x" * (MOST_TEXT * 2), ROOM)
    assert (len(found.text or ""), found.truncated) == (MOST_TEXT, True)


@given(st.text(), st.integers(0, 200))
def test_no_file_takes_more_room_than_it_may(text: str, room: int) -> None:
    for name in ("a.txt", "a.csv", "a.json"):
        found = look_into(name, text.encode(errors="replace"), room)
        assert len(encode(found.text or "")) - 2 <= room


def test_a_table_in_rows_is_lined_up_and_counted() -> None:
    found = look_into("people.csv", b'name,age,city\nann,3,"Bonn, Rhein"\nbartholomew,47,Ulm\n', ROOM)
    assert (found.type, found.rows, found.columns, found.media_type) == ("table", 2, 3, "text/csv")
    assert found.text == "name         age  city\nann          3    Bonn, Rhein\nbartholomew  47   Ulm"


@pytest.mark.parametrize(
    ("name", "text"), [("a.tsv", "a\tb\n1\t2\n"), ("a.csv", "a;b\n1;2\n"), ("a.csv", "a\tb\n1\t2\n")]
)
def test_other_separators_are_known(name: str, text: str) -> None:
    found = look_into(name, text.encode(), ROOM)
    assert (found.rows, found.columns, found.text) == (1, 2, "a  b\n1  2")


def test_a_json_list_of_objects_is_a_table() -> None:
    found = look_into("a.json", b'[{"a": 1, "b": [1, 2]}, {"a": null, "c": "x\\ny"}]', ROOM)
    assert (found.type, found.rows, found.columns) == ("table", 2, 3)
    assert found.text == "a     b       c\n1     [1, 2]\nnull          x\\u000ay"


@every("text", ["{}", "[]", "[1, 2]", '[{"a": 1}, 2]', '[{"a": 1}', "[" * 100_000, "nonsense"])
def test_other_json_is_text(text: str) -> None:
    assert look_into("a.json", text.encode(), ROOM).type == "text"


def test_of_a_large_table_the_first_rows_and_columns_are_shown() -> None:
    rows = "".join(",".join(f"{row}-{column}" for column in range(40)) + "\n" for row in range(1001))
    found = look_into("a.csv", rows.encode(), ROOM)
    lines = (found.text or "").split("\n")
    assert (found.rows, found.columns, len(lines)) == (1000, 40, 22)
    assert lines[0].endswith("0-11  … (28 more columns)")
    assert lines[-1] == "… (980 more rows)"


@every("content", [b"x" * 4_000_000, b"," * 4_000_000, b'"' + b"\n" * 1_000_000, b"\n" * 100_000])
def test_a_hostile_table_is_shown_in_bounds(content: bytes) -> None:
    found = look_into("a.csv", content, ROOM)
    assert bytes_taken(found) < 200_000
    assert found.size == len(content)


def test_cells_cannot_steer_a_terminal() -> None:
    found = look_into("a.csv", b"a,b\n\x1b[31mred,\xe2\x80\xaex\n", ROOM)
    assert "\x1b" not in (found.text or "")
    assert "\u202e" not in (found.text or "")


def test_a_picture_comes_whole_with_its_size() -> None:
    found = look_into("plot.png", png(640, 480), ROOM)
    assert (found.type, found.media_type, found.width, found.height) == ("image", "image/png", 640, 480)
    assert b64decode(found.data or "") == png(640, 480)


def test_a_picture_is_known_by_its_content() -> None:
    assert look_into("picture", png(), ROOM).type == "image"
    assert look_into("no.png", b"GIF89a\0", ROOM).type == "binary"


@pytest.mark.parametrize(
    "content",
    [
        png(100_000, 100_000),  # a bomb: small here, enormous when it is unpacked
        png(20_000, 1),
        png(body=b"x" * MOST_IMAGE),
    ],
)
def test_a_picture_that_is_too_large_is_only_described(content: bytes) -> None:
    found = look_into("a.png", content, ROOM)
    assert (found.type, found.data, found.truncated) == ("image", None, True)


@every(
    "content",
    [
        b"\x89PNG\r\n\x1a\n",
        png()[:-4],
        png() + b"more",
        png().replace(b"IHDR", b"IHDX"),
        png(0, 5),
        png(1 << 31, 5),
        png()[:20] + b"\xff" + png()[21:],  # a wrong checksum
        b"\x89PNG\r\n\x1a\n" + b"\xff\xff\xff\xffIHDR",
        b"\x89PNG\r\n\x1a\n" + png()[8:33] + chunk(b"IEND", b""),  # no pixels
    ],
)  # fmt: skip
def test_a_picture_that_is_none_is_not_handed_on(content: bytes) -> None:
    assert png_size(content) is None
    found = look_into("a.png", content, ROOM)
    assert (found.type, found.data) == ("binary", None)


@given(st.binary(max_size=200), st.sampled_from(["a.png", "a.csv", "a.tsv", "a.json", "a"]), st.booleans())
def test_no_content_makes_it_fail(content: bytes, name: str, signed: bool) -> None:
    found = look_into(name, b"\x89PNG\r\n\x1a\n" + content if signed else content, 100)
    assert isinstance(found, File)


def test_a_file_that_is_not_looked_into_has_its_name_and_size() -> None:
    told: dict[str, Any] = to_builtins(name_only("deep/a.PDF", 5 << 40))
    assert told == {"path": "deep/a.PDF", "size": 5 << 40, "type": "binary", "mediaType": "application/pdf"}


SVG = '<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" {head}>{body}</svg>'
PLAIN_DRAWINGS = {
    'width="10" height="20"': (10, 20),
    'width="72pt" height="36pt" viewBox="0 0 1 1"': (96, 48),
    'width="100%" height="100%" viewBox="0 0 30 40"': (30, 40),
    'viewBox="0,0,5.4,6"': (5, 6),
    'width="50" viewBox="0 0 5 6"': (50, 60),
    'height="60" viewBox="0 0 5 6"': (50, 60),
}
PLAIN_PARTS = (
    '<g><path d="M0 0L1 1" style="stroke: url(#a)"/></g>',
    '<defs><linearGradient id="a"/></defs><use xlink:href="#a"/><use href="#b"/>',
    "<style>*{stroke-linejoin: round} .a{fill:url(#x)} .b{fill:url( '#x')}</style><linearGradient id='x'/>",
    f'<image href="data:image/png;base64,{b64encode(png(3, 2)).decode()}"/>',
    '<metadata><r:RDF xmlns:r="http://www.w3.org/1999/02/22-rdf-syntax-ns#" r:resource="http://x.example"/></metadata>',
    "<text>on click url(http://x.example) @import</text><!-- a - b &amp; c -->",
)
HOSTILE_PARTS = (
    "<script>alert(1)</script>", "<SCRIPT/>", "<foreignObject/>", '<set attributeName="href" to="javascript:x"/>',
    "<animate/>", '<g onclick="x()"/>', '<g ONLOAD="x()"/>', '<a href="#a"/>', '<use href="http://x.example/a#b"/>',
    '<use xlink:href="//x.example"/>', '<image href="file:///etc/passwd"/>', '<image href="data:image/svg+xml,x"/>',
    '<image href="data:text/html;base64,AAAA"/>', '<rect style="fill:url(http://x.example)"/>',
    "<rect style=\"fill: URL( 'http://x.example')\"/>", '<rect fill="url(&#x68;ttp://x.example)"/>',
    "<style>@import 'http://x.example';</style>", "<style>@im<!-- -->port 'x'</style>", "<style>u\\72l(x)</style>",
    '<h:script xmlns:h="http://www.w3.org/1999/xhtml"/>',
    '<metadata><h:script xmlns:h="http://www.w3.org/1999/xhtml">x</h:script></metadata>',
    "<metadata><script/></metadata>", "<?xml-stylesheet href='x'?>", "<g>", "&nbsp;", '<g xml:base="http://x.example"/>',
    "<g>" * 300 + "</g>" * 300,
    # what HTML reads in another way than XML
    "<!--><img src=x onerror=alert(1)>-->", "<!-- --!><img src=x onerror=alert(1)> -->", "<!-- <script/> -->",
    "<desc><![CDATA[><img src=x onerror=alert(1)>]]></desc>", "<style><![CDATA[a{}]]></style>",
    f'<metadata><p xmlns="{DC}"><iframe srcdoc="&lt;script&gt;x&lt;/script&gt;"/></p></metadata>',
    f'<metadata xmlns:d="{DC}"><d:script>alert(1)</d:script></metadata>',
    f'<metadata><title xmlns="{DC}"><d:title xmlns:d="{DC}"/></title></metadata>',
    '<desc><image srcset="http://x.example 1x"/></desc>', "<title><style>a{}</style></title>",
    '<s:g xmlns:s="http://www.w3.org/2000/svg"/>', '<image srcset="http://x.example 1x"/>',
    # styles
    '<style>svg{background-image:image-set("http://x.example" 1x)}</style>', "<style>a{b:src('x')}</style>",
    "<rect style=\"cursor:-webkit-image-set('x' 1x)\"/>", "<rect style=\"x:image('//x.example')\"/>",
    "<style>a{fill:y('http://x.example')}</style>", '<rect fill="url(#%61)"/>', '<use href="#%61"/>',
    # too much to draw or to unpack
    "<defs>" + "".join(f'<g id="a{at}">' + f'<use href="#a{at + 1}"/>' * 10 + "</g>" for at in range(12)) + "</defs>",
    '<g id="a"><use href="#a"/></g>', '<pattern id="a"><rect fill="url(#b)"/></pattern><g id="b" mask="url(#a)"/>',
    '<pattern id="a"/><style>.a{fill:url(#a)}</style>', "<style>.a{fill:url(#a)}</style>",
    f'<image href="data:image/png;base64,{b64encode(png(30_000, 30_000)).decode()}"/>',
    f'<image href="data:image/png;base64,{b64encode(png(6_000, 6_000)).decode()}"/>' * 2,
    '<image href="data:image/png;base64,AAAA"/>', '<image href="data:image/jpeg;base64,AAAA"/>',
)  # fmt: skip


@pytest.mark.promise("X-81")
def test_an_svg_that_only_draws_is_a_picture() -> None:
    for head, size in PLAIN_DRAWINGS.items():
        for body in PLAIN_PARTS:
            text = SVG.format(head=head, body=body)
            found = look_into("a/b.SVG", text.encode(), 100_000)
            assert (found.type, found.media_type, found.text) == ("image", "image/svg+xml", text), body
            assert (found.width, found.height, found.data, found.truncated) == (*size, None, False)
    doctype = '<?xml version="1.0" encoding="utf-8"?><!DOCTYPE svg PUBLIC "-//W3C//DTD SVG 1.1//EN" "http://x.example/svg.dtd">'
    drawn = SVG.format(head='width="1" height="1"', body="")
    assert look_into("x.svg", (doctype + drawn).encode(), 100_000).type == "image"
    large = SVG.format(head='width="1" height="1"', body="<g/>" * 100_000).encode()
    found = look_into("x.svg", large, 10_000_000)
    assert (found.type, found.text, found.truncated) == ("image", None, True), "too large to be handed on"
    assert look_into("x.svg", drawn.encode(), 50).text is None, "no room is left"
    assert look_into("x.txt", drawn.encode(), 1000).type == "text"
    for sides in ('width="100000" height="100000"', 'width="20000" viewBox="0 0 1 1"', 'width="9000" height="9000"'):
        found = look_into("x.svg", SVG.format(head=sides, body="").encode(), 1000)
        assert (found.type, found.text, found.truncated) == ("image", None, True), "too many pixels"


@pytest.mark.promise("X-81")
def test_an_svg_that_could_do_more_than_draw_is_only_text() -> None:
    head = 'width="1" height="1"'
    bodies = [SVG.format(head=head, body=body) for body in HOSTILE_PARTS]
    bodies += [
        SVG.format(head="", body=""), SVG.format(head='width="0" height="5"', body=""),
        SVG.format(head='width="1e9" height="5"', body=""), SVG.format(head='width="9em" viewBox="0 0 1 1"', body=""),
        SVG.format(head='onload="x()" ' + head, body=""),
        "<html/>", "<svg/>", "", "\x00", '<svg xmlns="http://x.example" width="1" height="1"/>',
        '<!DOCTYPE svg [<!ENTITY a "b">]>' + SVG.format(head=head, body="&a;"),
        '<!DOCTYPE svg [<!ENTITY a SYSTEM "file:///etc/passwd">]>' + SVG.format(head=head, body="&a;"),
        '<!DOCTYPE svg [<!ENTITY % a SYSTEM "http://x.example"> %a;]>' + SVG.format(head=head, body=""),
        '<!DOCTYPE svg SYSTEM "><img src=x onerror=alert(1)>">' + SVG.format(head=head, body=""),
        '<!DOCTYPE svg SYSTEM "x">' + SVG.format(head=head, body='<rect fill="url&lpar;http://x.example)"/>'),
        f'<s:svg xmlns:s="http://www.w3.org/2000/svg" {head}/>',
    ]  # fmt: skip
    for text in bodies:
        found = look_into("x.svg", text.encode(), 100_000)
        assert found.type != "image", text
