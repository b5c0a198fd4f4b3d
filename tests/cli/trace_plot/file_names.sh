# SPDX-License-Identifier: MIT
# What the name of the file holds can break no picture and no page: SVG is XML 1.0, HTML is UTF-8.
python3 - "$TESTDATA/good/true_oom.pickle" <<'END'
import os, subprocess, sys, xml.dom.minidom

memtool = os.environ["MEMTOOL"]
NAMES = {"lone byte": b"bad\xff.pickle", "ESC": b"bad\x1b[31m.pickle", "^A": b"bad\x01.pickle",
         "U+FFFE": b"bad\xef\xbf\xbe.pickle", "surrogate": b"bad\xed\xa0\x80.pickle",
         "markup": b"bad<&\">.pickle", "cut": b"bad\xe2\x80.pickle"}
VERBS = [["trace_plot"], ["segment_plot"], ["peak"], ["memory"], ["segments"]]

def draw(verb, name, to):
    subprocess.run([memtool, *verb, name, "-f", "-o", to], check=True)
    with open(to, "rb") as picture:
        return picture.read()


for what, name in NAMES.items():
    os.symlink(sys.argv[1], name)
    for verb in VERBS:
        svg = draw(verb, name, "out.svg").decode()
        root = xml.dom.minidom.parseString(svg).documentElement
        if verb[0].endswith("plot"):
            print(what, verb[0], ascii(root.getAttribute("aria-label")))
            assert draw(verb, name, "out.pdf").startswith(b"%PDF")
    page = draw(["trace_plot"], name, "out.html").decode()
    title = page[page.index("<title>") + 7:page.index("</title>")]
    assert not [c for c in page if ord(c) < 32 and c not in "\n\t"], what
    print(what, "page", ascii(title))
END
