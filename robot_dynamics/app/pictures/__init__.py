# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Pictures of runs, robots and mechanisms: figures, films without a display, a page in a browser.

Programs take films and stills from `pictures.render`.
"""
