"""Floating-point instructions and conversions."""
import math
import random
import struct
from fractions import Fraction

import numbers_exact as x
from kernel import edges, form, randoms, rows, signed, width
from numbers_exact import BF16, F16, F32, F64, FORMATS, NAN

MODES = ('rn', 'rz', 'rm', 'rp')


def mild(f, count):
    """Finite values of like sizes, where cancellation and rounding happen."""
    return [random.getrandbits(f.bits) | (f.bias + random.randint(-4, 4)) << f.bits | random.getrandbits(1) * f.sign
            for _ in range(count)]


def values(f, arity, count=28):
    edge = rows([f.name] * arity, count)
    columns = [mild(f, 16) for _ in range(arity)]
    near = [tuple(c[k] for c in columns) for k in range(16)]
    if arity == 3:  # a * b against its own negative: cancellation to the rounding error
        near += [(a, b, x.mul(f, a, b) ^ f.sign) for a, b, _ in near[:8]]
    return edge + near


def flushing(f, g):
    def result(*operands):
        r = g(*(x.flush(f, v) for v in operands))
        return r if r == NAN else x.flush(f, r)
    return result


def packed(f):
    """An operation on 16-bit values applied to both halves."""
    return lambda *v: f(*(a & 0xffff for a in v)) | f(*(a >> 16 for a in v)) << 16


def packed_rows(f, arity):
    one = values(f, arity)
    return [tuple(a | b << 16 for a, b in zip(low, high)) for low, high in zip(one, one[::-1])]


