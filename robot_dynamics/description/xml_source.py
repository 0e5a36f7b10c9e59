# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Reader of untrusted XML: it never fetches, expands or silently repairs anything.

Defects that change no element, and that other readers of URDF tolerate, are warnings.
"""

from __future__ import annotations

import codecs
import re
from typing import Any

from lxml import etree

from robot_dynamics.description.diagnosis import Diagnosis
from robot_dynamics.description.files import as_text, refused

_EXPECTED = "<robot> or <mujoco>"
# Text before the root element: XML declaration, instructions and comments.
_PROLOG = re.compile(r"(\s+|<\?.*?\?>|<!--.*?-->)*", re.DOTALL)
_TAG = re.compile(r"<([A-Za-z_][\w.-]*)")
_PIECE = re.compile(r"<\?.*?\?>|<!--.*?-->", re.DOTALL)
_DECLARATION = re.compile(r"<\?xml(\s[^<>]*)?\?>")
_VERSION = re.compile(r"""version\s*=\s*["']1\.[0-9]+["']""")
_PAGE = re.compile(r"<!DOCTYPE\s+html|<html[\s>]", re.IGNORECASE)
_ENCODING = re.compile(rb"\s*<\?xml[^>]{0,200}?encoding\s*=\s*[\"']([A-Za-z0-9._-]{1,40})[\"']")
_KNOWN_ENCODINGS = ("ascii", "iso8859-1", "iso8859-15", "cp1252", "utf-8")
# Errors that libxml2 tolerates without losing or changing an element.
_TOLERATED = (
    etree.ErrorTypes.NS_ERR_UNDEFINED_NAMESPACE,
    etree.ErrorTypes.ERR_HYPHEN_IN_COMMENT,
)
_MARKS = ((codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))


def parse_xml(data: bytes, name: str, diagnosis: Diagnosis) -> tuple[Any, list[str]]:
    """Return the root element of a URDF document and the lines of its text.

    Document type declarations are refused, so that neither internal nor external entities can be
    declared. The network is never used, and libxml2's limits on depth and size apply.

    Args:
        data: The document.
        name: The file's name, for messages.
        diagnosis: Receives tolerated defects as warnings.

    Raises:
        DescriptionError: If the document is not well-formed, or has another root.
    """
    # Line ends of XML; libxml2 counts no others.
    text = _decoded(data, name).replace("\r\n", "\n").replace("\r", "\n")
    if not text.strip():
        raise refused(f"{name}:1", f"is empty, expected {_EXPECTED}")
    prolog = _PROLOG.match(text)
    start = prolog.end() if prolog else 0
    line = text[:start].count("\n") + 1
    if _PAGE.match(text, start):
        raise refused(f"{name}:{line}", f"is HTML, expected {_EXPECTED}", _OTHER["html"])
    if text[start : start + 9].upper() == "<!DOCTYPE":
        raise refused(
            f"{name}:{line}",
            "has a document type declaration, and entities are never expanded",
            "remove <!DOCTYPE ...>",
        )
    if not text.startswith("<", start):
        raise refused(f"{name}:{line}", f"is not XML, expected {_EXPECTED}")
    document = (_undeclared(text[:start], name, diagnosis) + text[start:]).encode(
        "utf-8", "surrogatepass"
    )
    try:
        element = etree.fromstring(document, _parser())
    except etree.XMLSyntaxError as error:
        at = error.lineno or line
        reason = _reason(error.msg or "cannot be read")
        element = _tolerated(document, name, diagnosis)
        if element is None:
            raise refused(f"{name}:{at}", f"is not well-formed XML: {reason}") from None
    found = element.tag.rpartition("}")[2]
    if found != "robot":
        expected = "<robot>" if found == "mujoco" else _EXPECTED
        message = f"expected {expected} at the top, found <{found}>"
        raise refused(f"{name}:{line}", message, _OTHER.get(found, ""))
    return element, text.split("\n")


def root_tag(text: str) -> str:
    """Return the name of the first element of a document; empty if it does not start with one."""
    text = text.lstrip("\ufeff")
    prolog = _PROLOG.match(text)
    found = _TAG.match(text, prolog.end() if prolog else 0)
    return found.group(1) if found else ""


def _parser(*, recover: bool = False) -> Any:
    return etree.XMLParser(
        encoding="utf-8",  # of what is fed, whatever the declaration says
        resolve_entities=False,
        load_dtd=False,
        no_network=True,
        huge_tree=False,
        remove_comments=True,
        remove_pis=True,
        recover=recover,
    )


def _undeclared(prolog: str, name: str, diagnosis: Diagnosis) -> str:
    """Return a prolog without XML declarations, their lines left, after noting their defects."""
    kept, first = "", True
    last = 0
    for piece in _PIECE.finditer(prolog):
        kept += prolog[last : piece.start()]
        last = piece.end()
        if not _DECLARATION.fullmatch(piece.group()):
            kept += piece.group()
            continue
        place = f"{name}:{prolog[: piece.start()].count(chr(10)) + 1}"
        if not first:
            diagnosis.warning(place, "", "has a second XML declaration, it is ignored")
        elif piece.start() > 0:
            message = "the XML declaration is not at the start of the file, it is ignored"
            diagnosis.warning(place, "", message)
        elif not _VERSION.search(piece.group()):
            message = 'the XML declaration has no version 1.0, the file is read as version="1.0"'
            diagnosis.warning(place, "", message)
        kept += "\n" * piece.group().count("\n")
        first = False
    return kept + prolog[last:]


def _tolerated(document: bytes, name: str, diagnosis: Diagnosis) -> Any:
    """Return the root of a document with tolerable defects only, which are reported.

    None with other defects.
    """
    parser = _parser(recover=True)
    try:
        element = etree.fromstring(document, parser)
    except etree.XMLSyntaxError:
        return None
    defects = [entry for entry in parser.error_log if entry.level > etree.ErrorLevels.WARNING]
    if element is None or any(entry.type not in _TOLERATED for entry in defects):
        return None
    said = set()
    for entry in defects:
        reason = _reason(entry.message)
        if reason not in said:
            said.add(reason)
            diagnosis.warning(f"{name}:{entry.line}", "", f"is not well-formed XML: {reason}")
    return element


def _reason(message: str) -> str:
    return " ".join(message.split(", line")[0].split())


#: Converters to URDF of formats that are not read.
CONVERTERS = {
    "SDF": "convert it to URDF, for instance with sdf2urdf of the ROS package sdformat_tools",
    "USD": "convert it to URDF, for instance with usd_to_urdf of "
    "`pip install nvidia-srl-usd-to-urdf`",
}
_OTHER = {
    "sdf": f"SDF is not read, {CONVERTERS['SDF']}",
    "mujoco": "this is MJCF, which `load_description` reads",
    "html": "this is a web page, not the file itself",
}


def _decoded(data: bytes, name: str) -> str:
    """Return the text of a document in its declared encoding; UTF-8 by default."""
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            try:
                return data.decode(encoding)
            except UnicodeDecodeError as error:
                raise refused(f"{name}:1", f"is not {encoding} text") from error
    declared = _ENCODING.match(data)
    if declared is None:
        return as_text(data, name)
    label = declared.group(1).decode()
    try:
        encoding = codecs.lookup(label).name
    except LookupError:
        encoding = ""
    if encoding not in _KNOWN_ENCODINGS:
        raise refused(
            f"{name}:1", f"encoding {label!r} is not supported", "save the file as UTF-8"
        )
    if encoding == "utf-8":
        return as_text(data, name)
    try:
        return data.decode(encoding)
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise refused(
            f"{name}:{line}", f"byte 0x{data[error.start]:02x} is not {label} text"
        ) from error
