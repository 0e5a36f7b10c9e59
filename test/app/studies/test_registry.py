# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""All studies by name."""

from importlib import import_module

import pytest

from robot_dynamics.app.studies.registry import STUDIES, study_called
from robot_dynamics.app.studies.yoshikawa_zheng.controller import LAWS
from robot_dynamics.errors import UnknownNameError


@pytest.mark.parametrize("study", STUDIES, ids=lambda study: study.name)
def test_every_study_is_there(study):
    """Its function exists, and its name finds it."""
    module = import_module(f"robot_dynamics.app.studies.{study.module}")
    assert callable(getattr(module, study.function))
    assert study_called(study.name) is study


def test_names_are_different():
    """No study hides another one, and unknown names are answered by those that there are."""
    names = [study.name for study in STUDIES]
    assert len(set(names)) == len(names)
    with pytest.raises(UnknownNameError) as caught:
        study_called("no such study")
    assert caught.value.valid == tuple(names)


def test_laws_of_studies_are_those_that_they_have():
    """The registry, which imports no study, names the laws as the study itself does."""
    assert study_called("yoshikawa-zheng").laws == LAWS
