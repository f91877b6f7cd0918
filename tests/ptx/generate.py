#!/usr/bin/env python3
"""Writes the tables of tests/ptx/*.ptx: kernels of one instruction each, with inputs and what the PTX ISA
says comes out, computed by integer and exact rational arithmetic. Run it in this folder after a change:

    python3 generate.py

The files are kept, so that the tests need no Python."""
import random
from pathlib import Path

import forms_float
import forms_integer
import forms_memory
from kernel import files

HEADER = '''// Made by generate.py. The comments with an exclamation mark are a table: kernel, columns, then rows.
.version 8.7
.target sm_100
.address_size 64
'''
SCRATCH = '.global .align 16 .b8 scratch[4096];\n'
DECLARATIONS = {'memory': '.const .align 4 .u32 table[4] = {11, 22, 33, 44};\n' + SCRATCH, 'atomic': SCRATCH}


def main():
    random.seed(20)
    for module in (forms_integer, forms_float, forms_memory):
        module.declare()
    folder = Path(__file__).parent
    for name, kernels in files.items():
        (folder / f'{name}.ptx').write_text(HEADER + DECLARATIONS.get(name, '') + ''.join(k.text() for k in kernels))


main()