def arithmetic():
    for f in (F32, F64):
        t = f.name
        for name, g in (('add', x.add), ('mul', x.mul), ('sub', lambda f, a, b, m='rn': x.add(f, a, b if x.is_nan(f, b) else b ^ f.sign, m))):
            for mode in MODES:
                form(f'float_{name}', f'{name}.{mode}.{t} %d0, %a, %b;', f'{t} {t}', t,
                     lambda a, b: g(f, a, b, mode), values(f, 2))
            form(f'float_{name}', f'{name}.{t} %d0, %a, %b;', f'{t} {t}', t, lambda a, b: g(f, a, b), values(f, 2))
            if f is F32:
                form(f'float_{name}', f'{name}.ftz.f32 %d0, %a, %b;', 'f32 f32', 'f32',
                     flushing(f, lambda a, b: g(f, a, b)), values(f, 2))
                form(f'float_{name}', f'{name}.sat.f32 %d0, %a, %b;', 'f32 f32', 'f32',
                     lambda a, b: x.saturate(f, g(f, a, b)), values(f, 2))
        for mode in MODES:
            form('fma', f'fma.{mode}.{t} %d0, %a, %b, %c;', f'{t} {t} {t}', t,
                 lambda a, b, c: x.fma(f, a, b, c, mode), values(f, 3))
            form('float_div', f'div.{mode}.{t} %d0, %a, %b;', f'{t} {t}', t,
                 lambda a, b: x.div(f, a, b, mode), values(f, 2))
            form('root', f'rcp.{mode}.{t} %d0, %a;', t, t, lambda a: x.div(f, f.bias << f.bits, a, mode), values(f, 1))
            form('root', f'sqrt.{mode}.{t} %d0, %a;', t, t, lambda a: x.sqrt(f, a, mode), values(f, 1))
        for is_min, name in ((True, 'min'), (False, 'max')):
            form('float_minmax', f'{name}.{t} %d0, %a, %b;', f'{t} {t}', t,
                 lambda a, b: x.minmax(f, a, b, is_min), values(f, 2))
        form('float_sign', f'abs.{t} %d0, %a;', t, t, lambda a: a & ~f.sign, values(f, 1))
        form('float_sign', f'neg.{t} %d0, %a;', t, t, lambda a: a ^ f.sign, values(f, 1))
        form('float_sign', f'copysign.{t} %d0, %a, %b;', f'{t} {t}', t, lambda a, b: a & f.sign | b & ~f.sign, values(f, 2))
        magnitude = lambda v: v & ~f.sign
        for test, g in (('finite', lambda v: v < f.infinity), ('infinite', lambda v: v == f.infinity),
                        ('number', lambda v: v <= f.infinity), ('notanumber', lambda v: v > f.infinity),
                        ('normal', lambda v: f.smallest <= v < f.infinity), ('subnormal', lambda v: 0 < v < f.smallest)):
            form('testp', f'testp.{test}.{t} %p, %a;', t, 'pred', lambda a: int(g(magnitude(a))), values(f, 1))
    for name, g in (('fma.rn.ftz.f32', lambda a, b, c: flushing(F32, lambda *v: x.fma(F32, *v))(a, b, c)),
                    ('fma.rn.sat.f32', lambda a, b, c: x.saturate(F32, x.fma(F32, a, b, c))),
                    ('mad.rn.f32', lambda a, b, c: x.fma(F32, a, b, c))):
        form('fma', f'{name} %d0, %a, %b, %c;', 'f32 f32 f32', 'f32', g, values(F32, 3))
    near = lambda g, ulps: lambda *v: (lambda r: r if x.is_nan(F32, r) or x.is_inf(F32, r) else '%x~%d' % (r, ulps))(g(*v))
    ordinary = [(a, b) for a, b in values(F32, 2) if (b & 0x7fffffff) <= 0x7e800000 and (b & 0x7fffffff) >= 0x800000]
    form('float_div', 'div.approx.f32 %d0, %a, %b;', 'f32 f32', 'f32', near(lambda a, b: x.div(F32, a, b), 2), ordinary)
    form('float_div', 'div.full.f32 %d0, %a, %b;', 'f32 f32', 'f32', near(lambda a, b: x.div(F32, a, b), 2), ordinary)
    form('root', 'rcp.approx.ftz.f32 %d0, %a;', 'f32', 'f32',
         near(flushing(F32, lambda a: x.div(F32, 0x3f800000, a)), 1), values(F32, 1))
    form('root', 'sqrt.approx.ftz.f32 %d0, %a;', 'f32', 'f32', near(flushing(F32, lambda a: x.sqrt(F32, a)), 1), values(F32, 1))
    for is_min, name in ((True, 'min'), (False, 'max')):
        for flags in ('.ftz', '.NaN', '.NaN.xorsign.abs', '.xorsign.abs'):
            g = lambda a, b: x.minmax(F32, a, b, is_min, 'NaN' in flags, 'xorsign' in flags)
            rows_ = values(F32, 2)
            if 'xorsign' in flags:  # with NaNs the sign is left open
                rows_ = [r for r in rows_ if not any(x.is_nan(F32, v) for v in r)]
            form('float_minmax', f'{name}{flags}.f32 %d0, %a, %b;', 'f32 f32', 'f32', flushing(F32, g) if 'ftz' in flags else g, rows_)
    form('float_sign', 'abs.ftz.f32 %d0, %a;', 'f32', 'f32', lambda a: x.flush(F32, a) & ~F32.sign,
         [v for v in values(F32, 1) if not x.is_nan(F32, v[0])])
    form('float_sign', 'neg.ftz.f32 %d0, %a;', 'f32', 'f32', lambda a: x.flush(F32, a) ^ F32.sign,
         [v for v in values(F32, 1) if not x.is_nan(F32, v[0])])
    for t, f in (('f32', F32), ('f64', F64), ('f16', F16), ('bf16', BF16)):
        for op in ('eq', 'ne', 'lt', 'le', 'gt', 'ge', 'equ', 'neu', 'ltu', 'leu', 'gtu', 'geu', 'num', 'nan'):
            def compare(a, b):
                unordered = x.is_nan(f, a) or x.is_nan(f, b)
                if op == 'num':
                    return int(not unordered)
                if op == 'nan' or unordered:
                    return int(unordered and (op == 'nan' or op.endswith('u') and len(op) == 3))
                p, q = order(f, a), order(f, b)
                return int({'eq': p == q, 'ne': p != q, 'lt': p < q, 'le': p <= q, 'gt': p > q, 'ge': p >= q}[op[:2]])
            form('float_setp', f'setp.{op}.{t} %p, %a, %b;', f'{t} {t}', 'pred', compare, values(f, 2))
    form('float_setp', 'setp.lt.ftz.f32 %p, %a, %b;', 'f32 f32', 'pred',
         lambda a, b: int(not x.is_nan(F32, a) and not x.is_nan(F32, b) and order(F32, x.flush(F32, a)) < order(F32, x.flush(F32, b))),
         values(F32, 2))
    form('float_setp', 'set.gtu.u32.f32 %d0, %a, %b;', 'f32 f32', 'u32',
         lambda a, b: 0xffffffff if x.is_nan(F32, a) or x.is_nan(F32, b) or order(F32, a) > order(F32, b) else 0, values(F32, 2))
    form('immediate', 'add.f32 %d0, %a, 0f3F800000;', 'f32', 'f32', lambda a: x.add(F32, a, 0x3f800000), values(F32, 1), name='add_f32_hex')
    form('immediate', 'mul.f64 %d0, %a, 0dBFE0000000000000;', 'f64', 'f64', lambda a: x.mul(F64, a, 0xbfe0000000000000), values(F64, 1), name='mul_f64_hex')
    form('immediate', 'mul.f64 %d0, %a, 2.5;', 'f64', 'f64', lambda a: x.mul(F64, a, 0x4004000000000000), values(F64, 1), name='mul_f64_decimal')


