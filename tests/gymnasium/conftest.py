"""What needs Stable-Baselines3 is collected where it is installed: PyTorch is no part of the test extra."""

from importlib.util import find_spec

collect_ignore = [] if find_spec("stable_baselines3") else ["test_callback.py"]
