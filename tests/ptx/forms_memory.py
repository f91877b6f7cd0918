"""Moves, loads, stores, atomics and warp-wide exchanges."""
import numbers_exact as x
from kernel import edges, form, rows, signed, width
from numbers_exact import BF16, F16, F32, F64, FORMATS

SPACES = {'shared': ('.shared .align 16 .b8 memory[4096];', 'mov.u32 %t0, memory;\nmad.lo.u32 %t0, %row, 64, %t0;', '%t0'),
          'local': ('.local .align 16 .b8 memory[64];', 'mov.u32 %t0, memory;', '%t0'),
          'generic_local': ('.local .align 16 .b8 memory[64];', 'mov.u64 %l0, memory;\ncvta.local.u64 %l0, %l0;', '%l0'),
          'generic_global': ('', 'mov.u64 %l0, scratch;\nmad.wide.u32 %l0, %row, 64, %l0;', '%l0')}


def moves():
    for t in ('u16', 's32', 'b64', 'f32', 'f64'):
        form('mov', f'mov.{t} %d0, %a;', t, t, lambda a: a)
    form('mov', 'mov.b32 %d0, {%a, %b};', 'b16 b16', 'b32', lambda a, b: a | b << 16, name='mov_pack_b32')
    form('mov', 'mov.b64 %d0, {%a, %b};', 'b32 b32', 'b64', lambda a, b: a | b << 32, name='mov_pack_b64')
    form('mov', 'mov.b64 %d0, {%a, %b, %c, %d};', 'b16 b16 b16 b16', 'b64', lambda a, b, c, d: a | b << 16 | c << 32 | d << 48, name='mov_pack_b64_4')
    form('mov', 'mov.b32 {%d0, %d1}, %a;', 'b32', 'b16 b16', lambda a: (a & 0xffff, a >> 16), name='mov_unpack_b32')
    form('mov', 'mov.b64 {%d0, %d1}, %a;', 'b64', 'b32 b32', lambda a: (a & 0xffffffff, a >> 32), name='mov_unpack_b64')
    form('mov', 'mov.b64 {_, %d0}, %a;', 'b64', 'b32', lambda a: a >> 32, name='mov_unpack_sink')
    form('mov', 'mov.b64 {%a, %b}, %c;\nmov.b64 %d0, {%b, %a};', 'b32 b32 b64', 'b64',
         lambda a, b, c: c >> 32 | (c & 0xffffffff) << 32, name='mov_swap')
    form('mov', 'mov.b128 %w, {%a, %b};\nmov.b128 {%d0, %d1}, %w;', 'b64 b64', 'b64 b64', lambda a, b: (a, b), name='mov_b128', declarations='.reg .b128 %w;')


