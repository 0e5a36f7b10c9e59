# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Check that links and joints form one tree."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from robot_dynamics.description.diagnosis import Diagnosis
from robot_dynamics.model.elements import JointElement, LinkElement


@dataclass
class Places:
    """Places of the elements of a description, by their names.

    Attributes:
        file: Default place: the file, or its first line.
        links: Place of each link.
        joints: Place of each joint.
        loops: Place of each loop joint and of each gear.
        with_inertial: Links with a mass in the file, which can be zero.
    """

    file: str
    links: dict[str, str] = field(default_factory=dict)
    joints: dict[str, str] = field(default_factory=dict)
    loops: dict[str, str] = field(default_factory=dict)
    with_inertial: set[str] = field(default_factory=set)

    def link(self, name: str) -> str:
        """Return the place of a link; the file if it is not known."""
        return self.links.get(name, self.file)

    def joint(self, name: str) -> str:
        """Return the place of a joint; the file if it is not known."""
        return self.joints.get(name, self.file)

    def loop(self, name: str) -> str:
        """Return the place of a loop joint or gear; the gear of a mimic joint has the joint's."""
        return self.loops.get(name) or self.joint(name)


def check_tree(
    links: Sequence[LinkElement],
    joints: Sequence[JointElement],
    places: Places,
    diagnosis: Diagnosis,
    *,
    complete: bool = True,
    graph: bool = False,
) -> None:
    """Report every reason why links and joints are not one tree, or not one mechanism.

    These are unknown links, links with two parents, circles, and several roots.

    Args:
        links: The links, their names unique.
        joints: The joints, their names unique.
        places: Their places.
        diagnosis: Receives the problems.
        complete: Whether these are all links and joints; if some could not be read, roots are not
            counted.
        graph: Whether joints can close loops: then links can have several parents.
    """
    names = dict.fromkeys(link.name for link in links)
    if not names:
        diagnosis.error(places.file, "", "has no links, expected at least one")
        return
    carrier: dict[str, JointElement] = {}
    sound = True
    for joint in joints:
        element = f"joint {joint.name!r}"
        for end in (joint.parent, joint.child):
            if end not in names:
                diagnosis.unknown(places.joint(joint.name), element, "link", end, names)
                sound = False
        if joint.parent == joint.child:
            diagnosis.error(
                places.joint(joint.name), element, f"its parent and child are both {joint.child!r}"
            )
            sound = False
        elif joint.child in carrier and not graph:
            other = carrier[joint.child]
            diagnosis.error(
                places.joint(joint.name),
                element,
                f"link {joint.child!r} has two parents, {other.parent!r} by joint {other.name!r} "
                f"and {joint.parent!r} by this one",
                "URDF describes trees; close loops with a file of loop joints",
            )
            sound = False
        else:
            carrier.setdefault(joint.child, joint)
    circles = [] if graph else _circles(carrier)
    for circle in circles:
        path = " -> ".join([joint.parent for joint in circle] + [circle[-1].child])
        first = circle[0]
        diagnosis.error(
            places.joint(first.name), f"joint {first.name!r}", f"closes a circle of links, {path}"
        )
    roots = [link.name for link in links if link.name not in carrier]
    # After any other error, a further root is only a consequence of it.
    if not complete or not sound or circles:
        return
    if not roots:
        diagnosis.error(places.file, "", "every link is the child of a joint, expected one root")
    if len(roots) == 1 and graph:
        lost = _unreached(roots[0], names, joints)
        if lost is not None:
            place, element = places.link(lost), f"link {lost!r}"
            diagnosis.error(place, element, f"is connected to {roots[0]!r} by no joint")
    if len(roots) > 1:
        listed = ", ".join(repr(root) for root in roots[:6])
        more = f" and {len(roots) - 6} more" if len(roots) > 6 else ""
        diagnosis.error(
            places.link(roots[1]),
            f"link {roots[1]!r}",
            f"is a second root, expected one link without parent, found {listed}{more}",
        )


def _unreached(root: str, names: Iterable[str], joints: Sequence[JointElement]) -> str | None:
    """Return the first link that joints do not connect to the root, in either direction."""
    around: dict[str, list[str]] = {name: [] for name in names}
    for joint in joints:
        around[joint.parent].append(joint.child)
        around[joint.child].append(joint.parent)
    reached, pending = {root}, [root]
    while pending:
        for other in around[pending.pop()]:
            if other not in reached:
                reached.add(other)
                pending.append(other)
    return next((name for name in around if name not in reached), None)


def _circles(carrier: Mapping[str, JointElement]) -> list[list[JointElement]]:
    """Return the joints of each circle, from parent to child, starting where the file does."""
    settled: set[str] = set()
    order = {link: number for number, link in enumerate(carrier)}
    circles = []
    for start in carrier:
        trail: list[str] = []
        on_trail: set[str] = set()
        link = start
        while link in carrier and link not in settled and link not in on_trail:
            trail.append(link)
            on_trail.add(link)
            link = carrier[link].parent
        if link in on_trail:
            circle = list(reversed(trail[trail.index(link) :]))
            first = min(range(len(circle)), key=lambda i: order[circle[i]])
            circles.append([carrier[name] for name in circle[first:] + circle[:first]])
        settled.update(trail)
    return circles
