# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Malformed descriptions: for each a name, the bytes of the file, and words of the error.

A `None` for the line says that none can be named; otherwise it is the line's number, or words that
stand in the line, the first that has them.
"""

from __future__ import annotations

import codecs

from description.urdf_texts import ARM, INERTIAL

_MEGABYTE = 2**20
_ROTOR = (
    '<transmission name="t"><type>SimpleTransmission</type><joint name="elbow"/>'
    '<actuator name="m">'
    "<rotorInertia>{}</rotorInertia><mechanicalReduction>{}</mechanicalReduction></actuator>"
    "</transmission>"
)
_LOOP = '<loop_joint name="l" type="fixed"><link1 link="upper"/><link2 link="{}"/></loop_joint>'


def _arm(old: str, new: str) -> bytes:
    assert old in ARM, old
    return ARM.replace(old, new, 1).encode()


def _more(text: str) -> bytes:
    return ARM.replace("</robot>", text + "\n</robot>").encode()


def _doctype(declarations: str, use: str = "") -> bytes:
    return (
        f'<?xml version="1.0"?>\n<!DOCTYPE robot [{declarations}]>\n<robot>{use}</robot>'.encode()
    )


def _bomb() -> bytes:
    entities = '<!ENTITY a0 "ha">' + "".join(
        f'<!ENTITY a{i} "{f"&a{i - 1};" * 10}">' for i in range(1, 12)
    )
    return _doctype(entities, '<link name="&a11;"/>')


def chain_without_mass(count: int) -> bytes:
    """Return a chain of joints that move nothing."""
    joint = (
        '<joint name="j{0}" type="continuous"><parent link="l{0}"/><child link="l{1}"/></joint>'
    )
    text = "".join(f'<link name="l{i}"/>' for i in range(count + 1))
    text += "".join(joint.format(i, i + 1) for i in range(count))
    return f"<robot>{text}</robot>".encode()


_BOX = '<geometry><box size="1 1 1"/></geometry>'
_MESH = '<visual><geometry><mesh filename="a.stl" scale="{}"/></geometry></visual>'


def _tool(shapes: str) -> bytes:
    return _arm('<link name="tool"/>', f'<link name="tool">{shapes}</link>')


_FIXED = '<joint name="{0}" type="fixed"><parent link="{1}"/><child link="{2}"/></joint>'

#: name: (contents, line or words in it, words of the error)
URDF: dict[str, tuple[bytes, int | str | None, str]] = {
    # not XML at all
    "empty": (b"", 1, "is empty"),
    "blank": (b" \n\t\n", 1, "is empty"),
    "only a byte-order mark": (codecs.BOM_UTF8, 1, "is empty"),
    "10 MB of junk": (bytes(range(256)) * (40 * 1024), None, "is larger than 8 MiB"),
    "7 MB of junk": (bytes(range(256)) * (28 * 1024), "", "not UTF-8"),
    "10 MB of blanks": (b" " * 10 * _MEGABYTE, None, "is larger than 8 MiB"),
    "7 MB of letters": (b"a" * 7 * _MEGABYTE, 1, "is not XML"),
    "7 MB in a name": (
        _arm('"tool"', f'"{"a" * 7 * _MEGABYTE}"'), 5, "name has 7340032 characters",
    ),
    "json": (b'{"robot": "arm"}', 1, "is not XML, expected <robot>"),
    "yaml": (b"robot:\n  name: arm\n", 1, "is not XML"),
    "a picture": (b"\x89PNG\r\n\x1a\n" + b"\x00" * 100, 1, "is not UTF-8"),
    "a compressed file": (b"\x1f\x8b\x08\x00" * 50, 1, "is not UTF-8"),
    # not well-formed
    "truncated in a tag": (ARM.encode()[:200], "", "not well-formed"),
    "truncated in a number": (ARM.encode()[: ARM.index("0.02") + 2], "", "not well-formed"),
    "truncated after a link": (ARM.split("<joint")[0].encode(), "", "not well-formed"),
    "crossed tags": (b"<robot>\n<link name='a'><mass>\n</link></mass></robot>", 3, "formed"),
    "two roots": (b"<robot name='a'/>\n<robot name='b'/>", 2, "not well-formed"),
    "text before the root": (b"hello\n<robot/>", 1, "is not XML"),
    "attribute without quotes": (b"<robot>\n<link name=a/></robot>", 2, "not well-formed"),
    "attribute twice": (b"<robot>\n<link name='a' name='b'/></robot>", 2, "not well-formed"),
    "open comment": (b"<robot>\n<!-- <link name='a'/></robot>", "", "not well-formed"),
    "open CDATA": (b"<robot>\n<![CDATA[<link name='a'/></robot>", "", "not well-formed"),
    "undefined entity": (b"<robot>\n<link name='&a;'/></robot>", 2, "not well-formed"),
    "undeclared prefix": (b"<robot>\n<u:link name='a'/></robot>", 2, "in the namespace 'u'"),
    "undeclared prefix and an open tag": (b"<robot>\n<u:a/><b></robot>", 2, "not well-formed"),
    "NUL inside": (_arm('"tool"', '"to\x00ol"'), "", "not well-formed"),
    "control character": (_arm('"tool"', '"to\x07ol"'), "", "not well-formed"),
    "deep nesting": (b"<robot>" + b"<link>" * 100_000, 1, "not well-formed"),
    "nesting of 300": (b"<robot>" + b"<a>" * 300 + b"</a>" * 300 + b"</robot>", 1, "depth"),
    # hostile
    "entity bomb": (_bomb(), 2, "entities are never expanded"),
    "external entity": (
        _doctype('<!ENTITY x SYSTEM "file:///etc/passwd">', "&x;"), 2, "never expanded",
    ),
    "external entity from the network": (
        _doctype('<!ENTITY x SYSTEM "http://localhost:9/x">', "&x;"), 2, "never expanded",
    ),
    "external DTD": (b'<!DOCTYPE robot SYSTEM "http://x:9/r.dtd">\n<robot/>', 1, "DOCTYPE"),
    "parameter entity": (_doctype('<!ENTITY % p SYSTEM "file:///dev/zero"> %p;'), 2, "never"),
    "lower-case doctype": (b"<!doctype robot>\n<robot/>", 1, "document type"),
    "inclusion": (
        b'<robot xmlns:xi="http://www.w3.org/2001/XInclude">\n'
        b'<xi:include href="file:///etc/passwd" parse="text"/></robot>',
        2, "inclusions of XML are never followed",
    ),
    "inclusion of 2003 deep inside": (
        _arm(
            '<link name="tool"/>',
            '<link name="tool"><v:include xmlns:v="http://www.w3.org/2003/XInclude"/></link>',
        ),
        5, "never followed",
    ),
    "60000 elements": (
        b"<robot>" + b"<link name='a'/>" * 60_000 + b"</robot>", 1, "expected at most 20000",
    ),
    "5000 links of one name": (
        b"<robot>" + b"<link name='a'/>" * 5_000 + b"</robot>", 1, "more than 1000 errors",
    ),
    # encodings
    "latin-1 unannounced": (b"<robot>\n<link name='\xe9'/></robot>", 2, "is not UTF-8"),
    "utf-16 without mark": (ARM.encode("utf-16-le"), 1, "is not"),
    "utf-16 cut in a letter": (codecs.BOM_UTF16_LE + ARM.encode("utf-16-le")[:101], 1, "utf-16"),
    "unknown encoding": (b'<?xml version="1.0" encoding="klingon"?><robot/>', 1, "'klingon'"),
    "utf-32": (ARM.encode("utf-32"), 1, "is not XML"),
    "CR line ends": (
        _arm('value="2"', 'value="x"').replace(b"\n", b"\r"), 3, "expected a number",
    ),
    "utf-7": (b'<?xml version="1.0" encoding="utf-7"?><robot/>', 1, "'utf-7' is not supported"),
    "announced ascii": (
        '<?xml version="1.0" encoding="ascii"?>\n<robot name="\u00e9"/>'.encode(), 2, "ascii",
    ),
    # something else
    "sdf": (b"<sdf version='1.7'><model/></sdf>", 1, "SDF is not read, .*with sdf2urdf"),
    "mjcf": (b"<mujoco/>", 1, "is MJCF, .*rename it"),
    "a web page": (b"<html><body>404</body></html>", 1, "this is a web page"),
    "raw xacro": (
        b'<robot xmlns:xacro="http://x">\n<xacro:property name="m" value="1"/></robot>',
        2, "expand it first",
    ),
    "links in another namespace": (
        b'<robot xmlns:u="urn:u">\n<u:link name="a"/></robot>', 2, "in the namespace 'urn:u'",
    ),
    "no links": (b"<robot name='a'/>", 1, "has no links"),
    "names of a foreign prefix only": (
        b'<u:robot xmlns:u="urn:u">\n<link name="a"/></u:robot>', 1, "has no links",
    ),
    # names and the tree
    "duplicate link": (_more('<link name="tool"/>'), 15, "already taken by line 5"),
    "duplicate joint": (_arm('name="flange"', 'name="elbow"'), 14, "already taken by line 11"),
    "link without name": (_more("<link/>"), "<link/>", "<link> has no name"),
    "blank name": (_more('<link name=" "/>'), '<link name=" "/>', "<link> has no name"),
    "unknown parent": (_arm('<parent link="upper"/>', '<parent link="uper"/>'), "elbow", "mean"),
    "circle": (_arm('<parent link="base"/>', '<parent link="tool"/>'), "shoulder", "circle"),
    "own parent": (_arm('<child link="tool"/>', '<child link="lower"/>'), "flange", "both"),
    "two parents": (_more(_FIXED.format("x", "base", "tool")), '"x"', "two parents"),
    "two trees": (_more('<link name="x"/>'), '<link name="x"/>', "second root"),
    "circle apart from the tree": (
        _more(
            '<link name="x"/><link name="y"/>'
            + _FIXED.format("p", "x", "y") + _FIXED.format("q", "y", "x")
        ),
        '"p"', "circle of links",
    ),
    # numbers
    "nan": (_arm('value="2"', 'value="nan"'), '"nan"', "expected a finite one"),
    "infinite": (_arm('xyz="0.2 0 0"', 'xyz="-inf 0 0"'), "-inf", "expected a finite one"),
    "overflow": (_arm('value="2"', 'value="1e999"'), "1e999", "expected a finite one"),
    "hexadecimal": (_arm('value="2"', 'value="0x2"'), "0x2", "expected a number"),
    "underscores": (_arm('value="2"', 'value="2_0"'), "2_0", "expected a number"),
    "decimal comma": (_arm('xyz="0.2 0 0"', 'xyz="0,2 0 0"'), "0,2", "decimal points"),
    "a unit": (_arm('value="2"', 'value="2 kg"'), "2 kg", "expected a number"),
    "a word": (_arm('value="2"', 'value="heavy"'), "heavy", "expected a number"),
    "four numbers": (_arm('"0 1 0"', '"0 1 0 0"'), '"0 1 0 0"', "expects 3 numbers, found 4"),
    "a million numbers": (
        _arm('"0.2 0 0"', '"' + "1 " * 1_000_000 + '"'), '"1 1 ', "expects 3 numbers",
    ),
    "mass of a star": (_arm('value="2"', 'value="1e300"'), "upper", "expected at most 1e\\+09"),
    "origin on a star": (_arm('"0.2 0 0"', '"1e18 0 0"'), "elbow", "expected at most 1e\\+06"),
    "negative mass": (_arm('value="2"', 'value="-2"'), "upper", "mass is -2 kg"),
    "negative moment": (_arm('ixx="0.02"', 'ixx="-0.02"'), "upper", "negative principal moment"),
    "no inertia": (_arm('<inertia ixx="0.02" ', "<other "), "upper", "has no <inertia>"),
    "no mass": (_arm('<mass value="2"/>', ""), "upper", "<inertial> has no <mass>"),
    # joints
    "no type": (_arm(' type="prismatic"', ""), "elbow", "<joint> has no type"),
    "unknown type": (_arm('"prismatic"', '"hinge"'), "hinge", "unknown joint type 'hinge'"),
    "no child": (_arm('<child link="lower"/>', ""), "elbow", "has no <child>"),
    "zero axis": (_arm('"0 1 0"', '"0 0 0"'), '"0 0 0"', "the axis is zero"),
    "mimic of nothing": (
        _arm('<axis xyz="0 1 0"/>', '<axis xyz="0 1 0"/><mimic joint="elbo"/>'),
        "shoulder", "did you mean 'elbow'",
    ),
    "mimics in a circle": (
        _arm(
            '<axis xyz="0 1 0"/>', '<axis xyz="0 1 0"/><mimic joint="elbow"/>'
        ).replace(b'xyz="0.2 0 0"/>', b'xyz="0.2 0 0"/><mimic joint="shoulder"/>'),
        "shoulder", "which in turn mimics this joint",
    ),
    "both rpy and quaternion": (
        _arm('rpy="0.1 0.2 0.3"', 'rpy="0 0 0" quat_xyzw="0 0 0 1"'), "quat_xyzw", "both rpy and",
    ),
    "3000 mimics in a circle": (
        b'<robot><link name="l"/>' + "".join(
            f'<link name="m{i}"/><joint name="j{i}" type="continuous"><parent link="l"/>'
            f'<child link="m{i}"/><mimic joint="j{(i + 1) % 3000}"/></joint>' for i in range(3000)
        ).encode() + b"</robot>",
        1, "in turn mimics this joint",
    ),
    "helical without pitch": (
        _arm('"prismatic"', '"helical"'), "elbow", "needs the parameter 'pitch' in m/rad",
    ),
    "pitch of words": (
        _arm('"prismatic"', '"helical" pitch="steep"'), "elbow", "pitch has 'steep'",
    ),
    "pitch of 1e300": (
        _arm('"prismatic"', '"helical" pitch="1e300"'), '"elbow"', "pitch is 1e\\+300",
    ),
    "damping of 1e308": (_arm('damping="0.5"', 'damping="1e308"'), '"shoulder"', "damping is 1e"),
    "gears of 1e10": (
        ARM.replace("<axis", '<mimic joint="m" multiplier="1e10"/><axis').replace(
            "</robot>",
            '<link name="end"/><joint name="m" type="continuous"><parent link="base"/>'
            '<child link="end"/></joint></robot>',
        ).encode(),
        '"shoulder"', "coefficients are 1 and 1e\\+10",
    ),
    "multiplier of 1e300": (
        _arm(
            '<axis xyz="0 1 0"/>', '<axis xyz="0 1 0"/><mimic joint="elbow" multiplier="1e300"/>'
        ),
        '"shoulder"', "coefficients are 1 and 1e\\+300",
    ),
    "rotor of 1e300": (
        _more(_ROTOR.format("1e300", "2")), '"elbow"', "armature is 4e\\+300",
    ),
    "reduction of 1e200": (_more(_ROTOR.format("1", "1e200")), '"elbow"', "armature is inf"),
    "web page": (
        b"<!DOCTYPE html><html><body>404 not found</body></html>", 1, "is HTML, expected <robot>",
    ),
    # loops
    "loop of a joint's name": (
        _more(_LOOP.format("base").replace('name="', 'name="elbow" id="')),
        "loop_joint", "already taken by the joint at",
    ),
    "loop to nowhere": (_more(_LOOP.format("hook")), "loop_joint", "unknown link 'hook'"),
    "loop on one piece": (_more(_LOOP.format("upper")), "loop_joint", "both its ends"),
    "loop of no type": (_more(_LOOP.format("base").replace("fixed", "x")), "loop_joint", "'x'"),
    "loop without radius": (
        _more(_LOOP.format("base").replace("fixed", "rack_and_pinion")),
        "loop_joint", "needs the parameter 'radius' in m",
    ),
    "loop with a pitch too many": (
        _more(_LOOP.format("base").replace('type="fixed"', 'type="fixed" pitch="1"')),
        "loop_joint", "'fixed' has no parameter 'pitch'",
    ),
    "gear of words": (
        _more(
            '<coupling name="c"><predecessor link="upper"/><successor link="lower"/>'
            '<ratio value="two"/></coupling>'
        ),
        "coupling", "expected a number",
    ),
}  # fmt: skip

_GOOD = (
    "loops:\n- name: l\n  type: fixed\n  predecessor: {link: upper}\n  successor: {link: base}\n"
)

#: Files of loop joints beside the good arm.
YAML: dict[str, tuple[bytes, int | str | None, str]] = {
    "empty": (b"", None, "expected a mapping"),
    "10 MB of junk": (b"- a\n" * (5 * 2**19), None, "is larger than 1 MiB"),
    "not text": (b"\xff\xfe\x00loops", 1, "is not UTF-8"),
    "latin-1": (_GOOD.replace("l\n", "\u00e9\n", 1).encode("latin-1"), 2, "is not UTF-8"),
    "utf-16": (_GOOD.encode("utf-16"), 1, "is not UTF-8"),
    "CR line ends": (_GOOD.replace("fixed", "fxed").replace("\n", "\r").encode(), 2, "'fxed'"),
    "anchor in itself": (b"loops: &a [*a]\n", 1, "has no anchor before it"),
    "nul": (_GOOD.encode() + b"\x00", 6, "is not allowed"),
    "2000 loops to nowhere": (
        b"loops:\n" + b"".join(
            b"- {name: l%d, type: fixed, predecessor: {link: upper}, successor: {link: x}}\n" % i
            for i in range(2000)
        ),
        "", "more than 1000 errors",
    ),
    "contradictory gears": (
        b"couplings:\n- {name: a, joint: shoulder, driver: elbow}\n"
        b"- {name: b, joint: shoulder, driver: elbow, offset: 1}\n",
        3, "contradicts 'a'",
    ),
    "helical without pitch": (
        _GOOD.replace("fixed", "helical").encode(), 2, "needs the parameter 'pitch' in m/rad",
    ),
    "pitch of words": (
        _GOOD.replace("fixed", "helical\n  parameters: {pitch: steep}").encode(),
        4, "expected a number in m/rad, not 'steep'",
    ),
    "control character": (_GOOD.replace("upper", "up\x07per").encode(), 4, "is not allowed"),
    "tabs": (_GOOD.replace("  type", "\ttype").encode(), 3, "indented with tabs"),
    "truncated": (_GOOD.encode()[:-10], "", "is not YAML"),
    "a list": (b"- loops\n", 1, "expected a mapping"),
    "two documents": ((_GOOD + "---\n" + _GOOD).encode(), 6, "second document"),
    "key twice": ((_GOOD + "loops: []\n").encode(), 6, "was already given in line 1"),
    "unknown alias": (b"loops: *all\n", 1, "has no anchor"),
    "alias bomb": (
        b"a: &a [x,x,x,x,x,x,x,x,x]\n"
        + b"".join(
            f"{chr(i + 1)}: &{chr(i + 1)} [{','.join(['*' + chr(i)] * 9)}]\n".encode()
            for i in range(ord("a"), ord("j"))
        ),
        "", "aliases expanded",
    ),
    "deep nesting": (b"loops: " + b"[" * 10_000, 1, "nested deeper"),
    "an object of Python": (b"loops: !!python/object/apply:os.system ['true']\n", 1, "tag"),
    "extends itself": (b"extends: loops.yaml\n", 1, "leads back to this file"),
    "extends nothing": (b"extends: other.yaml\n", 1, "there is no file"),
    "unknown key": (_GOOD.replace("type", "typ").encode(), 3, "did you mean 'type'"),
    "nan": (_GOOD.replace("link: base", "link: base, xyz: [0, .nan, 0]").encode(), 5, "finite"),
    "huge number": (
        _GOOD.replace("{link: base}", f"{{link: base, xyz: [0, {'9' * 400}, 0]}}").encode(),
        5, "number",
    ),
    "word for a list": (_GOOD.replace("link: base", "link: base, xyz: up").encode(), 5, "list"),
    "text for an end": (_GOOD.replace("{link: base}", "base").encode(), 5, "expected a mapping"),
    "unknown link": (_GOOD.replace("base", "bse").encode(), 5, "did you mean 'base'"),
    "unknown type": (_GOOD.replace("fixed", "weldd").encode(), 2, "unknown loop joint type"),
    "name twice": ((_GOOD + _GOOD.replace("loops:\n", "")).encode(), 6, "already taken"),
    "gear to nowhere": (
        b"couplings:\n- {name: g, joint: shoulder, driver: elbw}\n", 2, "did you mean 'elbow'",
    ),
    "loop of a joint's name": (
        _GOOD.replace("name: l", "name: elbow").encode(), 2, "already taken by the joint at",
    ),
    "frame beyond the moon": (
        _GOOD.replace("link: base", "link: base, xyz: [1e300, 0, 0]").encode(), 2, "at most 1e",
    ),
    "frame at 1e160": (
        _GOOD.replace("link: base", "link: base, xyz: [0, 1e160, 0]").encode(), 2, "at most 1e",
    ),
    "half a million digits": (
        _GOOD.replace("link: base", f"link: base, xyz: [{'9' * 500_000}, 0, 0]").encode(),
        5, "finite number, not 9{57}\\.",
    ),
    "ratio of 1e300": (
        b"couplings:\n- {name: g, joint: shoulder, driver: elbow, ratio: 1e300}\n",
        2, "coefficients are 1 and 1e\\+300",
    ),
    "gear of zeros": (
        b"couplings:\n- {name: c, terms: {shoulder: 0}}\n", 2, "all its coefficients are zero",
    ),
    "pitch of 1e300": (
        _GOOD.replace("fixed", "helical\n  parameters: {pitch: 1e300}").encode(),
        2, "pitch is 1e\\+300",
    ),
    "stiffness of 1e300": (
        _GOOD.replace("fixed", "revolute\n  stiffness: 1e300").encode(), 2, "stiffness is 1e",
    ),
    "negative damping": (
        _GOOD.replace("fixed", "revolute\n  damping: -1").encode(), 4, "at least 0",
    ),
    "extended to nowhere": (b"closed_loop: [[upper, bse]]\n", 1, "unknown link 'bse'"),
}  # fmt: skip

_GOOD_GEAR = "couplings: [{name: g, joint: shoulder, driver: elbow, ratio: 0}]\n"

#: Files that can mean a mechanism and deserve a look: for each a URDF, a file of loop joints or
#: nothing, and words of the warning.
DOUBTFUL: dict[str, tuple[bytes, bytes | None, str]] = {
    # XML that other readers tolerate
    "version 0.0": (b'<?xml version="0.0"?>' + ARM.encode(), None, "urdf:1: .* no version 1.0"),
    "a declaration behind a blank line": (
        b'\n<?xml version="1.0"?>\n' + ARM.encode(), None, "urdf:2: .* not at the start",
    ),
    "two declarations": (
        b'<?xml version="1.0"?>\n<?xml version="1.0"?>\n' + ARM.encode(), None, "urdf:2: .* sec",
    ),
    "prefix of another program": (
        _more("<gazebo>\n<sensor:camera/></gazebo>"), None, "urdf:16: .* prefix sensor on camera",
    ),
    "hyphens in a comment": (_more("<!-- a -- b -->"), None, "Double hyphen"),
    "xacro include": (
        _more('<xacro:include xmlns:xacro="http://x" filename="a"/>'), None, "was not expanded",
    ),
    "xacro property without namespace": (
        _more('<xacro:property name="a" value="1"/>'), None, "<xacro:property> was not expanded",
    ),
    "xacro inside a link": (
        _arm('<link name="tool"/>', '<link name="tool"><xacro:box/></link>'), None, "<xacro:box>",
    ),
    # what dynamics do not depend on
    "two materials": (_tool(f'<visual>{_BOX}<material name="a"/><material name="b"/></visual>'),
        None, "<material> is given twice in one <visual>, the first"),
    "two materials of one name": (
        _more('<material name="a"/><material name="a"><color rgba="1 1"/></material>'), None,
        "rgba expects 4 numbers, found 2",
    ),
    "one scale": (_tool(_MESH.format("2")), None, "found 1; the one is taken for all"),
    "four scales": (_tool(_MESH.format("1 2 3 4")), None, "found 4; the first three are taken"),
    "scale of words": (_tool(_MESH.format("a b c")), None, "<visual> is left out"),
    "negative radius": (
        _tool('<visual><geometry><sphere radius="-1"/></geometry></visual>'), None, "is negative",
    ),
    "empty geometry": (
        _tool("<collision><geometry/></collision>"), None, "<geometry> is empty.*is left out",
    ),
    "no geometry": (_tool("<visual/>"), None, "<visual> has no <geometry>"),
    # what can be meant in one way only
    "no ixy": (_arm('ixy="0"', ""), None, "<inertia> has no ixy, it is taken as zero"),
    "two equal masses": (
        _arm('<mass value="2"/>', '<mass value="2"/><mass value="2"/>'), None, "both alike",
    ),
    # kinematics alone
    "massless leaf": (
        _arm(f'name="lower">{INERTIAL}', 'name="lower">'), None, "links without inertia.*'lower'",
    ),
    "grams": (_arm('value="2"', 'value="2000"'), None, "were grams meant"),
    "millimetres": (_arm('"0.2 0 0"', '"200 0 0"'), None, "were millimetres meant"),
    "degrees in a limit": (_arm('upper="2"', 'upper="90"'), None, "were degrees meant"),
    "degrees in an orientation": (_arm('"0.1 0.2 0.3"', '"0 0 90"'), None, "were degrees meant"),
    "degrees in a loop": (
        ARM.encode(), _GOOD.replace("{link: base}", "{link: base, rpy: [0, 45, 0]}").encode(),
        r"loops\.yaml:5: .*were degrees meant",
    ),
    "degrees in a limit of a loop": (
        ARM.encode(), _GOOD.replace("fixed", "revolute\n  limits: {upper: 90}").encode(),
        r"loops\.yaml:2: .*a limit is 90 rad.*were degrees meant",
    ),
    "millimetres in a loop": (
        ARM.encode(), _GOOD.replace("{link: base}", "{link: base, xyz: [0, 45, 0]}").encode(),
        r"loops\.yaml:2: .*were millimetres meant",
    ),
    "degrees in a loop of the URDF": (
        _more(_LOOP.format("base").replace('"upper"', '"upper" rpy="0 0 90"')), None,
        "were degrees meant",
    ),
    "a gear without ratio": (ARM.encode(), _GOOD_GEAR.encode(), "the ratio is 0"),
    "a reduction of 0": (_more(_ROTOR.format("1", "0")), None, "the reduction is 0"),
    "a spring that pushes": (
        ARM.encode(), _GOOD.replace("fixed", "revolute\n  stiffness: -5").encode(), "pushes away",
    ),
    "a hinge that only pushes": (
        ARM.encode(), _GOOD.replace("fixed", "revolute\n  unilateral: true").encode(),
        "unilateral lets a revolute joint",
    ),
    "a foreign namespace": (_arm("<robot", '<robot xmlns="urn:u"'), None, "in the namespace"),
    "a foreign link": (_more('<u:link xmlns:u="urn:u" name="a"/>'), None, "it is left out"),
}  # fmt: skip