def order(f, v):
    m = v & ~f.sign
    return -m if v & f.sign else m


def halves():
    for f in (F16, BF16):
        t = f.name
        pair = t + 'x2'
        def add(a, b): return x.add(f, a, b)
        def sub(a, b): return x.add(f, a, b if x.is_nan(f, b) else b ^ f.sign)
        def mul(a, b): return x.mul(f, a, b)
        def fma(a, b, c): return x.fma(f, a, b, c)
        def relu(g):
            return lambda *v: (lambda r: r if x.is_nan(f, r) else 0 if x.negative(f, r) or r == 0 else r)(g(*v))
        forms = [('add', add, 2), ('sub', sub, 2), ('mul', mul, 2), ('fma.rn', fma, 3), ('fma.rn.relu', relu(fma), 3)]
        if f is F16:
            forms += [(f'{n}{m}', (lambda g: lambda *v: x.saturate(f, g(*v)))(g), k) for n, g, k in forms[:4] for m in ('.sat',)]
            forms += [(f'{n}.ftz', flushing(f, g), k) for n, g, k in forms[:4]]
        for name, g, arity in forms:
            letters = ', '.join(['%a', '%b', '%c'][:arity])
            form('half', f'{name}.{t} %d0, {letters};', ' '.join([t] * arity), t, g, values(f, arity))
            form('half', f'{name}.{pair} %d0, {letters};', ' '.join([pair] * arity), pair, packed(g), packed_rows(f, arity))
        for is_min, name in ((True, 'min'), (False, 'max')):
            for flags in ('', '.NaN', '.NaN.xorsign.abs', '.xorsign.abs'):
                g = lambda a, b: x.minmax(f, a, b, is_min, 'NaN' in flags, 'xorsign' in flags)
                keep = lambda r: not any(x.is_nan(f, v) for v in r)
                one = [r for r in values(f, 2) if 'xorsign' not in flags or keep(r)]
                form('half_minmax', f'{name}{flags}.{t} %d0, %a, %b;', f'{t} {t}', t, g, one)
                two = [tuple(a | b << 16 for a, b in zip(p, q)) for p, q in zip(one, one[::-1])]
                form('half_minmax', f'{name}{flags}.{pair} %d0, %a, %b;', f'{pair} {pair}', pair, packed(g), two)
        numbers = [v for v in values(f, 1) if not x.is_nan(f, v[0])]
        form('half', f'abs.{t} %d0, %a;', t, t, lambda a: a & 0x7fff, numbers)
        form('half', f'neg.{t} %d0, %a;', t, t, lambda a: a ^ 0x8000, numbers)
        form('half', f'neg.{pair} %d0, %a;', pair, pair, lambda a: a ^ 0x80008000, [(a | b << 16,) for (a,), (b,) in zip(numbers, numbers[::-1])])


def real(f, v):
    """As a Python float, for functions that have no exact value."""
    if x.is_inf(f, v):
        return -math.inf if x.negative(f, v) else math.inf
    return float(x.value(f, v)) if v != f.sign else -0.0


