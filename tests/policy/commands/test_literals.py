"""Names of files that code puts together, looks for or hides."""

from pathlib import Path

import pytest

from rightcall.policy.commands.literals import hides_name, join_literals
from rightcall.policy.commands.words import HOLE
from support.command_lines import Desk
from support.every import every
from support.pace import process_time

pytestmark = pytest.mark.promise("P-16")


@every(
    ("program", "code", "whole"),
    [
        ("node", """read("a" + 'b' + `c`)""", "read('abc')"),
        ("node", "read(`a/${'b' + 'c'}.md`)", "read('a/bc.md')"),
        ("node", "read(`a/${name}.md`)", f"read('a/{HOLE}.md')"),
        ("node", "read('a/' + names[0] + '.md')", f"read('a/{HOLE}.md')"),
        ("node", "read('a/' + name() + '.md')", f"read('a/{HOLE}.md')"),
        ("node", "read(['a', 'b'].join('/'))", "read('a/b')"),
        ("node", "read(String.fromCharCode(97, 0x62))", "read('ab')"),
        ("node", "read('a'.concat('b', 'c'))", "read('abc')"),
        ("node", "const x = 'a', y = 'b'; read(x + y)", "const x = 'a', y = 'b'; read('ab')"),
        ("node", "let x = 'a'; x = f(); read(x + 'b')", f"let x = 'a'; x = f(); read('{HOLE}b')"),
        ("node", "read('xyz'.slice(1, 2).toUpperCase())", "read('Y')"),
        ("node", "read('cba'.split('').reverse().join(''))", "read('abc')"),
        ("node", "read(Buffer.from('YWI=', 'base64').toString())", "read('ab')"),
        ("node", "read('axb'.replace('x', '/'))", "read('a/b')"),
        ("node", "read(path.join('a', 'b'))", "read('a/b')"),
        ("node", r"read('\x61\u0062')", "read('ab')"),
        ("ruby", 'read("a#{"b"}c")', "read('abc')"),
        ("ruby", 'read("%sb" % "a")', "read('ab')"),
        ("ruby", "read([97, 98].pack('c*'))", "read('ab')"),
        ("ruby", "read(97.chr + 'b')", "read('ab')"),
        ("perl", "open F, join('', 'a', 'b')", "open F, 'ab'"),
        ("perl", "open F, chr(97).'b'", "open F, 'ab'"),
        ("perl", 'open F, "a$x"', f"open F, 'a{HOLE}'"),
        ("php", "readfile(implode('', ['a', 'b']))", "readfile('ab')"),
        ("php", "readfile(strrev('ba').str_replace('x', 'c', 'x'))", "readfile('abc')"),
        ("php", "readfile(sprintf('%s/%s', 'a', 'b'))", "readfile('a/b')"),
        ("lua", 'open("a" .. "b")', "open('ab')"),
        ("node", "plain(1 + 2)", "plain(1 + 2)"),
    ],
)
def test_texts_are_put_together_as_the_code_would(program: str, code: str, whole: str) -> None:
    assert join_literals(program, code) == whole


