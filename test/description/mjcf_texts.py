# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Small MJCF files that tests share: all joints, and every closure that is read."""

# Hinges, a slide and a ball, away from the origins of their bodies, two joints in one body, a
# reference position, inertia from shapes, a rotor behind a gear, a motor and a position drive.
ARM = """
<mujoco model="arm">
  <compiler angle="degree"/>
  <option gravity="0.3 0 -9.7"/>
  <worldbody>
    <geom type="plane" size="1 1 0.1"/>
    <body name="base" pos="0.1 0 0.2" euler="10 20 30">
      <geom type="cylinder" size="0.1 0.05"/>
      <body name="upper" pos="0 0 0.1" euler="0 30 0">
        <joint name="shoulder" axis="0 1 1" pos="0.02 0 -0.01" ref="15" range="-90 120"
               armature="0.3" damping="0.7" frictionloss="0.2" actuatorfrcrange="-30 30"/>
        <joint name="twist" axis="1 0 0" pos="0 0.03 0" stiffness="4" springref="20"/>
        <geom name="bone" type="capsule" fromto="0 0 0 0.3 0 0" size="0.03" rgba="1 0 0 1"/>
        <body name="fore" pos="0.3 0 0">
          <joint name="slide" type="slide" axis="1 0 1" range="-0.1 0.4" ref="0.05"/>
          <inertial mass="0.8" pos="0.1 0 0.02" fullinertia="0.01 0.02 0.025 0.001 0.002 -0.001"/>
          <geom type="box" size="0.1 0.02 0.03" contype="0" conaffinity="0"/>
          <body name="hand" pos="0.2 0 0" euler="0 0 40">
            <joint name="wrist" type="ball" pos="0.01 0.02 0" armature="0.01" damping="0.05"/>
            <geom type="ellipsoid" size="0.05 0.03 0.02"/>
            <geom type="sphere" size="0.02" pos="0.1 0 0" group="3"/>
            <site name="tool" pos="0.1 0 0" euler="90 0 0"/>
          </body>
        </body>
      </body>
    </body>
  </worldbody>
  <actuator>
    <motor name="strong" joint="shoulder" gear="3" ctrlrange="-20 20"/>
    <position name="servo" joint="slide" kp="100" forcerange="-8 8"/>
  </actuator>
</mujoco>
"""

# A free body that carries a hinge, and a second free body; unnamed joints and bodies.
FREE = """
<mujoco model="free">
  <worldbody>
    <body name="trunk" pos="0 0 1" euler="0.3 0 0">
      <freejoint name="root"/>
      <geom type="box" size="0.3 0.1 0.05"/>
      <body pos="0.2 0 -0.1">
        <joint axis="0 1 0"/>
        <geom type="capsule" fromto="0 0 0 0 0 -0.3" size="0.03"/>
      </body>
    </body>
    <body name="ball">
      <freejoint/>
      <geom size="0.1" pos="0.01 0 0"/>
    </body>
  </worldbody>
</mujoco>
"""

_BAR = '<geom type="capsule" fromto="0 0 0 {length} 0 0" size="0.02"/>'
# A four-bar linkage in the plane of x and z, closed by a point; and a rod between sites.
FOUR_BAR = f"""
<mujoco model="four_bar">
  <worldbody>
    <body name="crank">
      <joint name="crank" axis="0 1 0"/>
      {_BAR.format(length=0.3)}
      <body name="coupler" pos="0.3 0 0" euler="0 -90 0">
        <joint name="coupler" axis="0 1 0"/>
        {_BAR.format(length=0.4)}
        <site name="end" pos="0.4 0 0"/>
        <body name="rod" pos="0.2 0 0">
          <joint name="swivel" type="ball"/>
          {_BAR.format(length=0.2)}
          <site name="rod_end" pos="0.2 0 0"/>
        </body>
      </body>
    </body>
    <body name="rocker" pos="0.5 0 0" euler="0 -90 0">
      <joint name="rocker" axis="0 1 0"/>
      {_BAR.format(length=0.4)}
    </body>
    <body name="block" pos="0.3 0 0.4">
      <joint name="block" type="slide" axis="0 0 1"/>
      <joint name="across" type="slide" axis="1 0 0"/>
      <geom type="box" size="0.03 0.03 0.03"/>
      <site name="hook"/>
    </body>
  </worldbody>
  <equality>
    <connect name="pin" body1="coupler" body2="rocker" anchor="0.4 0 0"/>
    <connect name="rod" site1="rod_end" site2="hook"/>
    <connect name="spare" body1="crank" body2="rocker" anchor="0 0 0" active="false"/>
  </equality>
</mujoco>
"""

