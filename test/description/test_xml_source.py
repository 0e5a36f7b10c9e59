# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""XML from untrusted sources: refusals before any of it is used."""

import pytest

from robot_dynamics.description.diagnosis import DescriptionError, Diagnosis
from robot_dynamics.description.xml_source import parse_xml

BOMB = """<?xml version="1.0"?>
<!-- <!DOCTYPE in a comment is harmless> -->
<!DOCTYPE robot [
<!ENTITY a "aaaaaaaaaa">
<!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;">
<!ENTITY c "&b;&b;&b;&b;&b;&b;&b;&b;&b;&b;">
]>
<robot name="&c;"/>
"""


def test_a_document_and_its_lines_are_returned():
    """A plain document passes, in UTF-8, with a byte-order mark, in UTF-16 or declared Latin-1."""
    text = '<?xml version="1.0"?>\n<!-- note -->\n<robot name="ä"/>\n'
    latin = text.replace('"1.0"', '"1.0" encoding="ISO-8859-1"')
    for data in (
        text.encode(),
        text.encode("utf-8-sig"),
        text.encode("utf-16"),
        latin.encode("latin-1"),
    ):
        root, lines = parse_xml(data, "f.urdf", Diagnosis())
        assert root.get("name") == "ä"
        assert lines[2] == '<robot name="ä"/>'


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (BOMB, r"f\.urdf:3.*DOCTYPE"),
        (BOMB.replace("DOCTYPE robot", "doctype robot"), r"f\.urdf:3.*DOCTYPE"),
        ('<!DOCTYPE robot SYSTEM "http://nowhere/x.dtd"><robot/>', r"f\.urdf:1.*DOCTYPE"),
        ("<robot>&a;</robot>", "f.urdf:1: is not well-formed"),
        ("", "f.urdf:1: is empty"),
        (" \n ", "f.urdf:1: is empty"),
        ("junk", "f.urdf:1: is not XML"),
        ("<!-- open\n <robot/>", r"f\.urdf:2"),
        ("<robot>\n<link>\n</robot>", r"f\.urdf:3.*\b2\b"),
        ("<robot>\n<link name='a'>", r"f\.urdf:2"),
        ("<robot/>\n<robot/>", r"f\.urdf:2"),
        ("<robot a='1' a='2'/>", "f.urdf:1: is not well-formed"),
        ("<sdf version='1.6'/>", r"f\.urdf:1.*<robot>.*<sdf>"),
        ("<robot>\x00</robot>", "f.urdf:1: is not well-formed"),
        ("<robot>" + "<a>" * 5000, "f.urdf:1: is not well-formed"),
    ],
)
def test_text_that_is_no_document_is_refused_with_its_line(data, message):
    """Entities, other formats and malformed text are one located sentence."""
    with pytest.raises(DescriptionError, match=message) as caught:
        parse_xml(data.encode(), "f.urdf", Diagnosis())
    assert len(str(caught.value).splitlines()) == 1


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b'<?xml version="1.0"?>\n<robot name="\xe4"/>', r"f\.urdf:2.*0xe4.*UTF-8"),
        (b'<?xml version="1.0" encoding="UTF-7"?><robot/>', r"f\.urdf:1.*'UTF-7'"),
        (b'<?xml version="1.0" encoding="klingon"?><robot/>', "f.urdf:1: encoding 'klingon'"),
        (b'<?xml version="1.0" encoding="ascii"?>\n<robot a="\xe4"/>', r"f\.urdf:2"),
        (b"\xff\xfe\x00", r"f\.urdf:1.*utf-16"),
    ],
)
def test_wrong_encodings_are_refused_with_the_line(data, message):
    """Text that is not in its encoding, or in one that could hide a declaration, is refused."""
    with pytest.raises(DescriptionError, match=message):
        parse_xml(data, "f.urdf", Diagnosis())


def test_junk_is_answered():
    """Eight megabytes of junk, of open tags or of spaces are refused."""
    for junk in (b"x" * 2**23, b"<robot>" + b"<a>" * 2**21, b" " * 2**23, b"<!--" * 2**20):
        with pytest.raises(DescriptionError):
            parse_xml(junk, "f.urdf", Diagnosis())
