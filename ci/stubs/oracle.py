#!/usr/bin/env python3
"""Writes the golden files of $op whose truth comes from outside.

  golden/${op}_oracle.py golden            writes golden/$op/*.golden
  golden/${op}_oracle.py golden --check    compares them with what would be written; exit code 1 if they differ
  warpcheck golden regenerate $op        then takes the new hashes into SHA256SUMS, if the reference agrees
"""

import sys

sys.exit("golden/${op}_oracle.py: write golden files by a program that is not ours; golden/oracle.py helps (step 5)")
