# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The figures of a report computed a second time, from the columns of the recording with NumPy.

They do without the code of the report, which they are compared with. Metadata give names, units,
the length of a period and the intervals at rest; the scenario's text gives the surfaces. Figures
that cannot be computed are None.
"""

from __future__ import annotations

import daqp
import numpy as np
import pytest
import yaml
from scipy.spatial.transform import Rotation

from robot_dynamics.app.recordings.recording import Recording
from robot_dynamics.app.runs.report import report_of

#: Figures of the control gains and of the computer, which are not computed from columns.
PASSED_ON = ("delay_margin_s", "wall_time_s", "plant_step_median_us", "start_to_first_torque_s")
#: Figures that no value in a column changes.
CONSTANT = (
    *("ticks", "period_s", "duration_s", "real_time_factor", "command_delay_s"),
    "joint_motion_unit",
)
_OFTEN_ZERO = ("object_blocked_error_max_deg", "internal_moment_error_settled_nm")
_FAR = 100.0  # displacement that counts like a rotation of 1 rad [m]
_STEP = 1e-6  # of differences [m, rad]


def require_figures(recording):
    """Compare the report of a recording with the figures computed here; return these."""
    report, found = report_of(recording), figures_by_numpy(recording)
    for name, value in found.items():
        told = report[name]
        if value is None or isinstance(value, str):
            assert told == value, name
        else:
            assert told == pytest.approx(value, rel=1e-6, abs=1e-11), name
    numbers = {name for name, value in report.items() if value is None or is_number(value)}
    assert numbers - set(found) <= {*PASSED_ON, "law"}
    return found


def is_number(value):
    """Return whether a value of a report is a number, and no truth value."""
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def require_that_figures_depend_on_columns(recording, seed=0):
    """Spoil a recording in every column; every figure changes, and is right again."""
    before, after = require_figures(recording), require_figures(_spoilt(recording, seed))
    for name, value in before.items():
        # Some walls block displacements alone, some grasps bear forces alone.
        never = value == 0.0 and name in _OFTEN_ZERO
        # Of a task the force of the support changes before it settles: it never does.
        never |= name == "touch_settling_max_s" and "phases" in recording.metadata
        if name in CONSTANT or value is None or never:
            continue
        assert after[name] != value, name


def _spoilt(recording, seed):
    """Return a recording with errors in all columns but those of time."""
    rng, m, columns = np.random.default_rng(seed), recording.metadata, {}
    for name, values in recording.columns.items():
        if name in ("tick", "time", "touched", "phase", "holding"):
            columns[name] = values
            continue
        n = len(values)
        noise = rng.normal(size=values.shape)
        if name.endswith("_pose"):
            turns = Rotation.from_rotvec(1e-3 * noise[:, 3:6])
            quaternions = (turns * Rotation.from_quat(values[:, 3:])).as_quat()
            changed = np.hstack([values[:, :3] + 1e-3 * noise[:, :3], quaternions])
        elif name in ("reference_twist", "reference_contact_force"):
            changed = 1.1 * values  # pauses and phases stay
        elif name == "contact_force":
            changed = values * (1.0 + 0.02 * noise) * (rng.random(values.shape) > 0.01)
        elif name.endswith("_slip"):
            changed = (
                values + np.where(np.arange(n) < n // 2, 0.0, 2.0 * m["slip_tolerance_m"])[:, None]
            )
        elif name == "slip_margin":
            changed = values - np.where(np.arange(n) < n // 3, 0.0, 100.0)[:, None]
        elif name == "control_scales":
            changed = values - 1e-3 * np.abs(noise)
        else:
            changed = values + (0.01 * values.std() + 1e-6) * np.abs(noise)
        if name == "joint_position":
            changed[:, np.ptp(changed, axis=0).argmin()] += np.linspace(0.0, 10.0, n)
        if name == "applied_torque":
            changed[:, np.abs(changed).max(axis=0).argmin()] *= 1e3
        columns[name] = changed
    return Recording(columns, m)


def figures_by_numpy(recording):
    """Return the figures of a recording by their names."""
    c, m = recording.columns, recording.metadata
    n, period = len(c["tick"]), m["period_s"]
    rest = np.zeros(n, dtype=bool)
    for begin, end in m["settled_intervals_s"]:
        for k in range(n):
            time = c["tick"][k] * period
            rest[k] |= begin - 0.5 * period <= time <= end + 0.5 * period
    blocked = blocked_by_quadratic_programs(recording)
    position, angle = _errors(c, blocked)
    moments = [name.startswith(("twist", "bending", "moment")) for name in m["internal_forces"]]
    wanted = c["reference_internal_force"]
    added = c.get("added_internal_force")
    off = c["internal_force"] - wanted - (0.0 if added is None else added)
    force, moment = _of_kinds(off, moments)
    if added is not None and m.get("fault"):
        added = np.array([row for row in added if np.isfinite(row).all()])
    added_force, added_moment = (
        (None, None) if added is None else map(_most, _of_kinds(added, moments))
    )
    squeezes = [i for i, name in enumerate(m["internal_forces"]) if name.startswith("squeeze")]
    way = np.abs(c["joint_position"] - c["joint_position"][0])
    limits = [np.inf if limit is None else limit for limit in m["effort_limits"]]
    load = np.abs(c["applied_torque"]) / np.array(limits)
    closure = c.get("estimated_closure")
    gaps = None if closure is None else closure.reshape(n, -1, 2, 3)
    surfaces = bool(m.get("surfaces"))
    figures = {
        "ticks": n,
        "period_s": period,
        "duration_s": n * period,
        "object_position_error_max_m": _most(position),
        "object_position_error_settled_m": _most(position[rest]),
        "object_orientation_error_max_deg": _most(angle),
        "object_orientation_error_settled_deg": _most(angle[rest]),
        "object_blocked_error_max_m": _longest(blocked[:, 3:]) if surfaces else None,
        "object_blocked_error_max_deg": (
            np.rad2deg(_longest(blocked[:, :3])) if surfaces else None
        ),
        "object_drift_settled_m": _drift(c, m),
        "internal_force_error_max_n": _most(force),
        "internal_force_error_settled_n": _most(force[rest]),
        "internal_moment_error_settled_nm": _most(moment[rest]),
        "added_internal_force_max_n": added_force,
        "added_internal_moment_max_nm": added_moment,
        "squeeze_range_n": _ends(c["internal_force"][:, squeezes]),
        "squeeze_reference_range_n": _ends(wanted[:, squeezes]),
        "joint_motion_max": _most(way),
        "joint_motion_unit": m["joint_units"][np.unravel_index(np.argmax(way), way.shape)[1]],
        "most_moved_joint": m["joints"][np.unravel_index(np.argmax(way), way.shape)[1]],
        "closure_error_max": _most(np.array([c["closure_position"], c["closure_rotation"]])),
        "closure_estimated_max_rad": None if gaps is None else _longest(gaps[:, :, 0]),
        "closure_estimated_max_m": None if gaps is None else _longest(gaps[:, :, 1]),
        "correction_max": _most(c["correction"]) if m["plant"] == "engine" else None,
        "torque_fraction_of_limit_max": _most(load),
        "most_loaded_joint": m["joints"][np.unravel_index(np.argmax(load), load.shape)[1]],
        "force_scale_min": _least(c["control_scales"][:, 0]),
        "motion_scale_min": _least(c["control_scales"][:, 1]),
        "control_step_median_us": _quantile(c["step_time"], 0.5),
        "control_step_p99_us": _quantile(c["step_time"], 0.99),
        "real_time_factor": n * period / m["wall_time_s"],
        "command_delay_s": m["plant_delay_periods"] * period,
    }
    if "contact_force" in c:
        figures |= _surface_figures(c, m)
    if "holding_force" in c:
        figures |= _holding_figures(c, m, rest)
    if "grasp_slip" in c:
        figures["grasp_slip_max_m"] = _most(c["grasp_slip"])
    if "grasp_tilt" in c:
        figures["grasp_tilt_max_deg"] = _most(np.rad2deg(c["grasp_tilt"]))
    if "surface_slip" in c:
        figures["surface_slip_max_m"] = _most(c["surface_slip"])
    if "slip_margin" in c:
        figures["slip_margin_min"] = _least(c["slip_margin"])
        if "grasp_slip" in c or "surface_slip" in c:
            figures["slip_warning_lead_s"] = _warning_lead(c, m)
    if "phase" in c:
        figures |= _task_figures(c, m)
    return figures


def _task_figures(c, m):
    """Return the figures of a task, row by row."""
    names = [m["phases"][int(index)] for index in np.ravel(c["phase"])]
    starts, place, jump = {}, m["places"][-1], 0.0
    moved = {"grasp": None, "release": None}
    for k, name in enumerate(names):
        if k and name != names[k - 1]:
            starts[name] = k
            jump = max(jump, *np.abs(c["commanded_torque"][k] - c["commanded_torque"][k - 1]))
        if name in moved:
            way = np.linalg.norm(c["object_pose"][k, :3] - c["object_pose"][starts[name], :3])
            moved[name] = max(moved[name] or 0.0, way)
    down = [k for k, name in enumerate(names) if name in ("put_down", "put_back: put_back")]
    back = names[-1].startswith("put_back: ")
    there = "release" in names or back
    place = c["object_pose"][0] if back and "release" not in names else place
    turn = Rotation.from_quat(c["object_pose"][-1, 3:]) * Rotation.from_quat(place[3:]).inv()
    return {
        "grasp_displacement_max_m": moved["grasp"],
        "release_displacement_max_m": moved["release"],
        "put_down_force_max_n": max(c["contact_force"][k].max() for k in down) if down else None,
        "drop_height_max_m": max(max(-v, 0.0) ** 2 for v in c["object_twist"][:, 5]) / 19.6133,
        "phase_torque_rate_max_fraction": jump / (m["torque_rate"] * m["period_s"]),
        "place_error_m": np.linalg.norm(c["object_pose"][-1, :3] - place[:3]) if there else None,
        "place_error_deg": np.rad2deg(turn.magnitude()) if there else None,
    }


def _most(values):
    if values.size == 0 or not np.isfinite(values).all():
        return None
    return float(np.sort(values, axis=None)[-1])


def _least(values):
    most = _most(-np.asarray(values))
    return None if most is None else -most


def _longest(vectors):
    return _most(np.sqrt((vectors * vectors).sum(axis=-1)))


def _ends(values):
    return None if values.size == 0 else [_least(values), _most(values)]


def _quantile(values, part):
    order = np.sort(values[np.isfinite(values)])
    at = part * (len(order) - 1)
    low = int(at)
    high = min(low + 1, len(order) - 1)
    return float(order[low] + (at - low) * (order[high] - order[low]))


def _of_kinds(vectors, moments):
    """Return the lengths of the forces and of the moments in rows of internal forces."""
    turning = np.array(moments, dtype=bool)
    square = vectors * vectors
    return np.sqrt(square[:, ~turning].sum(axis=1)), np.sqrt(square[:, turning].sum(axis=1))


def _errors(c, blocked):
    """Return distances [m] and angles [degrees] from the reference, without the blocked part."""
    pairs = [("object_pose", "reference_pose"), ("second_pose", "reference_second_pose")]
    distances, angles = [], []
    for true, wanted in pairs:
        if true not in c:
            continue
        here, there = c[true], c[wanted]
        distances.append(np.linalg.norm(there[:, :3] - blocked[:, 3:] - here[:, :3], axis=1))
        R, R_d = Rotation.from_quat(here[:, 3:]), Rotation.from_quat(there[:, 3:])
        allowed = Rotation.from_rotvec(-blocked[:, :3]) * R_d
        angles.append(np.rad2deg((allowed * R.inv()).magnitude()))
    return np.max(distances, axis=0), np.max(angles, axis=0)


def _drift(c, m):
    error = c["object_pose"][:, :3] - c["reference_pose"][:, :3]
    ways = []
    for begin, end in m["settled_intervals_s"]:
        times = c["tick"] * m["period_s"]
        inside = [k for k, time in enumerate(times) if begin <= time <= end]
        if inside:
            ways.append(error[inside[-1]] - error[inside[0]])
    return _longest(np.array(ways)) if ways else None


def _pushed(m):
    """Return of each surface that is pushed its index and that of its wanted force."""
    held = {row for _, row, _ in m["holding_rows"]}
    return [(i, row) for i, row in enumerate(m["surface_rows"]) if row not in held]


def _surface_figures(c, m):
    pushed = _pushed(m)
    if not pushed:
        return {}
    figures = {"contact_force_max_n": _most(c["contact_force"][:, [i for i, _ in pushed]])}
    if "reference_contact_force" not in c:
        return figures
    period, speed = m["period_s"], np.linalg.norm(c["reference_twist"][:, 3:], axis=1)
    n, quiet = len(speed), round(0.3 / period)
    moved, resting = -(10**9), np.zeros(n, dtype=bool)
    for k in range(n):
        moved = k if speed[k] > 1e-6 else moved
        resting[k] = (k - moved) * period >= 0.3
    settled, moving, speeds, guides = [], [], [], []
    touch_speeds, contacts, times = [], [], []
    for i, row in pushed:
        force, wanted = c["contact_force"][:, i], c["reference_contact_force"][:, row]
        if not (wanted > 0.0).any():
            guides.append(_most(force))
        touched, changed = None, -(10**9)
        for k in range(n):
            if k and wanted[k] != wanted[k - 1]:
                changed = k
            if wanted[k] <= 0.0:
                touched = None
                continue
            if touched is None and force[k] > 0.0:
                touched = k
                end = next((j for j in range(k, n) if wanted[j] <= 0.0), n)
                until = next((j for j in range(k + 1, end) if wanted[j] != wanted[j - 1]), end)
                far = [j for j in range(k, until) if abs(force[j] - wanted[j]) > 0.05 * wanted[j]]
                last = far[-1] + 1 if far else k
                times.append(period * ((end if last == until else last) - k))
                anew = [j for j in range(k + 1, end) if force[j] > 0.0 >= force[j - 1]]
                contacts.append(1 + len(anew))
                touch_speeds.append(np.linalg.norm(c["object_twist"][max(k - 1, 0), 3:]))
            if touched is None or k < touched + quiet or k < changed + quiet:
                continue
            part = abs(force[k] - wanted[k]) / wanted[k]
            settled += [part] if resting[k] else []
            if speed[k] > 0.02:
                moving.append(part)
                speeds.append(speed[k])
    figures |= {"guide_force_max_n": max(guides)} if guides else {}
    return figures | {
        "contact_force_error_settled_fraction": _most(np.array(settled)),
        "contact_force_error_moving_fraction": _most(np.array(moving)),
        "contact_speed_moving_max": _most(np.array(speeds)),
        "touch_speed_max": _most(np.array(touch_speeds)),
        "touch_contacts_max": _most(np.array(contacts)),
        "touch_settling_max_s": _most(np.array(times)),
    }


def _holding_figures(c, m, rest):
    figures = {}
    for unit, kind, short in (("N", "force", "n"), ("N m", "moment", "nm")):
        columns = {}
        for i, (name, row, its) in enumerate(m["holding_rows"]):
            if its == unit:
                columns.setdefault(name, []).append((i, row))
        if not columns:
            continue
        sizes, errors = [], []
        for own in columns.values():
            force = c["holding_force"][:, [i for i, _ in own]]
            sizes.append(np.linalg.norm(force, axis=1))
            if "reference_contact_force" in c:
                wanted = c["reference_contact_force"][:, [row for _, row in own]]
                errors.append(np.linalg.norm(force - wanted, axis=1))
        figures[f"holding_{kind}_max_{short}"] = _most(np.array(sizes))
        if errors:
            figures[f"holding_{kind}_error_max_{short}"] = _most(np.array(errors))
            figures[f"holding_{kind}_error_settled_{short}"] = _most(np.array(errors)[:, rest])
    return figures


def _warning_lead(c, m):
    slips = [c[name] for name in ("grasp_slip", "surface_slip") if name in c]
    slipped = (np.hstack(slips) > m["slip_tolerance_m"]).any(axis=1)
    if not slipped.any():
        return None
    at, warned = int(np.argmax(slipped)), (c["slip_margin"] < 0.0).any(axis=1)
    begin = at
    if warned[at]:
        while begin and warned[begin - 1]:
            begin -= 1
    else:
        begin = next((k for k in range(at, len(warned)) if warned[k]), len(warned))
    return (at - begin) * m["period_s"]


def blocked_by_quadratic_programs(recording):
    """Return the blocked part of the error (ticks, 6), one quadratic program for each tick.

    Depths are written out here once more, and differentiated numerically.
    """
    c, m = recording.columns, recording.metadata
    blocked = np.zeros((len(c["tick"]), 6))
    if not m.get("surfaces"):
        return blocked
    scenario = yaml.safe_load(m["scenario_text"])
    functions = _depths(scenario)
    x, R = c["reference_pose"][:, :3], Rotation.from_quat(c["reference_pose"][:, 3:])
    true = _values(functions, c["object_pose"][:, :3], Rotation.from_quat(c["object_pose"][:, 3:]))
    there = _values(functions, x, R)
    scale = np.array([_FAR, _FAR, _FAR, 1.0, 1.0, 1.0])
    slopes = np.empty((*there.shape, 6))
    for i, step in enumerate(_STEP * np.eye(6)):
        ahead, behind = (
            _values(functions, x + sign * step[3:], Rotation.from_rotvec(sign * step[:3]) * R)
            for sign in (1.0, -1.0)
        )
        slopes[:, :, i] = (ahead - behind) / (2.0 * _STEP * scale[i])
    held = np.array([both for both, _ in functions])
    upper = np.where(held, true, np.maximum(true, 0.0)) - there
    lower = np.where(held, upper, -np.inf)
    for k in np.flatnonzero(((upper < -1e-12) | (held & (upper > 1e-12))).any(axis=1)):
        motion, _, flag, _ = daqp.solve(
            np.eye(6), np.zeros(6), slopes[k].copy(), upper[k].copy(), lower[k].copy(),
            5 * held.astype(np.int32), primal_tol=1e-13,
        )  # fmt: skip
        assert flag == 1
        blocked[k] = -motion / scale
    return blocked


def _values(functions, x, R):
    return np.stack([depth(x, R) for _, depth in functions], axis=1)


def _pose(settings):
    """Return origin and rotation of settings with `xyz` and `rpy`."""
    return np.array(settings["xyz"]), Rotation.from_euler("xyz", settings["rpy"])


def _depths(scenario):
    """Return whether the object is held, and its depth, of each point of each surface."""
    functions = []
    start, turned = _pose(scenario["cell"]["object"])
    for surface in scenario["cell"]["surfaces"]:
        origin, E = _pose(surface)
        if surface["name"] in scenario["plant"]["surface_error"]:
            shift, turn = _pose(scenario["plant"]["surface_error"][surface["name"]])
            origin, E = origin + E.apply(shift), E * turn
        part, T = _pose(surface["part"])
        axes, kind = E.as_matrix().T, surface["kind"]
        if kind in ("hinge", "line"):
            place = start + turned.apply(part)
            if kind == "hinge":
                place = origin
            else:
                place = origin + axes[2] * (axes[2] @ (place - origin))
            at, along = turned.inv().apply(place - start), turned.inv().apply(axes[2])
            for axis in axes[: 3 if kind == "hinge" else 2]:
                functions.append(
                    (True, lambda x, R, a=axis, o=origin, p=at: (x + R.apply(p) - o) @ a)
                )
            for axis in axes[:2] if kind == "hinge" else ():
                functions.append((True, lambda x, R, a=axis, z=along: R.apply(z) @ a))
        elif kind == "plane":
            points = [part]
            if surface["part"]["kind"] == "face":
                u, v = surface["part"]["size"]
                corners = [(u, v), (u, -v), (-u, v), (-u, -v)]
                points = [part + T.apply([*corner, 0.0]) for corner in corners]
            for point in points:
                functions.append(
                    (False, lambda x, R, a=axes[2], o=origin, p=point: (o - x - R.apply(p)) @ a)
                )
        else:
            assert kind == "hole"
            radius, length = surface["part"]["size"]
            for height in (0.0, -length):
                for u, v in ((1, 0), (0, 1), (-1, 0), (0, -1)):
                    p = part + T.apply([radius * u, radius * v, height])
                    functions.append((False, _in_block(origin, axes[2], surface, p)))
    return functions


def _in_block(mouth, axis, surface, point):
    """Return the depth of a point of the object in a block with a hole."""

    def depth(x, R):
        arm = x + R.apply(point) - mouth
        height = arm @ axis
        from_axis = np.linalg.norm(arm - np.outer(height, axis), axis=1)
        beside = np.where(
            -height < from_axis - surface["radius"], -height, from_axis - surface["radius"]
        )
        return np.where(beside > -height - surface["depth"], beside, -height - surface["depth"])

    return depth