def functions():
    def table(g, ulps, f=F32):
        def result(a):
            if x.is_nan(f, a):
                return f.nan
            r = g(real(f, a), x.negative(f, a))
            if r is None:
                return f.nan
            if math.isinf(r):
                return f.infinity | (f.sign if r < 0 else 0)
            exact = x.encode(f, Fraction(r), 'rn', math.copysign(1, r) < 0)
            return exact if exact in (0, f.sign) or x.is_inf(f, exact) else '%x~%d' % (exact, ulps)
        return result
    def exp2(v, _):
        return math.inf if v > 1000 else 0.0 if v < -1000 else 2.0 ** v
    def log2(v, negative):
        return -math.inf if v == 0 else None if negative else v if math.isinf(v) else math.log2(v)
    angles = [(struct.unpack('<I', struct.pack('<f', v))[0],) for v in
              (0.0, -0.0, 1.0, -1.0, 0.5, 3.0, -3.0, 1.5, 2.25, 0.01, -2.75, 1e-3, math.inf, -math.inf, math.nan)]
    sin = lambda v, n: None if math.isinf(v) else math.sin(v) if v else v
    cos = lambda v, n: None if math.isinf(v) else math.cos(v)
    form('transcendental', 'sin.approx.f32 %d0, %a;', 'f32', 'f32', table(sin, 2), angles)
    form('transcendental', 'cos.approx.f32 %d0, %a;', 'f32', 'f32', table(cos, 2), angles)
    form('transcendental', 'ex2.approx.f32 %d0, %a;', 'f32', 'f32', table(exp2, 2), values(F32, 1))
    form('transcendental', 'lg2.approx.f32 %d0, %a;', 'f32', 'f32', table(log2, 2), values(F32, 1))
    form('transcendental', 'tanh.approx.f32 %d0, %a;', 'f32', 'f32', table(lambda v, n: math.tanh(v) if v else v, 2), values(F32, 1))
    def rsqrt(v, negative):
        if v == 0:
            return -math.inf if negative else math.inf
        return None if negative else 0.0 if math.isinf(v) else 1 / math.sqrt(v)
    form('transcendental', 'rsqrt.approx.f32 %d0, %a;', 'f32', 'f32', table(rsqrt, 2), values(F32, 1))
    ftz = lambda g: flushing(F32, lambda a: g(a)) if False else (lambda a: g(x.flush(F32, a)))
    form('transcendental', 'ex2.approx.ftz.f32 %d0, %a;', 'f32', 'f32', ftz(table(exp2, 2)),
         [v for v in values(F32, 1) if not 0x42fc0000 < (v[0] & 0x7fffffff) < 0x43200000])
    form('transcendental', 'lg2.approx.ftz.f32 %d0, %a;', 'f32', 'f32', ftz(table(log2, 2)), values(F32, 1))
    form('transcendental', 'ex2.approx.f16 %d0, %a;', 'f16', 'f16', table(exp2, 1, F16), values(F16, 1))
    form('transcendental', 'tanh.approx.f16 %d0, %a;', 'f16', 'f16', table(lambda v, n: math.tanh(v) if v else v, 1, F16), values(F16, 1))
    form('transcendental', 'ex2.approx.ftz.bf16 %d0, %a;', 'bf16', 'bf16', table(exp2, 1, BF16),
         [v for v in values(BF16, 1) if F32.smallest >> 16 <= v[0] & 0x7fff < 0x42f0 or v[0] & 0x7fff == 0x7f80])
    def rough(g):
        def result(a):
            if x.is_nan(F64, a):
                return NAN
            a = x.flush(F64, a & ~0xffffffff)
            r = g(a)
            return r if r == NAN or x.is_inf(F64, r) or x.is_zero(F64, r) else '%x~%d' % (r & ~0xffffffff, 1 << 33)
        return result
    form('transcendental', 'rcp.approx.ftz.f64 %d0, %a;', 'f64', 'f64', rough(lambda a: x.div(F64, F64.bias << 52, a)),
         [v for v in values(F64, 1) if v[0] & ~F64.sign < 0x7fc0000000000000 or v[0] & ~F64.sign >= F64.infinity])
    form('transcendental', 'rsqrt.approx.ftz.f64 %d0, %a;', 'f64', 'f64',
         rough(lambda a: x.div(F64, F64.bias << 52, x.sqrt(F64, a)) if not (a >> 63 and a != F64.sign) and not x.is_nan(F64, a) else NAN), values(F64, 1))


