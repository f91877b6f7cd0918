"""Floating-point formats by exact rational arithmetic: independent of the machine's own arithmetic."""
from fractions import Fraction
from math import isqrt


class Format:
    """A binary format: exponent bits, stored significand bits, and its canonical NaN."""

    def __init__(self, name, exponent, bits, nan):
        self.name, self.exponent, self.bits, self.nan = name, exponent, bits, nan
        self.width = 1 + exponent + bits
        self.sign = 1 << (exponent + bits)
        self.bias = (1 << (exponent - 1)) - 1
        self.infinity = ((1 << exponent) - 1) << bits
        self.largest = self.infinity - 1
        self.smallest = 1 << bits  # smallest normal


F16 = Format('f16', 5, 10, 0x7FFF)
BF16 = Format('bf16', 8, 7, 0x7FFF)
F32 = Format('f32', 8, 23, 0x7FFFFFFF)
F64 = Format('f64', 11, 52, None)  # any NaN: the payload is the operand's
FORMATS = {f.name: f for f in (F16, BF16, F32, F64)}
NAN = 'nan'  # expected value "any NaN"


def is_nan(f, v):
    return (v & ~f.sign) > f.infinity


def is_inf(f, v):
    return (v & ~f.sign) == f.infinity


def is_zero(f, v):
    return (v & ~f.sign) == 0


def negative(f, v):
    return (v & f.sign) != 0


def nan_of(f):
    return NAN if f.nan is None else f.nan


def flush(f, v):
    """Denormals become zeros of their sign."""
    return v & f.sign if (v & ~f.sign) < f.smallest else v


def value(f, v):
    """The exact value of a finite number."""
    e, m = (v & ~f.sign) >> f.bits, v & ((1 << f.bits) - 1)
    if e:
        m |= 1 << f.bits
    else:
        e = 1
    x = Fraction(m) * Fraction(2) ** (e - f.bias - f.bits)
    return -x if negative(f, v) else x


def encode(f, x, mode='rn', zero_negative=False):
    """The exact value x rounded to the format: rn rz rm rp, or rna (half away from zero)."""
    if x == 0:
        return f.sign if zero_negative else 0
    sign, x = x < 0, abs(x)
    e = x.numerator.bit_length() - x.denominator.bit_length()
    if Fraction(2) ** e > x:
        e -= 1
    e = max(e, 1 - f.bias)
    scaled = x / Fraction(2) ** (e - f.bits)
    kept, rest = divmod(scaled.numerator, scaled.denominator)
    rest = Fraction(rest, scaled.denominator)
    half = Fraction(1, 2)
    up = {'rn': rest > half or (rest == half and kept & 1), 'rna': rest >= half, 'rz': False,
          'rm': sign and rest > 0, 'rp': not sign and rest > 0}[mode]
    kept += int(up)
    bits = ((e + f.bias) << f.bits) + kept - (1 << f.bits) if kept >= 1 << f.bits else kept
    if bits >= f.infinity:
        stays = mode == 'rz' or (mode == 'rm' and not sign) or (mode == 'rp' and sign)
        bits = f.largest if stays else f.infinity
    return bits | (f.sign if sign else 0)


def add(f, a, b, mode='rn'):
    if is_nan(f, a) or is_nan(f, b):
        return nan_of(f)
    if is_inf(f, a) or is_inf(f, b):
        if is_inf(f, a) and is_inf(f, b) and a != b:
            return nan_of(f)
        return a if is_inf(f, a) else b
    x = value(f, a) + value(f, b)
    if is_zero(f, a) and is_zero(f, b) and negative(f, a) == negative(f, b):
        return a
    return encode(f, x, mode, mode == 'rm')


def mul(f, a, b, mode='rn'):
    if is_nan(f, a) or is_nan(f, b):
        return nan_of(f)
    sign = (a ^ b) & f.sign
    if is_inf(f, a) or is_inf(f, b):
        return nan_of(f) if is_zero(f, a) or is_zero(f, b) else f.infinity | sign
    return encode(f, value(f, a) * value(f, b), mode, sign != 0)


def fma(f, a, b, c, mode='rn'):
    if is_nan(f, a) or is_nan(f, b) or is_nan(f, c):
        return nan_of(f)
    sign = (a ^ b) & f.sign
    if is_inf(f, a) or is_inf(f, b):
        if is_zero(f, a) or is_zero(f, b) or (is_inf(f, c) and (c & f.sign) != sign):
            return nan_of(f)
        return f.infinity | sign
    if is_inf(f, c):
        return c
    x = value(f, a) * value(f, b) + value(f, c)
    exact_zeros = (is_zero(f, a) or is_zero(f, b)) and is_zero(f, c)
    if x == 0 and exact_zeros and sign == (c & f.sign):
        return sign
    return encode(f, x, mode, mode == 'rm')


def div(f, a, b, mode='rn'):
    if is_nan(f, a) or is_nan(f, b):
        return nan_of(f)
    sign = (a ^ b) & f.sign
    if is_inf(f, a):
        return nan_of(f) if is_inf(f, b) else f.infinity | sign
    if is_inf(f, b):
        return sign
    if is_zero(f, b):
        return nan_of(f) if is_zero(f, a) else f.infinity | sign
    return encode(f, value(f, a) / value(f, b), mode, sign != 0)


def sqrt(f, a, mode='rn'):
    if is_nan(f, a):
        return nan_of(f)
    if is_zero(f, a):
        return a
    if negative(f, a):
        return nan_of(f)
    if is_inf(f, a):
        return a
    x = value(f, a)
    shift = 1200  # far below any bit that counts
    whole = (x.numerator << (2 * shift)) // x.denominator
    root = isqrt(whole)
    exact = root * root == whole and (x.numerator << (2 * shift)) % x.denominator == 0
    return encode(f, Fraction(root, 1 << shift) + (0 if exact else Fraction(1, 1 << (shift + 1))), mode)


def saturate(f, v):
    """.sat: to [0, 1]; a NaN becomes +0."""
    if v == NAN or is_nan(f, v) or negative(f, v) or is_zero(f, v):
        return 0
    one = f.bias << f.bits
    return one if v > one else v


def integral(f, v, mode):
    """Rounded to an integer of the same format: rni rzi rmi rpi."""
    if is_nan(f, v) or is_inf(f, v):
        return v
    return encode(f, Fraction(round_integer(value(f, v), mode)), 'rn', negative(f, v))


def round_integer(x, mode):
    if mode == 'rni':
        return round(x)  # half to even
    floor = x.numerator // x.denominator
    if mode == 'rmi' or floor == x:
        return floor
    if mode == 'rpi':
        return floor + 1
    return floor if x > 0 else floor + 1


def minmax(f, a, b, is_min, keep_nan=False, xor_sign=False):
    sign = (a ^ b) & f.sign
    if xor_sign:
        a, b = a & ~f.sign, b & ~f.sign
    if is_nan(f, a) and is_nan(f, b) or keep_nan and (is_nan(f, a) or is_nan(f, b)):
        return nan_of(f)
    if is_nan(f, a):
        r = b
    elif is_nan(f, b):
        r = a
    else:
        def key(v):
            return -(v & ~f.sign) - 1 if negative(f, v) else v
        r = min(a, b, key=key) if is_min else max(a, b, key=key)
    return (r & ~f.sign) | sign if xor_sign else r


def value_or_zero(f, v):
    """Magnitude bits of a number; 0 for a NaN."""
    return 0 if v == NAN or is_nan(f, v) else v & ~f.sign