def memory():
    for space, (declaration, address, base) in SPACES.items():
        name = '' if space.startswith('generic') else '.' + space
        for t in ('u8', 's8', 'u16', 's32', 'b64', 'f32', 'f64'):
            form('memory', f'{address}\nst{name}.{t} [{base}], %a;\nld{name}.{t} %d0, [{base}];', t, t, lambda a: a,
                 name=f'{space}_{t}', declarations=declaration, count=16)
        # Extension into a wider register; the sign follows the type.
        form('memory', f'{address}\nst{name}.u32 [{base}], %a;\nld{name}.s8 %d0, [{base}+1];\nld{name}.u8 %d1, [{base}+1];\nld{name}.s16 %d2, [{base}+2];',
             'b32', 'b32 b32 b64', lambda a: (signed(a >> 8, 8), a >> 8 & 255, signed(a >> 16, 16)), name=f'{space}_extend',
             declarations=declaration, count=16)
        form('memory', f'{address}\nst{name}.v4.u32 [{base}], {{%a, %b, %c, %d}};\nld{name}.v2.u64 {{%l1, %l2}}, [{base}];\nmov.b64 %d0, %l1;\nmov.b64 %d1, %l2;',
             'b32 b32 b32 b32', 'b64 b64', lambda a, b, c, d: (a | b << 32, c | d << 32), name=f'{space}_v4',
             declarations=declaration, count=16)
        form('memory', f'{address}\nst{name}.v2.u16 [{base}+4], {{%a, %b}};\nld{name}.u32 %d0, [{base}+4];', 'b16 b16', 'b32',
             lambda a, b: a | b << 16, name=f'{space}_v2_u16', declarations=declaration, count=16)
        form('memory', f'{address}\nst{name}.v4.u8 [{base}+8], {{%a, %b, %c, %d}};\nld{name}.u32 %d0, [{base}+8];', 'u8 u8 u8 u8',
             'b32', lambda a, b, c, d: a | b << 8 | c << 16 | d << 24, name=f'{space}_v4_u8', declarations=declaration, count=16)
    # Where only some lanes' local addresses agree.
    form('memory', '''mov.u32 %t0, memory;
        and.b32 %t1, %row, 3;
        mad.lo.u32 %t0, %t1, 8, %t0;
        st.local.u64 [%t0], %a;
        ld.local.v2.u32 {%d0, %d1}, [%t0];''', 'b64', 'b32 b32', lambda a: (a & 0xffffffff, a >> 32), name='local_gather',
         declarations='.local .align 16 .b8 memory[64];')
    hints = {'ld.volatile.global.u32': 'plain', 'ld.relaxed.gpu.global.u32': 'order', 'ld.acquire.sys.global.u32': 'order',
             'ld.weak.global.ca.u32': 'cache', 'ld.global.cg.u32': 'cache', 'ld.global.cs.u32': 'cache', 'ld.global.cv.u32': 'cache',
             'ld.global.nc.u32': 'cache', 'ld.global.nc.L1::no_allocate.L2::128B.u32': 'cache', 'ld.global.lu.u32': 'cache',
             'ld.global.L1::evict_last.u32': 'cache', 'ldu.global.u32': 'cache'}
    for text in hints:
        form('memory', f'{text} %d0, [%in];', 'u32', 'u32', lambda a: a, count=8)
    for text in ('st.volatile.global.u32', 'st.relaxed.gpu.global.u32', 'st.release.sys.global.u32', 'st.weak.global.wb.u32',
                 'st.global.cg.u32', 'st.global.cs.u32', 'st.global.wt.u32', 'st.global.L1::no_allocate.u32'):
        form('memory', f'{text} [%out], %a;\nld.global.u32 %d0, [%out];', 'u32', 'u32', lambda a: a, count=8)
    form('memory', 'mov.u32 %d0, %a;\nprefetch.global.L1 [%in];\nprefetch.global.L2 [%in];\nprefetchu.L1 [%in];\nmembar.gl;\nmembar.cta;\nmembar.sys;\nfence.acq_rel.gpu;\nfence.sc.sys;\nfence.proxy.async;',
         'u32', 'u32', lambda a: a, count=8, name='fences_and_prefetches')
    form('memory', 'ld.const.u32 %d0, [table+4];\nmov.u64 %l0, table;\ncvta.const.u64 %l0, %l0;\nld.u32 %d1, [%l0+8];', 'u32',
         'u32 u32', lambda a: (22, 33), count=4, name='constants')
    form('memory', 'ld.param.u32 %d0, [count];\nmov.b64 %l0, count;\nld.param.u16 %h0, [%l0];\ncvt.u32.u16 %d1, %h0;', 'u32', 'u32 u32',
         lambda a: (8, 8), count=8, name='parameters')


def once(name, t, f, values, file='atomic', old=True):
    """Each row on its own cell: memory starts as %a, the operand is %b."""
    n = width(t)
    for space in ('global', 'shared', 'generic'):
        modifier, base = ('.global', '%out') if space == 'global' else ('.shared', '%t0') if space == 'shared' else ('', '%out')
        setup = 'mov.u32 %t0, memory;\nmad.lo.u32 %t0, %row, 8, %t0;\n' if space == 'shared' else ''
        declaration = '.shared .align 8 .b8 memory[8192];' if space == 'shared' else ''
        op, extra = name.split('|') if '|' in name else (name, '')
        operands = '%b, %c' if len(values[0]) == 3 else '%b'
        cell = f'st{modifier}.b{n} [{base}], %a;\natom{modifier}.{op} %d0, [{base}], {operands};\nld{modifier}.b{n} %d1, [{base}];'
        form(file, setup + cell, ' '.join([t] * len(values[0])), f'{t} {t}', lambda *v: (v[0], f(*v)), values,
             name=f'atom_{space}_{op}'.replace('.', '_'), declarations=declaration)