def conversions():
    integers = ['u8', 's8', 'u16', 's16', 'u32', 's32', 'u64', 's64']
    for t, f in FORMATS.items():
        for i in integers:
            if t == 'bf16' and width(i) == 8:  # no such form
                continue
            n = width(i)
            number = lambda v: signed(v, n) if i[0] == 's' else v
            low, high = (-(1 << n - 1), (1 << n - 1) - 1) if i[0] == 's' else (0, (1 << n) - 1)
            sources = [(v,) for v in edges(i) + randoms(i, 8) + [((1 << 24) + 1) % (1 << n), ((1 << 53) + 1) % (1 << n), ((1 << n) - 1) & ~((1 << n // 3) - 1)]]
            for mode in MODES if n > 8 else ('rn',):
                form('cvt_from_integer', f'cvt.{mode}.{t}.{i} %d0, %a;', i, t,
                     lambda a: x.encode(f, Fraction(number(a)), mode), sources)
            for mode in ('rni', 'rzi', 'rmi', 'rpi'):
                def convert(a):
                    if x.is_nan(f, a):
                        return 1 << (n - 1) if f is F64 or n == 64 else 0
                    if x.is_inf(f, a):
                        return low if x.negative(f, a) else high
                    return max(low, min(high, x.round_integer(x.value(f, a), mode)))
                reals = values(f, 1) + [(x.encode(f, Fraction(k, 4)),) for k in (-7, -6, -3, -2, -1, 1, 2, 3, 6, 9, 10, 511, 512, 1021, 131070)]
                reals += [(x.encode(f, Fraction(2) ** k + d),) for k in (8, 15, 16, 31, 32, 62, 63, 64) for d in (0, -1)]
                form('cvt_to_integer', f'cvt.{mode}.{i}.{t} %d0, %a;', t, i, convert, reals)
        for mode in ('rni', 'rzi', 'rmi', 'rpi'):
            reals = [v for v in values(f, 1) if not x.is_nan(f, v[0])] + [(x.encode(f, Fraction(k, 4)),) for k in range(-11, 12)]
            form('cvt_float', f'cvt.{mode}.{t}.{t} %d0, %a;', t, t, lambda a: x.integral(f, a, mode), reals)
    def narrow(to, source, mode):
        def convert(a):
            if x.is_nan(source, a):
                return x.nan_of(to)
            if x.is_inf(source, a):
                return to.infinity | (to.sign if x.negative(source, a) else 0)
            return x.encode(to, x.value(source, a), mode, x.negative(source, a))
        return convert
    def sources(source, to):
        tie = [x.encode(source, Fraction(2) ** e * (1 + Fraction(k, 1 << to.bits + 2)), 'rn') for e in (0, 5, -14, -130) for k in (1, 2, 3, 5, 6, 7)]
        small = [x.encode(source, Fraction(k, 4) * Fraction(2) ** (1 - to.bias - to.bits)) for k in (1, 2, 3, 5, 6, 7)]
        return values(source, 1) + [(v,) for v in tie + small + [v | source.sign for v in tie[:4] + small]]
    for to, source in ((F32, F64), (F16, F32), (F16, F64), (BF16, F32)):
        for mode in MODES if source is not F64 or to is F32 else ('rn', 'rz'):
            if to is BF16 and mode in ('rm', 'rp'):
                continue
            form('cvt_float', f'cvt.{mode}.{to.name}.{source.name} %d0, %a;', source.name, to.name, narrow(to, source, mode), sources(source, to))
    for to, source in ((F64, F32), (F32, F16), (F32, BF16), (F64, F16)):
        form('cvt_float', f'cvt.{to.name}.{source.name} %d0, %a;', source.name, to.name,
             (lambda g, s: lambda a: NAN if x.is_nan(s, a) else g(a))(narrow(to, source, 'rn'), source), values(source, 1))
    form('cvt_float', 'cvt.rn.ftz.f32.f64 %d0, %a;', 'f64', 'f32', lambda a: x.flush(F32, narrow(F32, F64, 'rn')(a)), sources(F64, F32))
    form('cvt_float', 'cvt.ftz.f64.f32 %d0, %a;', 'f32', 'f64', lambda a: narrow(F64, F32, 'rn')(x.flush(F32, a)), values(F32, 1))
    form('cvt_float', 'cvt.sat.f32.f32 %d0, %a;', 'f32', 'f32', lambda a: x.saturate(F32, a), values(F32, 1))
    form('cvt_float', 'cvt.rn.sat.f16.f32 %d0, %a;', 'f32', 'f16', lambda a: x.saturate(F16, narrow(F16, F32, 'rn')(a)), values(F32, 1))
    form('cvt_float', 'cvt.ftz.f32.f32 %d0, %a;', 'f32', 'f32', lambda a: x.flush(F32, a), [v for v in values(F32, 1) if not x.is_nan(F32, v[0])])
    for f in (F16, BF16):
        pair = f.name + 'x2'
        for mode in ('rn', 'rz'):
            one = narrow(f, F32, mode)
            pairs = [(a, b) for (a,), (b,) in zip(sources(F32, f), sources(F32, f)[::-1])]
            form('cvt_pack_float', f'cvt.{mode}.{pair}.f32 %d0, %a, %b;', 'f32 f32', pair, lambda a, b: one(a) << 16 | one(b), pairs)
        positive = lambda v: 0 if x.negative(f, v) and not x.is_nan(f, v) else v
        pairs_ = [p for p in pairs if 0x80000000 not in p]
        form('cvt_pack_float', f'cvt.rn.relu.{pair}.f32 %d0, %a, %b;', 'f32 f32', pair,
             lambda a, b: positive(narrow(f, F32, 'rn')(a if not a >> 31 or x.is_nan(F32, a) else 0)) << 16 |
             positive(narrow(f, F32, 'rn')(b if not b >> 31 or x.is_nan(F32, b) else 0)), pairs_)
    def tf32(a, mode):
        if x.is_nan(F32, a):
            return F32.nan
        if x.is_inf(F32, a):
            return a
        add = {'rna': 0x1000, 'rz': 0, 'rn': 0xfff + (a >> 13 & 1)}[mode]
        return a + add & ~0x1fff
    # Bits below a tf32 value's significand are left open by the ISA, but compilers read it as an f32.
    for mode in ('rna', 'rn', 'rz'):
        form('cvt_float', f'cvt.{mode}.tf32.f32 %d0, %a;', 'f32', 'b32', lambda a: tf32(a, mode), sources(F32, x.Format('tf32', 8, 10, 0)))
    quarters()


def quarters():
    """The 8-bit formats, by search through all their values."""
    def decode(kind, v):
        sign, m = -1 if v >> 7 else 1, v & 0x7f
        if kind == 'e4m3':
            if m == 0x7f:
                return None
            e, b = m >> 3, m & 7
            return sign * (Fraction(8 + b, 8) * Fraction(2) ** (e - 7) if e else Fraction(b, 8) * Fraction(2) ** -6)
        e, b = m >> 2, m & 3
        if e == 31:
            return None if b else math.inf * sign
        return sign * (Fraction(4 + b, 4) * Fraction(2) ** (e - 15) if e else Fraction(b, 4) * Fraction(2) ** -14)
    def encode(kind, f, a):
        if x.is_nan(f, a):
            return 0x7f
        sign = 0x80 if x.negative(f, a) else 0
        top = 0x7e if kind == 'e4m3' else 0x7b
        if x.is_inf(f, a):
            return sign | top
        v = abs(x.value(f, a))
        if v >= decode(kind, top):
            return sign | top
        best = min(range(top + 1), key=lambda m: (abs(decode(kind, m) - v), m & 1))
        return sign | best
    for kind in ('e4m3', 'e5m2'):
        t = kind + 'x2'
        ticks = [x.encode(F32, Fraction(k) * Fraction(2) ** e) for k in (9, 10, 11, 17, 19, 21, 23, 25, 27, 29, 31) for e in (-13, -11, -8, -3, 0, 4, 5, 11)]
        pairs = [(a, b) for a, b in zip(ticks, [v | 0x80000000 for v in ticks[::-1]])] + values(F32, 2, 20)
        form('cvt_quarter', f'cvt.rn.satfinite.{t}.f32 %d0, %a, %b;', 'f32 f32', t,
             lambda a, b: encode(kind, F32, a) << 8 | encode(kind, F32, b), pairs)
        form('cvt_quarter', f'cvt.rn.satfinite.{t}.f16x2 %d0, %a;', 'f16x2', t,
             lambda a: encode(kind, F16, a >> 16) << 8 | encode(kind, F16, a & 0xffff), [(a | b << 16,) for a, b in values(F16, 2)])
        def widen(v):
            r = decode(kind, v)
            if r is None:
                return F16.nan
            if r in (math.inf, -math.inf):
                return F16.infinity | (v & 0x80) << 8
            return x.encode(F16, r, 'rn', bool(v >> 7))
        form('cvt_quarter', f'cvt.rn.f16x2.{t} %d0, %a;', t, 'f16x2', lambda a: widen(a >> 8) << 16 | widen(a & 255),
             [(k | (255 - k) << 8,) for k in range(256)])


def declare():
    arithmetic()
    halves()
    functions()
    conversions()
