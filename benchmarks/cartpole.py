"""CartPole-v1 with nothing tuned: the mean return that counts as solved is 475.

python benchmarks/cartpole.py         three seeds, a minute or two each
python benchmarks/cartpole.py 10      ten
"""

import sys
import time

import fenchel

SOLVED = 475
EPISODES = 100
"""Over which the mean is taken."""


def main() -> int:
    """Learn, and say how many seeds solved it; the exit code is 1 unless all did."""
    count, solved = int(sys.argv[1]) if len(sys.argv) > 1 else 3, 0
    for seed in range(count):
        begun = time.perf_counter()
        result = fenchel.train("CartPole-v1", objective="expectation", seed=seed)
        found = result.evaluate(EPISODES)
        solved += found.mean >= SOLVED
        seconds = time.perf_counter() - begun
        print(f"seed {seed}: mean {found.mean:.1f} ± {found.standard_error:.1f}, {seconds:.0f} s", flush=True)
    print(f"{solved} of {count} solved")
    return 0 if solved == count else 1


if __name__ == "__main__":
    sys.exit(main())