def atomics():
    for t in ('u32', 's32', 'u64', 's64'):
        n = width(t)
        v = lambda a: signed(a, n) if t[0] == 's' else a
        pairs = rows([t, t])
        if t != 's64':
            once(f'add.{t}', t, lambda a, b: a + b, pairs)
        once(f'min.{t}', t, lambda a, b: min(v(a), v(b)), pairs)
        once(f'max.{t}', t, lambda a, b: max(v(a), v(b)), pairs)
    once('inc.u32', 'u32', lambda a, b: 0 if a >= b else a + 1, rows(['u32', 'u32']))
    once('dec.u32', 'u32', lambda a, b: b if a == 0 or a > b else a - 1, rows(['u32', 'u32']))
    for n in (32, 64):
        pairs = rows([f'b{n}', f'b{n}'])
        once(f'and.b{n}', f'b{n}', lambda a, b: a & b, pairs)
        once(f'or.b{n}', f'b{n}', lambda a, b: a | b, pairs)
        once(f'xor.b{n}', f'b{n}', lambda a, b: a ^ b, pairs)
        once(f'exch.b{n}', f'b{n}', lambda a, b: b, pairs)
    for n in (16, 32, 64):
        triples = [(a, a if k % 2 else b, b ^ 5) for k, (a, b) in enumerate(rows([f'b{n}', f'b{n}']))]
        once(f'cas.b{n}', f'b{n}', lambda a, b, c: c if a == b else a, triples)
    for op in ('relaxed.gpu.add.u32', 'acq_rel.sys.add.u32', 'acquire.cta.add.u32', 'release.gpu.add.u32'):
        parts = op.split('.')
        form('atomic', f'st.global.u32 [%out], %a;\natom.{parts[0]}.{parts[1]}.global.add.u32 %d1, [%out], %b;\nld.global.u32 %d0, [%out];',
             'u32 u32', 'u32 u32', lambda a, b: (a + b, a), count=8, name='atom_' + op.replace('.', '_'))
    for t, f in FORMATS.items():
        numbers = [p for p in rows([t, t]) if not any(x.is_nan(f, q) or 0 < q & ~f.sign < f.smallest for q in p)]
        numbers = [p for p in numbers if not 0 < x.value_or_zero(f, x.add(f, *p)) < f.smallest]
        once(f'add.{t}' if width(t) > 16 else f'add.noftz.{t}', t, lambda a, b: x.add(f, a, b), numbers)
        if width(t) == 16:
            pair = t + 'x2'
            joined = [(a | c << 16, b | d << 16) for (a, b), (c, d) in zip(numbers, numbers[::-1])]
            once(f'add.noftz.{pair}', pair,
                 lambda a, b: x.add(f, a & 0xffff, b & 0xffff) | x.add(f, a >> 16, b >> 16) << 16, joined)
    form('atomic', '''mov.u64 %l0, scratch;
        mad.wide.u32 %l0, %row, 8, %l0;
        st.global.v2.f32 [%l0], {%a, %b};
        atom.global.v2.f32.add {%d0, %d1}, [%l0], {%c, %d};
        ld.global.v2.f32 {%d2, %d3}, [%l0];''', 'f32 f32 f32 f32', 'f32 f32 f32 f32',
         lambda a, b, c, d: (a, b, x.add(F32, a, c), x.add(F32, b, d)),
         [(0x3f800000 + k, 0xc0000000 + k, 0x40400000, 0x3f000000 + 7 * k) for k in range(8)], name='atom_v2_f32')
    # Many lanes on one cell: the sum is right whatever the order.
    form('atomic', '''mov.u32 %t0, total;
        setp.ne.u32 %p, %row, 0;
        @!%p st.shared.u32 [%t0], 0;
        bar.warp.sync 0xffffffff;
        red.shared.add.u32 [%t0], %a;
        bar.warp.sync 0xffffffff;
        ld.shared.u32 %t1, [%t0];
        setp.eq.u32 %q, %mask, 0;
        mov.u32 %d0, 1;''', 'u32', 'u32', lambda a: 1, [(k,) for k in range(32)], name='red_shared_add', declarations='.shared .b32 total;')
    for op, g in (('add', lambda a, b: a + b), ('max', max), ('or', lambda a, b: a | b)):
        t = 'b32' if op == 'or' else 'u32'
        form('atomic', f'st.global.u32 [%out], %a;\nred.global.{op}.{t} [%out], %b;\nld.global.u32 %d0, [%out];', 'u32 u32', 'u32', g,
             count=12, name=f'red_{op}')
    form('atomic', 'st.global.f32 [%out], %a;\nred.relaxed.gpu.global.add.f32 [%out], %b;\nld.global.f32 %d0, [%out];', 'f32 f32', 'f32',
         lambda a, b: x.add(F32, a, b), [(0x3f800000, 0x40000000 + k) for k in range(8)], name='red_add_f32')


def declare():
    moves()
    memory()
    atomics()