# Two arms of two hinges and a ball that hold one bar: a weld of bodies, and a weld of sites.
HELD = """
<mujoco model="held">
  <default><geom type="capsule" size="0.03" fromto="0 0 0 0.3 0 0"/></default>
  <worldbody>
    <body name="a1" euler="0 0 0.4">
      <joint name="a1" axis="0 0 1"/><geom/>
      <body name="a2" pos="0.3 0 0"><joint name="a2" axis="0 0.6 0.8"/><geom/>
        <body name="a3" pos="0.3 0 0"><joint name="a3" type="ball"/><geom/></body></body>
    </body>
    <body name="b1" pos="2 0 0" euler="0 0 2.7">
      <joint name="b1" axis="0 0 1"/><geom/>
      <body name="b2" pos="0.3 0 0"><joint name="b2" axis="0 0.6 0.8"/><geom/>
        <body name="b3" pos="0.3 0 0"><joint name="b3" type="ball"/><geom/>
          <site name="b_tool" pos="0.3 0 0"/></body></body>
    </body>
    <body name="bar" pos="1 0 0.2">
      <freejoint name="bar"/>
      <geom type="box" fromto="-0.3 0 0 0.3 0 0" size="0.02"/>
      <site name="b_grip" pos="0.3 0 0"/>
    </body>
  </worldbody>
  <equality>
    <weld name="a_grasp" body1="a3" body2="bar" anchor="-0.3 0 0" relpose="0.5 0.1 0 1 0 0.1 0.2"/>
    <weld name="b_grasp" site1="b_tool" site2="b_grip"/>
  </equality>
</mujoco>
"""

# A gear between joints, and tendons whose lengths are coupled.
GEARS = """
<mujoco model="gears">
  <default><geom type="capsule" size="0.02" fromto="0 0 0 0.1 0 0"/></default>
  <worldbody>
    <body name="palm">
      <body name="f1"><joint name="j1" axis="0 1 0" ref="0.2"/><geom/>
        <body name="f2" pos="0.1 0 0"><joint name="j2" axis="0 1 0"/><geom/>
          <body name="f3" pos="0.1 0 0"><joint name="j3" axis="0 1 0.2"/><geom/></body>
        </body></body>
      <body name="g1" pos="0 0.1 0"><joint name="k1" type="slide" axis="0 1 0"/><geom/>
        <body name="g2" pos="0.1 0 0"><joint name="k2" axis="0 0 1"/><geom/>
          <body name="g3" pos="0.1 0 0"><joint name="k3" axis="0 1 0"/><geom/></body></body></body>
    </body>
  </worldbody>
  <tendon>
    <fixed name="first"><joint joint="j2" coef="2"/><joint joint="j3" coef="-1"/></fixed>
    <fixed name="second"><joint joint="k2" coef="0.5"/></fixed>
  </tendon>
  <equality>
    <joint name="gear" joint1="j1" joint2="k1" polycoef="0.1 3 0 0 0"/>
    <tendon name="cord" tendon1="first" tendon2="second" polycoef="0.05 -2 0 0 0"/>
  </equality>
</mujoco>
"""

ALL = {"arm": ARM, "free": FREE, "four_bar": FOUR_BAR, "held": HELD, "gears": GEARS}
