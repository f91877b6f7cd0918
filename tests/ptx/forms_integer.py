"""Integer, bit and comparison instructions."""
from kernel import edges, form, randoms, rows, signed, width

INTEGERS = ['u16', 'u32', 'u64', 's16', 's32', 's64']


def view(t, v):
    return signed(v, width(t)) if t[0] == 's' else v


def limits(t):
    n = width(t)
    return (-(1 << (n - 1)), (1 << (n - 1)) - 1) if t[0] == 's' else (0, (1 << n) - 1)


def clamp(t, v):
    low, high = limits(t)
    return max(low, min(high, v))


def quotient(x, y):
    q = abs(x) // abs(y)
    return q if (x < 0) == (y < 0) else -q


def nonzero(types):
    return [r for r in rows(types) if r[1]]


def binary(name, t, f, values=None, result=None):
    form(name.split('.')[0], f'{name}.{t} %d0, %a, %b;', f'{t} {t}', result or t,
         lambda a, b: f(view(t, a), view(t, b)), values)


def arithmetic():
    for t in INTEGERS:
        n = width(t)
        binary('add', t, lambda a, b: a + b)
        binary('sub', t, lambda a, b: a - b)
        binary('mul.lo', t, lambda a, b: a * b)
        binary('mul.hi', t, lambda a, b: a * b >> n)
        if n < 64:
            binary('mul.wide', t, lambda a, b: a * b, result='u32' if n == 16 else 'u64')
        binary('div', t, lambda a, b: quotient(a, b), nonzero([t, t]))
        binary('rem', t, lambda a, b: a - b * quotient(a, b), nonzero([t, t]))
        binary('min', t, min)
        binary('max', t, max)
        form('mad', f'mad.lo.{t} %d0, %a, %b, %c;', f'{t} {t} {t}', t, lambda a, b, c: a * b + c)
        form('mad', f'mad.hi.{t} %d0, %a, %b, %c;', f'{t} {t} {t}', t,
             lambda a, b, c: (view(t, a) * view(t, b) >> n) + c)
        if n < 64:
            wide = t[0] + str(2 * n)
            form('mad', f'mad.wide.{t} %d0, %a, %b, %c;', f'{t} {t} {wide}', wide,
                 lambda a, b, c: view(t, a) * view(t, b) + c)
        form('sad', f'sad.{t} %d0, %a, %b, %c;', f'{t} {t} {t}', t, lambda a, b, c: abs(view(t, a) - view(t, b)) + c)
        if t[0] == 's':
            form('abs', f'abs.{t} %d0, %a;', t, t, lambda a: abs(view(t, a)))
            form('neg', f'neg.{t} %d0, %a;', t, t, lambda a: -view(t, a))
    for op, f in (('add', lambda a, b: a + b), ('sub', lambda a, b: a - b)):
        form(op, f'{op}.sat.s32 %d0, %a, %b;', 's32 s32', 's32',
             lambda a, b: clamp('s32', f(view('s32', a), view('s32', b))))
    form('mad', 'mad.hi.sat.s32 %d0, %a, %b, %c;', 's32 s32 s32', 's32',
         lambda a, b, c: clamp('s32', (view('s32', a) * view('s32', b) >> 32) + view('s32', c)))
    for t in ('u32', 's32'):
        def product24(a, b):
            return view(t[0] + '24', a & 0xffffff) * view(t[0] + '24', b & 0xffffff)
        form('mul24', f'mul24.lo.{t} %d0, %a, %b;', f'{t} {t}', t, product24)
        form('mul24', f'mul24.hi.{t} %d0, %a, %b;', f'{t} {t}', t, lambda a, b: product24(a, b) >> 16)
        form('mad24', f'mad24.lo.{t} %d0, %a, %b, %c;', f'{t} {t} {t}', t, lambda a, b, c: product24(a, b) + c)
    # Immediates, and a carry chain over 96 bits.
    form('add', 'add.s32 %d0, %a, -5;', 's32', 's32', lambda a: a - 5, name='add_s32_immediate')
    form('add', 'add.u64 %d0, %a, 0xfffffffffffffff0;', 'u64', 'u64', lambda a: a - 16, name='add_u64_immediate')
    chain = ['u32'] * 4
    form('carry', '''add.cc.u32 %d0, %a, %c;
        addc.cc.u32 %d1, %b, %d;
        addc.u32 %d2, 0, 0;''', ' '.join(chain), 'u32 u32 u32',
         lambda a, b, c, d: split((b << 32 | a) + (d << 32 | c), 3), name='add_cc')
    form('carry', '''sub.cc.u32 %d0, %a, %c;
        subc.cc.u32 %d1, %b, %d;
        subc.u32 %d2, 0, 0;''', ' '.join(chain), 'u32 u32 u32',
         lambda a, b, c, d: split((b << 32 | a) - (d << 32 | c), 3), name='sub_cc')
    form('carry', '''add.cc.u64 %d0, %a, %c;
        addc.u64 %d1, %b, %d;''', 'u64 u64 u64 u64', 'u64 u64',
         lambda a, b, c, d: ((a + c), (b + d + (a + c >> 64))), name='add_cc_u64')
    form('carry', '''mad.lo.cc.u32 %d0, %a, %b, %c;
        madc.hi.u32 %d1, %a, %b, %d;''', ' '.join(chain), 'u32 u32',
         lambda a, b, c, d: split(a * b + (d << 32 | c), 2), name='mad_cc')
    for x, y in (('u32', 'u32'), ('u32', 's32'), ('s32', 'u32'), ('s32', 's32')):
        def parts(v, t, n):
            return [view(t[0] + str(n), v >> k & ((1 << n) - 1)) for k in range(0, 32, n)]
        form('dp4a', f'dp4a.{x}.{y} %d0, %a, %b, %c;', f'{x} {y} u32', 'u32',
             lambda a, b, c: sum(p * q for p, q in zip(parts(a, x, 8), parts(b, y, 8))) + c)
        for half in ('lo', 'hi'):
            at = 2 if half == 'hi' else 0
            form('dp2a', f'dp2a.{half}.{x}.{y} %d0, %a, %b, %c;', f'{x} {y} u32', 'u32',
                 lambda a, b, c: sum(p * q for p, q in zip(parts(a, x, 16), parts(b, y, 8)[at:at + 2])) + c)
    for t in ('u16x2', 's16x2'):
        one = t[:3]
        def both(f):
            return lambda a, b: sum((f(view(one, a >> k & 0xffff), view(one, b >> k & 0xffff)) & 0xffff) << k
                                    for k in (0, 16))
        form('packed', f'add.{t} %d0, %a, %b;', f'{t} {t}', t, both(lambda x, y: x + y))
        form('packed', f'min.{t} %d0, %a, %b;', f'{t} {t}', t, both(min))
        form('packed', f'max.{t} %d0, %a, %b;', f'{t} {t}', t, both(max))
    form('packed', 'min.relu.s32 %d0, %a, %b;', 's32 s32', 's32', lambda a, b: max(0, min(signed(a, 32), signed(b, 32))))


