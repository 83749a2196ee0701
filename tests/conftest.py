"""One torch thread in all tests: bitwise laws, fair times, and no dead locks after a fork."""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

import torch

torch.set_num_threads(1)