REFUSED = (
    """node -e 'console.log(require("fs").readFileSync("secrets" + ".yaml", "utf8"))'""",
    """node -e 'require("fs").writeFileSync(["rightcall", "toml"].join("."), "")'""",
    """node -e 'let n = "secrets"; console.log(fs.readFileSync(`${n}.yaml`))'""",
    """node -p 'fs.readFileSync(atob("c2VjcmV0cy55YW1s"))'""",
    """node -p 'fs.readFileSync([105, 100, 95, 114, 115, 97].map(c => String.fromCharCode(c)).join(""))'""",
    """node -p 'fs.readFileSync(String.fromCharCode(...[105, 100, 95, 114, 115, 97]))'""",
    """python -c "n = 'id_'; n += 'rsa'; print(open(n).read())" """,
    """ruby -e 'puts IO.read("sec" + "rets.yaml")'""",
    """perl -e 'open F, "sec"."rets.yaml"; print <F>'""",
    """php -r 'echo file_get_contents("se"."crets.yaml");'""",
    """python -c "print(open('%s.yaml' % 'secrets').read())" """,
    """python -c "print(open('{}.{}'.format('secrets', 'yaml')).read())" """,
    """python -c "n = 'secrets'; print(open(f'{n}.yaml').read())" """,
    """python -c "print(open(bytes([105, 100, 95, 114, 115, 97]).decode()).read())" """,
    """python -c "print(open(''.join(map(chr, [105, 100, 95, 114, 115, 97]))).read())" """,
    """python -c "import base64; print(open(base64.b64decode('aWRfcnNh').decode()).read())" """,
    """python -c "print(open('my_id_rsa'[3:]).read())" """,
    """python -c "print(open('ID_RSA'.lower()).read())" """,
    """python -c "import glob; [print(open(f).read()) for f in glob.glob('sec*.yaml')]" """,
    """python -c "from pathlib import Path; [print(p.read_text()) for p in Path('.').glob('secr*')]" """,
    """ruby -e 'Dir.glob("secr*").each { |f| puts File.read(f) }'""",
)
ASKED = (
    """node -e 'fs.readFileSync([1, 2].map(c => String.fromCharCode(c + 45)).join(""))'""",
    """node -e 'fs.readFileSync(codes.map(c => String.fromCharCode(c)).join(""))'""",
    """python -c "print(open(''.join(chr(n - 1) for n in [47, 102])).read())" """,
    """python -c "import codecs; print(open(codecs.decode('.rai', 'rot13')).read())" """,
    """python -c "import sys; print(open('.n' + sys.argv[1] + 'trc').read())" e""",
    """python -c "import os; [print(open(f).read()) for f in os.listdir('.') if f.startswith('.e')]" """,
    """node -e 'for (const f of fs.readdirSync(".")) if (f.startsWith(".e")) console.log(fs.readFileSync(f))'""",
    """python -c "from pathlib import Path; Path('src').rename('/tmp/src')" """,
    """python -c "import pathlib as p; a = p.Path('src'); a.replace('/tmp/src')" """,
    """python -c "from pathlib import Path; [p.rename('/tmp/x') for p in Path('src').iterdir()]" """,
)
PASSED = (
    """python -c "import json, sys; print(json.load(open(sys.argv[1])))" a.json""",
    """node -e 'console.log(require("./package.json").version)'""",
    """python -c "print(open('README.md').read())" """,
    """python -c "import glob; print(sum(len(open(f).read()) for f in glob.glob('**/*.py')))" """,
    """python -c "import glob; print(glob.glob('*'))" """,
    """python -c "import os; print([f for f in os.listdir('.') if not f.startswith('.')])" """,
    """python -c "import sys; name = sys.argv[1]; print(open(name + '.log').read())" app""",
    """python -c "import sys; end = '.' + sys.argv[1]; print([f for f in sys.argv if f.endswith(end)])" py""",
    """python -c "from pathlib import Path; p = Path('a.md'); p.write_text(p.read_text().replace('a', 'b'))" """,
    """python -c "import pandas as pd; print(pd.read_csv('a.csv').rename(columns={'a': 'b'}))" """,
    """python -c "for n in range(3): open(f'out/{n}.txt', 'w').write('x')" """,
    """python -c "print('%s is %d' % ('a', 3), '{:>10}'.format('x'), 'a' * 3)" """,
    """python -c "import base64; print(base64.b64decode(open('a.b64').read()))" """,
    """node -e 'const fs = require("fs"); console.log(JSON.parse(fs.readFileSync("a.json")).name + "\\n")'""",
    """node -e 'console.log(fs.readFileSync(process.argv[1] + "/a.json", "utf8"))' out""",
    """node -e 'console.log(Buffer.from(fs.readFileSync("a.b64", "utf8"), "base64").toString())'""",
    """node -p 'fs.readFileSync("a.png", "base64").length'""",
    """node -p '[1, 2].map(n => "n" + n).join(", ")'""",
    """node -e 'fs.readdirSync(".").filter(f => f.endsWith(".md")).forEach(f => console.log(fs.readFileSync(f)))'""",
    """ruby -e 'puts "Ruby #{RUBY_VERSION}"; Dir.glob("lib/*.rb").each { |f| puts File.read(f).size }'""",
    """perl -ne 'print "$.: $_" if /TODO/' README.md""",
    """php -r 'echo "PHP ".PHP_VERSION."\\n";'""",
)


def test_a_name_that_code_makes_is_judged_and_one_that_it_hides_asks(tmp_path: Path) -> None:
    for name in ("secrets.yaml", ".env", "README.md", "src/app.py"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("x\n")
    desk = Desk(tmp_path)
    wanted = {**dict.fromkeys(REFUSED, "deny"), **dict.fromkeys(ASKED, "ask"), **dict.fromkeys(PASSED, "allow")}
    try:
        assert {line: desk.judge(line)[0] for line in wanted} == wanted
    finally:
        desk.door.close()


@every(
    "code",
    ["'a'+" * 4_000 + "'a'", "`${" * 6_000, '"#{' * 6_000, "['a'].join(" * 1_800, "x='a';" * 3_000, "'a'+b+" * 2_500,
     "chr(97)." * 2_400, "'" + "\\" * 19_000, "join('a'," * 2_000, "'a'.replace('a','aa')" + ".replace('a','aa')" * 900,
     "a." * 9_000 + "+", "(" * 9_000 + "'a'" + ")" * 9_000, "open([" * 3_000, "open(" + "[a]" * 6_000],
)  # fmt: skip
def test_hostile_code_is_put_together_in_little_time(code: str) -> None:
    started = process_time()
    hides_name(join_literals("node", code))
    assert process_time() - started < 2