def split(v, words):
    return tuple(v >> (32 * k) & 0xffffffff for k in range(words))


def shift_rows(t):
    n = width(t)
    return [(a, s) for a in edges(t) for s in (0, 1, n // 2, n - 1, n, n + 1, 0xffffffff)][::2]


def bits():
    for n in (16, 32, 64):
        t = f'b{n}'
        mask = (1 << n) - 1
        binary('and', t, lambda a, b: a & b)
        binary('or', t, lambda a, b: a | b)
        binary('xor', t, lambda a, b: a ^ b)
        form('not', f'not.{t} %d0, %a;', t, t, lambda a: ~a)
        form('not', f'cnot.{t} %d0, %a;', t, t, lambda a: int(a == 0))
        form('shift', f'shl.{t} %d0, %a, %b;', f'{t} u32', t, lambda a, s: a << s if s < n else 0, shift_rows(t))
        for s in ('u', 's'):
            form('shift', f'shr.{s}{n} %d0, %a, %b;', f'{t} u32', t,
                 lambda a, k: (view(f'{s}{n}', a) >> min(k, n)), shift_rows(t))
        if n == 16:
            continue
        form('count', f'popc.{t} %d0, %a;', t, 'u32', lambda a: bin(a).count('1'))
        form('count', f'clz.{t} %d0, %a;', t, 'u32', lambda a: n - a.bit_length())
        form('count', f'brev.{t} %d0, %a;', t, t, lambda a: int(format(a, f'0{n}b')[::-1], 2))
        for s in ('u', 's'):
            def find(a):
                if s == 's' and a >> (n - 1):
                    a = ~a & mask
                return a.bit_length() - 1
            form('bfind', f'bfind.{s}{n} %d0, %a;', t, 'u32', find)
            form('bfind', f'bfind.shiftamt.{s}{n} %d0, %a;', t, 'u32', lambda a: n - 1 - find(a) if find(a) >= 0 else -1)
            def extract(a, pos, length):
                pos, length = pos & 255, length & 255
                if length == 0:
                    return 0
                if s == 's':
                    sign = a >> min(pos + length - 1, n - 1) & 1
                    return sum((a >> (pos + i) & 1 if i < length and pos + i < n else sign) << i for i in range(n))
                return (a >> pos) & ((1 << length) - 1)
            places = [(a, p, l) for a in edges(t)[2:] for p, l in
                      ((0, n), (4, 8), (n - 1, 1), (n - 4, 8), (0, 0), (n, 3), (1, 300), (3, 1))][::2]
            form('field', f'bfe.{s}{n} %d0, %a, %b, %c;', f'{t} u32 u32', t, extract, places)
        def insert(a, b, pos, length):
            pos, length = pos & 255, length & 255
            for i in range(length):
                if pos + i < n:
                    b = b & ~(1 << pos + i) | (a >> i & 1 if i < n else 0) << pos + i
            return b
        form('field', f'bfi.{t} %d0, %a, %b, %c, %d;', f'{t} {t} u32 u32', t, insert,
             [(a, b, p, l) for (a, b), (p, l) in zip(rows([t, t]), ((0, n), (4, 8), (n - 1, 1), (n - 4, 8), (0, 0), (n, 3)) * 7)])
    for mode in ('clamp', 'wrap'):
        def amount(c):
            return min(c, 32) if mode == 'clamp' else c & 31
        values = [(a, b, c) for a, b in rows(['b32', 'b32'], 10) for c in (0, 1, 31, 32, 33)]
        form('funnel', f'shf.l.{mode}.b32 %d0, %a, %b, %c;', 'b32 b32 u32', 'b32',
             lambda a, b, c: (b << 32 | a) << amount(c) >> 32, values)
        form('funnel', f'shf.r.{mode}.b32 %d0, %a, %b, %c;', 'b32 b32 u32', 'b32',
             lambda a, b, c: (b << 32 | a) >> amount(c), values)
    def permute(a, b, control):
        source = b << 32 | a
        out = 0
        for k in range(4):
            select = control >> (4 * k) & 15
            byte = source >> (8 * (select & 7)) & 255
            if select & 8:
                byte = 255 if byte & 128 else 0
            out |= byte << (8 * k)
        return out
    form('permute', 'prmt.b32 %d0, %a, %b, %c;', 'b32 b32 b32', 'b32', permute,
         [(a, b, c) for a, b in rows(['b32', 'b32'], 6) for c in (0x3210, 0x7654, 0x0123, 0xfedc, 0x5410, 0x8888)])
    orders = {'f4e': [(0, 1, 2, 3), (1, 2, 3, 4), (2, 3, 4, 5), (3, 4, 5, 6)],
              'b4e': [(0, 7, 6, 5), (1, 0, 7, 6), (2, 1, 0, 7), (3, 2, 1, 0)],
              'rc8': [(k, k, k, k) for k in range(4)],
              'ecl': [tuple(max(k, i) for i in range(4)) for k in range(4)],
              'ecr': [tuple(min(k, i) for i in range(4)) for k in range(4)],
              'rc16': [(0, 1, 0, 1), (2, 3, 2, 3), (0, 1, 0, 1), (2, 3, 2, 3)]}
    for mode, order in orders.items():
        form('permute', f'prmt.b32.{mode} %d0, %a, %b, %c;', 'b32 b32 b32', 'b32',
             lambda a, b, c: sum(((b << 32 | a) >> 8 * s & 255) << 8 * k for k, s in enumerate(order[c & 3])),
             [(0x33221100, 0x77665544, c) for c in range(8)])
    for table in (0x80, 0xfe, 0x96, 0xca, 0x00, 0xff, 0x1b):
        def lop(a, b, c):
            return sum((table >> ((a >> i & 1) << 2 | (b >> i & 1) << 1 | (c >> i & 1)) & 1) << i for i in range(32))
        form('lop3', f'lop3.b32 %d0, %a, %b, %c, {table:#x};', 'b32 b32 b32', 'b32', lop, name=f'lop3_{table:02x}', count=16)
    for mode in ('clamp', 'wrap'):
        def mask_bits(a, b):
            if mode == 'wrap':
                a, b = a & 31, b & 31
            return ((1 << min(b, 32)) - 1) << a if a < 32 else 0
        form('bmsk', f'bmsk.{mode}.b32 %d0, %a, %b;', 'u32 u32', 'b32', mask_bits,
             [(a, b) for a in (0, 1, 5, 31, 32, 40) for b in (0, 1, 8, 31, 32, 33)])
        for s in ('u', 's'):
            def extend(a, b):
                b = min(b, 32) if mode == 'clamp' else b & 31
                if b == 0:
                    return 0
                a &= (1 << b) - 1
                return signed(a, b) if s == 's' else a
            form('szext', f'szext.{mode}.{s}32 %d0, %a, %b;', 'u32 u32', 'u32', extend,
                 [(a, b) for a in edges('u32') for b in (0, 1, 8, 31, 32, 40)][::2])
    def nth(mask, base, offset):
        if offset == 0:
            return base if mask >> base & 1 else 0xffffffff
        found, step, at = 0, 1 if offset > 0 else -1, base
        while 0 <= at < 32:
            found += mask >> at & 1
            if found == abs(offset):
                return at
            at += step
        return 0xffffffff
    form('fns', 'fns.b32 %d0, %a, %b, %c;', 'b32 u32 s32', 'u32', lambda a, b, c: nth(a, b, signed(c, 32)),
         [(m, b, o & 0xffffffff) for m in (0xffffffff, 0x90010203, 0, 1 << 31) for b in (0, 5, 31) for o in (0, 1, 2, 3, -1, -2)])


COMPARE = {'eq': lambda a, b: a == b, 'ne': lambda a, b: a != b, 'lt': lambda a, b: a < b, 'le': lambda a, b: a <= b,
           'gt': lambda a, b: a > b, 'ge': lambda a, b: a >= b}


def comparison():
    for t in INTEGERS:
        for op, f in COMPARE.items():
            form('setp', f'setp.{op}.{t} %p, %a, %b;', f'{t} {t}', 'pred', lambda a, b: int(f(view(t, a), view(t, b))),
                 count=30)
    for op, f in (('lo', 'lt'), ('ls', 'le'), ('hi', 'gt'), ('hs', 'ge')):
        form('setp', f'setp.{op}.u32 %p, %a, %b;', 'u32 u32', 'pred', lambda a, b: int(COMPARE[f](a, b)), count=30)
    for boolean, g in (('and', lambda x, y: x and y), ('or', lambda x, y: x or y), ('xor', lambda x, y: x != y)):
        form('setp', f'''setp.ne.u32 %skip, %c, 0;
            setp.lt.{boolean}.s32 %p|%q, %a, %b, %skip;''', 's32 s32 u32', 'pred pred',
             lambda a, b, c: (int(g(view('s32', a) < view('s32', b), c != 0)),
                              int(g(not view('s32', a) < view('s32', b), c != 0))),
             [(a, b, k % 2) for k, (a, b) in enumerate(rows(['s32', 's32']))], name=f'setp_{boolean}')
    form('set', 'set.lt.u32.s32 %d0, %a, %b;', 's32 s32', 'u32',
         lambda a, b: 0xffffffff if view('s32', a) < view('s32', b) else 0)
    form('set', 'set.ge.f32.u32 %d0, %a, %b;', 'u32 u32', 'f32', lambda a, b: 0x3f800000 if a >= b else 0)
    for t in ('b16', 'b32', 'b64', 'f32', 'f64'):
        form('selp', f'''setp.ne.u32 %skip, %c, 0;
            selp.{t} %d0, %a, %b, %skip;''', f'{t} {t} u32', t, lambda a, b, c: a if c else b,
             [(a, b, k % 3) for k, (a, b) in enumerate(rows([t, t]))], name=f'selp_{t}')
        form('selp', f'slct.{t}.s32 %d0, %a, %b, %c;' if t != 'b16' else f'slct.{t}.s32 %d0, %a, %b, %c;', f'{t} {t} s32', t,
             lambda a, b, c: a if signed(c, 32) >= 0 else b)
    form('selp', 'slct.b32.f32 %d0, %a, %b, %c;', 'b32 b32 f32', 'b32',
         lambda a, b, c: b if (c & 0x7fffffff) > 0x7f800000 or (c >> 31 and c != 0x80000000) else a)


def conversion():
    types = ['u8', 's8', 'u16', 's16', 'u32', 's32', 'u64', 's64']
    for to in types:
        for source in types:
            form('cvt_integer', f'cvt.{to}.{source} %d0, %a;', source, to, lambda a: view(source, a), count=20)
            low, high = limits(to)
            from_low, from_high = limits(source)
            if from_low < low or from_high > high:
                form('cvt_integer', f'cvt.sat.{to}.{source} %d0, %a;', source, to, lambda a: clamp(to, view(source, a)), count=20)
    # Registers wider than the type, as compilers use them.
    form('cvt_integer', 'cvt.s32.s8 %d0, %a;', 'u32', 'u32', lambda a: signed(a, 8), name='cvt_s32_s8_wide_source')
    form('cvt_integer', 'cvt.u32.u8 %d0, %a;', 'u32', 'u32', lambda a: a & 255, name='cvt_u32_u8_wide_source')
    form('cvt_integer', 'cvt.s8.s64 %d0, %a;', 'u64', 'u32', lambda a: signed(a, 8), name='cvt_s8_s64_wide_destination')
    form('cvt_integer', 'cvt.u16.u32 %d0, %a;', 'u32', 'u32', lambda a: a & 0xffff, name='cvt_u16_u32_wide_destination')
    for to in ('u16', 's16'):
        form('cvt_pack', f'cvt.pack.sat.{to}.s32 %d0, %a, %b;', 's32 s32', 'b32',
             lambda a, b: (clamp(to, signed(a, 32)) & 0xffff) << 16 | clamp(to, signed(b, 32)) & 0xffff)
    for to, n in (('u8', 8), ('s8', 8), ('u4', 4), ('s4', 4), ('u2', 2), ('s2', 2)):
        def one(v):
            low, high = (-(1 << n - 1), (1 << n - 1) - 1) if to[0] == 's' else (0, (1 << n) - 1)
            return max(low, min(high, signed(v, 32))) & ((1 << n) - 1)
        form('cvt_pack', f'cvt.pack.sat.{to}.s32.b32 %d0, %a, %b, %c;', 's32 s32 b32', 'b32',
             lambda a, b, c: c << 2 * n | one(a) << n | one(b),
             [(a, b, c) for (a, b), (c,) in zip(rows(['s32', 's32']), rows(['b32'], 20) * 2)] +
             [(k, 0xfffffffb - k, k * 77) for k in range(6)])


def declare():
    arithmetic()
    bits()
    comparison()
    conversion()
