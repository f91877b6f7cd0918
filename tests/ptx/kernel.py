"""One kernel of a test file: reads a row's inputs, runs the instruction, stores the results."""
from itertools import product
import random

from numbers_exact import FORMATS

files = {}
WIDTHS = {'pred': 32, 'f16x2': 32, 'bf16x2': 32, 'e4m3x2': 16, 'e5m2x2': 16, 'u16x2': 32, 's16x2': 32, 'tf32': 32}


def width(t):
    """Bits of a value."""
    return WIDTHS.get(t) or int(t.lstrip('bfus'))


def register(t):
    return 'b%d' % max(width(t), 16)


def signed(v, bits):
    v &= (1 << bits) - 1
    return v - (1 << bits) if v >> (bits - 1) else v


def edges(t):
    """Values of a type that have caused trouble before."""
    if t in FORMATS:
        f = FORMATS[t]
        one = f.bias << f.bits
        return [0, one, one | f.sign, f.sign, f.infinity, f.infinity | f.sign, f.infinity | 1 << (f.bits - 1), f.largest,
                f.largest | f.sign, 1, f.smallest, f.smallest - 1, (f.smallest - 1) | f.sign, one + 1, one - 1,
                one + (1 << (f.bits - 1)), one + (1 << f.bits), (one + 3 * (1 << (f.bits - 1))) | f.sign,
                one + (f.bits << f.bits), one // 2]
    n = width(t)
    top = 1 << (n - 1)
    return [0, 1, (1 << n) - 1, top, top - 1, 2, top + 1, 0x55 if n == 8 else (0x12345678 * 0x9abcdef1) & ((1 << n) - 1),
            7, (1 << n) - 7, (1 << (n // 2)) - 1, 1 << (n // 2)]


def randoms(t, count):
    n = width(t)
    return [random.getrandbits(n) for _ in range(count)]


def rows(types, count=40):
    """Edge values against each other, then values by chance."""
    # A type may be an explicit list of values.
    lists = [t if isinstance(t, (list, range)) else edges(t) + randoms(t, 8) for t in types]
    everything = 1
    for one in lists:
        everything *= len(one)
    if everything <= count:
        return list(product(*lists))
    chosen = []
    seen = set()
    k = 0
    while len(chosen) < count:
        row = tuple(one[k % len(one)] if j == 0 else one[(k // 3 + j * 5 * k) % len(one)] if k % 2 else random.choice(one)
                    for j, one in enumerate(lists))
        k += 1
        if row in seen and k < 20 * count:
            continue
        seen.add(row)
        chosen.append(row)
    return chosen


def hexadecimal(v):
    return v if isinstance(v, str) else '%x' % v


class Kernel:
    def __init__(self, name, body, ins, outs, values, function, declarations=''):
        self.name, self.body, self.ins, self.outs = name, body, ins, outs
        self.declarations = declarations
        self.table = []
        for row in values:
            result = function(*row)
            result = result if isinstance(result, tuple) else (result,)
            masked = [r if isinstance(r, str) else r & ((1 << width(t)) - 1) for r, t in zip(result, outs)]
            self.table.append((row, masked))

    def text(self):
        lines = ['', '//! %s %s -> %s' % (self.name, ' '.join(self.ins), ' '.join(self.outs))]
        for row, result in self.table:
            lines.append('//! %s = %s' % (' '.join(map(hexadecimal, row)), ' '.join(map(hexadecimal, result))))
        lines += ['.visible .entry %s(.param .u64 in, .param .u64 out, .param .u32 count, .param .u32 mask)' % self.name, '{',
                  '  .reg .pred %skip, %p, %q;', '  .reg .b64 %in, %out;', '  .reg .b32 %row, %count, %mask, %t<4>;',
                  '  .reg .b64 %l<4>;', '  .reg .b16 %h<4>;']
        letters = 'abcdef'
        for k, t in enumerate(self.ins):
            lines.append('  .reg .%s %%%s;' % (register(t), letters[k]))
        for k, t in enumerate(self.outs):
            lines.append('  .reg .%s %%d%d;' % (register(t), k))
        if self.declarations:
            lines += ['  ' + d for d in self.declarations.strip().split('\n')]
        lines += ['  mov.u32 %row, %tid.x;', '  ld.param.u32 %count, [count];', '  ld.param.u32 %mask, [mask];',
                  '  setp.ge.u32 %skip, %row, %count;', '  @%skip bra DONE;', '  and.b32 %mask, %mask, %row;',
                  '  setp.ne.u32 %skip, %mask, 0;', '  @%skip bra DONE;', '  ld.param.u64 %in, [in];',
                  '  ld.param.u64 %out, [out];',
                  '  mad.wide.u32 %%in, %%row, %d, %%in;' % (8 * len(self.ins)),
                  '  mad.wide.u32 %%out, %%row, %d, %%out;' % (8 * len(self.outs))]
        for k, t in enumerate(self.ins):
            lines.append('  ld.global.%s %%%s, [%%in+%d];' % ('b%d' % width(t), letters[k], 8 * k))
        lines += ['  ' + b.strip() for b in self.body.strip().split('\n')]
        for k, t in enumerate(self.outs):
            if t == 'pred':
                lines.append('  selp.u32 %%d%d, 1, 0, %%%s;' % (k, 'pq'[k]))
            lines.append('  st.global.%s [%%out+%d], %%d%d;' % ('b%d' % width(t), 8 * k, k))
        lines += ['DONE:', '  ret;', '}', '']
        return '\n'.join(lines)


def form(file, body, ins, outs, function, values=None, name=None, declarations='', count=40):
    """Declares a kernel. `body` computes %d0, … (or %p, %q for predicates) from %a, %b, ….
    The name is the first instruction's unless given."""
    if name is None:
        name = body.strip().split()[0].rstrip(';').replace('.', '_').replace('::', '_')
    ins, outs = ins.split(), outs.split()
    values = rows(ins, count) if values is None else values
    files.setdefault(file, []).append(Kernel(name, body, ins, outs, values, function, declarations))
