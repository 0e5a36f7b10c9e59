# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
r"""A user's controller: two arms hold a box by a servo of their joints.

The same file runs here, over topics and in the controller node of real arms:

    python own_controller.py
    robot_dynamics demo lift_box --set control.law=own_controller.py:Hold --allow-code \
        --set reference={}
"""

import robot_dynamics as rd

PICTURE = ""  # "own_controller.png" draws the end, with the extra `view`


class Hold(rd.Controller):
    """A servo of the joints, in the metric of the arms' inertia."""

    def __init__(self, bandwidth=20.0):
        self.bandwidth = bandwidth  # [rad/s]

    def start(self, seen):
        self.q, self.H = seen.q, self.task.inertia(seen.q)

    def torque(self, seen):
        w = self.bandwidth
        acceleration = w**2 * (self.q - seen.q) - 2.0 * w * seen.qd
        return seen.support + self.H @ acceleration


if __name__ == "__main__":
    run = rd.simulate(
        "lift_box", controller=Hold(), overrides=["reference={}", "acceptance={}"], duration=1.0
    )
    moved = 1e3 * run.report["object_position_error_max_m"]
    print(f"the box moved by {moved:.3f} mm at most; {run.report['failures'] or 'no failures'}")
    if PICTURE:
        from robot_dynamics.app.pictures.render import Camera, render_still, scene_of_recording

        scene = scene_of_recording(run.recording)
        render_still(scene, PICTURE, 1.0, size=(480, 270), camera=Camera())
