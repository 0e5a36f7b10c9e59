# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
r"""A controller of one's own: two arms hold a box by a servo of their joints.

The same file runs here, over topics and in the controller node of real arms:

    python own_controller.py [PICTURE.png]
    robot_dynamics demo lift_box --set control.law=own_controller.py:Hold --allow-code \
        --set reference={}
"""

import robot_dynamics as rd
from robot_dynamics.app.command_line.arguments import film_file, picture_argument


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
    picture = picture_argument(__doc__, film_file)
    run = rd.simulate(
        "lift_box", controller=Hold(), overrides=["reference={}", "acceptance={}"], duration=1.0
    )
    moved = 1e3 * run.report["object_position_error_max_m"]
    print(f"the box moved by {moved:.3f} mm at most; {run.report['failures'] or 'no failures'}")
    if picture:
        from robot_dynamics.app.pictures.render import Camera, render_still
        from robot_dynamics.app.pictures.visual_scene import scene_of_recording

        scene = scene_of_recording(run.recording)
        render_still(scene, picture, 1.0, size=(480, 270), camera=Camera())
