#!/usr/bin/env python3
"""Writes the golden files of $op whose truth comes from outside.

  golden/${op}/${op}_oracle.py golden            writes golden/$op/*.golden
  golden/${op}/${op}_oracle.py golden --check    compares them with what would be written; exit code 1 if they differ
  warpcheck golden regenerate $op        then takes the new hashes into SHA256SUMS, if the reference agrees
"""

import sys

sys.exit("golden/${op}/${op}_oracle.py: write golden files by another program; golden/oracle.py helps (step 5)")
