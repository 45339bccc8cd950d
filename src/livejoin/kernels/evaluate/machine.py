"""The machine: runs a program for rows, a block of them at a time (`livejoin.kernels.evaluate.layout`).

The law: a register holds, for each row of the block, what its instruction says of that row alone; where a status is not
VALUE, the value beside it means nothing. An error is a status like NULL: it becomes a failure of the row only if a
result that is stored has it.
"""

from __future__ import annotations

import numpy as np

from livejoin.kernels.evaluate import layout as k
from livejoin.kernels.evaluate.binary import binary
from livejoin.kernels.evaluate.decimals import checked, decimal, has_one_scale, limit_of
from livejoin.kernels.evaluate.doubles import double_of, word_of
from livejoin.kernels.evaluate.hashing import hashed
from livejoin.kernels.evaluate.like import fits as fits_pattern
from livejoin.kernels.evaluate.memo import ask, attempt, find
from livejoin.kernels.evaluate.memory import Memory
from livejoin.kernels.evaluate.unary import fits, unary
from livejoin.kernels.jit import helper, kernel
from livejoin.kernels.memory.arena import words as view
from livejoin.kernels.numbers.big_integer import below
from livejoin.kernels.numbers.wide import product_wraps, signed_high_product, sum_wraps
from livejoin.kernels.parameters import Line, Matrix, Texts, Words
from livejoin.kernels.values.dictionary_view import pointers
from livejoin.kernels.values.value_order import double_key, precedes
from livejoin.words import NARROW_LIMIT, NULL_CODE, WIDE_BASE

_FEW = 32  # constants that are compared with one after the other, which takes less than to search


@helper
def _word_at(heap: Words, at: int) -> int:
    """Eight bytes of the dictionary, the low one first."""
    word = np.int64(0)
    for i in range(8):
        word |= np.int64(heap[at + i]) << (8 * i)
    return word  # type: ignore[return-value]


@helper
def _order(kind: int, low: int, high: int, other: int, over: int, texts: Texts) -> int:
    """-1, 0 or 1 as a value is less than another, equal or greater."""
    if low == other and high == over:
        return 0
    if kind == k.BY_DECIMAL:
        if high != over:
            return -1 if high < over else 1
        return -1 if below(low, other) else 1
    return -1 if precedes(low, other, kind, texts) else 1


@helper
def _is_in(p: Words, at: int, size: int, word: int) -> bool:
    """Whether a word is among sorted ones."""
    begin, end = at, at + size
    while begin < end:
        middle = (begin + end) >> 1
        if p[middle] < word:
            begin = middle + 1
        else:
            end = middle
    return bool(begin < at + size and p[begin] == word)


@helper
def _arithmetic(op: int, m: Words, p: Words, i: int, n: int, w: int) -> None:
    """Sums, differences and products that are checked; doubles."""
    to, a, b, status, out = w * p[i + k.TO], w * p[i + k.A], w * p[i + k.B], w * p[i + k.IN], w * p[i + k.OUT]
    x = p[i + k.X]
    error = k.OVERFLOW | (p[i + k.CALL] << k.CODE_BITS)
    if op == k.ADD or op == k.SUBTRACT:
        for r in range(n):
            left = m[a + r]
            right = m[b + r]
            total = left + right if op == k.ADD else left - right
            wraps = sum_wraps(left, right if op == k.ADD else ~right, total)
            m[to + r] = total
            s = m[status + r]
            m[out + r] = s if s != 0 or (wraps == 0 and fits(total, x)) else error
    elif op == k.MULTIPLY:
        for r in range(n):
            product = m[a + r] * m[b + r]
            wraps = product_wraps(m[a + r], m[b + r])
            m[to + r] = product
            s = m[status + r]
            m[out + r] = s if s != 0 or (wraps == 0 and fits(product, x)) else error
    elif op == k.ADD_DOUBLE:
        for r in range(n):
            m[to + r] = word_of(double_of(m[a + r]) + double_of(m[b + r]))
    elif op == k.SUBTRACT_DOUBLE:
        for r in range(n):
            m[to + r] = word_of(double_of(m[a + r]) - double_of(m[b + r]))
    else:  # MULTIPLY_DOUBLE
        for r in range(n):
            m[to + r] = word_of(double_of(m[a + r]) * double_of(m[b + r]))


@helper
def _logic(op: int, m: Words, p: Words, i: int, n: int, w: int) -> None:
    """What looks at statuses."""
    to, a, b, c = w * p[i + k.TO], w * p[i + k.A], w * p[i + k.B], w * p[i + k.C]
    x, y, status, out = w * p[i + k.X], w * p[i + k.Y], w * p[i + k.IN], w * p[i + k.OUT]
    if op == k.AND or op == k.OR:
        decides = 0 if op == k.AND else 1
        for r in range(n):
            s, t = m[x + r], m[y + r]
            value, found = 1 - decides, max(s, t)  # NULL if one is NULL and none an error
            if (s == 0 and m[a + r] == decides) or (s <= k.NULL and t == 0 and m[b + r] == decides):
                value, found = decides, k.VALUE
            elif s > k.NULL:
                found = s
            m[to + r] = value
            m[out + r] = found
    elif op == k.IS_NULL:
        for r in range(n):
            s = m[a + r]
            m[to + r] = 1 if s == k.NULL else 0
            if out != 0:
                m[out + r] = s if s > k.NULL else 0
    elif op == k.IF_TRUE:
        wide = p[i + k.CALL]  # words of the values
        for r in range(n):
            s = m[x + r]
            holds = s == 0 and m[a + r] == 1
            chosen = b if holds else c
            m[to + r] = m[chosen + r]
            if wide == 2:
                m[to + w + r] = m[chosen + w + r]
            m[out + r] = s if s > k.NULL else m[(y if holds else status) + r]
    elif op == k.COALESCE:
        wide = p[i + k.CALL]
        for r in range(n):
            first = m[x + r] != k.NULL
            m[to + r] = m[(a if first else b) + r]
            if wide == 2:
                m[to + w + r] = m[(a if first else b) + w + r]
            m[out + r] = m[(x if first else y) + r]
    else:  # TRY: only in statuses
        call = p[i + k.CALL]
        for r in range(n):
            s = m[a + r]
            m[to + r] = k.NULL if s > k.NULL and s >> k.CODE_BITS == call and s & k.CODE_MASK != k.PENDING else s


@helper
def _compare(op: int, m: Words, p: Words, i: int, n: int, w: int, texts: Texts) -> None:
    """Orders of values that do not compare as words, and hashes."""
    to, a, b, out = w * p[i + k.TO], w * p[i + k.A], w * p[i + k.B], w * p[i + k.OUT]
    x, y, c = w * p[i + k.X], w * p[i + k.Y], p[i + k.C]
    if op == k.COMPARE:
        status = w * p[i + k.IN]
        for r in range(n):
            if m[status + r] == 0:
                high, over = (m[a + w + r], m[b + w + r]) if c == k.BY_DECIMAL else (0, 0)
                m[to + r] = _order(c, m[a + r], high, m[b + r], over, texts)
    elif op == k.SAME:
        wide = c == k.BY_DECIMAL
        for r in range(n):
            s, t = m[x + r], m[y + r]
            same = s == t and (s != 0 or (m[a + r] == m[b + r] and (not wide or m[a + w + r] == m[b + w + r])))
            m[to + r] = 1 if same else 0
            m[out + r] = s if s > k.NULL else (t if t > k.NULL else 0)
    elif op == k.HASH:
        for r in range(n):
            s, t = m[x + r], m[y + r]
            if s == 0 and t == 0:
                m[to + r] = hashed(c, m[a + r], m[a + w + r] if c & 7 == k.HASH_WIDE else 0, m[b + r], texts)
            else:
                m[to + r] = m[b + r]
            m[out + r] = t if t > k.NULL else (s if s > k.NULL else 0)
    else:  # GREATEST, LEAST
        for r in range(n):
            s, t = m[x + r], m[y + r]
            high, over = (m[a + w + r], m[b + w + r]) if c == k.BY_DECIMAL else (0, 0)
            second = s == k.NULL
            if s == 0 and t == 0:
                order = _order(c, m[a + r], high, m[b + r], over, texts)
                second = order < 0 if op == k.GREATEST else order > 0
            m[to + r] = m[(b if second else a) + r]
            if c == k.BY_DECIMAL:
                m[to + w + r] = over if second else high
            m[out + r] = s if s > k.NULL else (t if t > k.NULL or second else s)


@helper
def _each(op: int, m: Words, p: Words, i: int, n: int, w: int) -> None:
    """Operations of a row at a time, that may fail."""
    work = w * p[k.REGISTERS]
    to, a, b, x, y = w * p[i + k.TO], w * p[i + k.A], w * p[i + k.B], p[i + k.X], p[i + k.Y]
    status, out, call = w * p[i + k.IN], w * p[i + k.OUT], p[i + k.CALL] << k.CODE_BITS
    for r in range(n):
        s = m[status + r]
        if s == 0:
            word = high = code = 0
            if op < k.FIRST_BINARY:
                word, code = unary(op, m[a + r], x, y)
            elif op < k.FIRST_DECIMAL:
                word, code = binary(op, m[a + r], m[b + r], x, y)
            else:
                word, high, code = decimal(op, m, work, (m[a + r], m[a + w + r]), (m[b + r], m[b + w + r]), x, y)
                m[to + w + r] = high
            m[to + r] = word
            s = code if code <= k.NULL else code | call
        m[out + r] = s


@helper
def _decimals(op: int, m: Words, p: Words, i: int, n: int, w: int) -> None:
    """Sums, products and other scales of decimals, as `_each`; what one word holds is computed in the loop itself."""
    work = w * p[k.REGISTERS]
    to, a, b, x, y = w * p[i + k.TO], w * p[i + k.A], w * p[i + k.B], p[i + k.X], p[i + k.Y]
    status, out, call = w * p[i + k.IN], w * p[i + k.OUT], p[i + k.CALL] << k.CODE_BITS
    one_scale, limit = has_one_scale(op, x, y), limit_of(x)
    for r in range(n):
        s = m[status + r]
        if s == 0:
            low, high, over = m[a + r], m[a + w + r], 0
            if op != k.RESCALE:
                over = m[b + w + r]
            word, wraps = low, -1
            if one_scale and high == low >> 63:
                if op == k.RESCALE:
                    wraps = 0
                elif over == m[b + r] >> 63:
                    other = m[b + r]
                    if op == k.MULTIPLY_DECIMAL:
                        word, wraps = low * other, product_wraps(low, other)
                    elif op == k.ADD_DECIMAL:
                        word = low + other
                        wraps = sum_wraps(low, other, word)
                    else:
                        word = low - other
                        wraps = sum_wraps(low, ~other, word)
            if wraps == 0 and -limit <= word <= limit:
                m[to + w + r] = word >> 63
            else:
                word, high, s = decimal(op, m, work, (low, high), (m[b + r], over), x, y)
                m[to + w + r] = high
                s = s if s <= k.NULL else s | call
            m[to + r] = word
        m[out + r] = s


@helper
def _remember(memory: Memory, i: int, n: int) -> None:
    """Look results up in a memo."""
    m, p, w, memos = memory.registers, memory.program, memory.width, memory.memos
    to, keys, digits, x, y = w * p[i + k.TO], p[i + k.A], p[i + k.B], p[i + k.X], p[i + k.Y]
    status, out, call = w * p[i + k.IN], w * p[i + k.OUT], p[i + k.CALL] << k.CODE_BITS
    count = p[i + k.C]
    for r in range(n):
        s = m[status + r]
        if s == 0:
            if y == k.TRY_LIKE:
                sure, holds = fits_pattern(p, digits, m[w * p[keys] + r], memory.texts)
                if sure:
                    m[to + r] = 1 if holds else 0
                    m[out + r] = s
                    continue
            elif y != k.NOTHING:
                high = m[w * p[keys + 1] + r] if count > 1 else 0
                sure, word = attempt(y, m[w * p[keys] + r], high, digits & 255)
                if sure:
                    low, over, code = word, word >> 63, 0
                    if y == k.TRY_TO_DECIMAL:
                        low, over, code = checked(word, word >> 63, digits >> 8)
                    m[to + r] = low
                    m[to + w + r] = over
                    m[out + r] = code if code == 0 else code | call
                    continue
            line = find(memory, x, keys, r)
            if memos[line] == k.KNOWN:
                result = line + 1 + count
                m[to + r] = memos[result]
                m[to + w + r] = memos[result + 1]
                s = memos[result + 2]
            else:
                if memos[line] == k.EMPTY:
                    ask(memory, x, line, keys, r)
                s = np.int64(k.PENDING)
        m[out + r] = s


@helper
def _store(op: int, memory: Memory, i: int, n: int, out: Matrix, row: int) -> bool:
    """Give results out; whether some are pending."""
    m, p, w, state = memory.registers, memory.program, memory.width, memory.counters
    a, x, y, status, call = w * p[i + k.A], p[i + k.X], p[i + k.Y], w * p[i + k.IN], p[i + k.CALL]
    lines = p[i + k.C]
    pending = False
    for r in range(n):
        s = m[status + r]
        word = m[a + r]
        if s == 0 and op == k.STORE_WIDE:
            high = m[a + w + r]
            out[y, row + r] = high
            if high != word >> 63 or not -NARROW_LIMIT < word < NARROW_LIMIT:
                state[k.WIDE_VALUES] += 1
        elif s == 0 and word == NULL_CODE and y == k.REFUSE_RESERVED:
            s = k.RESERVED | (call << k.CODE_BITS)
        if s > k.NULL:
            if s == k.PENDING:
                pending = True
            else:
                state[k.FAILURES] += 1
        out[x, row + r] = word if s == 0 else NULL_CODE
        out[lines + x, row + r] = s
    return pending


@helper
def _block(memory: Memory, words: Matrix, row: int, n: int, out: Matrix) -> bool:
    """Run all instructions for the rows of a block; whether some results are pending."""
    m, p, w, texts = memory.registers, memory.program, memory.width, memory.texts
    pending = False
    first = k.HEADER_WORDS + p[k.CONSTANTS] * k.CONSTANT_WORDS
    for j in range(p[k.INSTRUCTIONS]):
        i = first + j * k.FIELDS
        op = p[i]
        to, a, b, x = w * p[i + k.TO], w * p[i + k.A], w * p[i + k.B], p[i + k.X]
        if k.ADD_DECIMAL <= op <= k.MULTIPLY_DECIMAL or op == k.RESCALE:
            _decimals(op, m, p, i, n, w)
        elif op >= k.FIRST_UNARY:
            _each(op, m, p, i, n, w)
        elif op == k.LOAD:
            status = w * p[i + k.OUT]
            for r in range(n):
                m[to + r] = words[x, row + r]
            if status != 0:
                for r in range(n):
                    m[status + r] = 1 if m[to + r] == NULL_CODE else 0
        elif op == k.LOAD_WIDE:
            status = w * p[i + k.OUT]
            for r in range(n):
                word = words[x, row + r]
                low, high = word, word >> 63
                if word >= WIDE_BASE and word != NULL_CODE:
                    at = texts[4][word - WIDE_BASE]
                    low, high = _word_at(texts[3], at), _word_at(texts[3], at + 8)
                m[to + r] = low
                m[to + w + r] = high
                if status != 0:
                    m[status + r] = 1 if word == NULL_CODE else 0
        elif op == k.MERGE:
            for r in range(n):
                m[to + r] = m[a + r] if m[a + r] != 0 else m[b + r]
        elif op == k.EQUAL:
            for r in range(n):
                m[to + r] = 1 if m[a + r] == m[b + r] else 0
        elif op == k.NOT_EQUAL:
            for r in range(n):
                m[to + r] = 1 if m[a + r] != m[b + r] else 0
        elif op == k.LESS:
            for r in range(n):
                m[to + r] = 1 if m[a + r] < m[b + r] else 0
        elif op == k.LESS_EQUAL:
            for r in range(n):
                m[to + r] = 1 if m[a + r] <= m[b + r] else 0
        elif op == k.PLAIN_ADD:
            for r in range(n):
                m[to + r] = m[a + r] + m[b + r]
        elif op == k.PLAIN_SUBTRACT:
            for r in range(n):
                m[to + r] = m[a + r] - m[b + r]
        elif op == k.PLAIN_MULTIPLY:
            for r in range(n):
                m[to + r] = m[a + r] * m[b + r]
        elif op <= k.MULTIPLY_DOUBLE:
            _arithmetic(op, m, p, i, n, w)
        elif op == k.BOTH:
            for r in range(n):
                m[to + r] = m[a + r] & m[b + r]
        elif op == k.EITHER:
            for r in range(n):
                m[to + r] = m[a + r] | m[b + r]
        elif op == k.NOT:
            for r in range(n):
                m[to + r] = 1 - m[a + r]
        elif op == k.KEY:
            for r in range(n):
                m[to + r] = double_key(m[a + r])
        elif op == k.EXTEND:
            for r in range(n):
                m[to + r] = m[a + r]
                m[to + w + r] = m[a + r] >> 63
        elif op == k.PRODUCT:
            for r in range(n):
                left, right = m[a + r], m[b + r]
                m[to + w + r] = signed_high_product(left, right)
                m[to + r] = left * right
        elif op == k.IN_SET:
            members = p[i + k.Y]
            if members <= _FEW:
                for r in range(n):
                    m[to + r] = 0
                for c in range(x, x + members):
                    word = p[c]
                    for r in range(n):
                        m[to + r] |= 1 if m[a + r] == word else 0
            else:
                for r in range(n):
                    m[to + r] = 1 if _is_in(p, x, members, m[a + r]) else 0
        elif op == k.STORE or op == k.STORE_WIDE:
            pending |= _store(op, memory, i, n, out, row)
        elif op == k.COPY:
            for r in range(n):
                m[to + r] = m[a + r]
        elif op == k.MEMO:
            _remember(memory, i, n)
        elif op <= k.TRY:
            _logic(op, m, p, i, n, w)
        else:
            _compare(op, m, p, i, n, w, texts)
    return pending


@kernel
def run(
    program: Line, words: Matrix, begin: int, end: int, out: Matrix, memory: tuple[Line, Line, Line], texts: Texts
) -> int:
    """Run a program for rows.

    Args:
        program: The program, whose registers are named by their offsets.
        words: The rows, a line for each column.
        begin, end: The rows to run it for, as positions.
        out: Where results go: a line of words and a line of statuses for each, and the high words of wide decimals.
        memory: Space for the registers and WORK_WORDS words behind them, which means nothing afterwards; the memos,
            changed in place; COUNTERS words, added to, and space for the lines that are asked for.
        texts: The dictionaries.

    Returns:
        ``end`` if all rows are done, else the row to start with again once the host has answered what is asked
        for. Where nothing is asked for, a memo is full.
    """
    registers, memos, counters = memory
    p, m, state = view(program), view(registers), view(counters)
    w = min(k.BLOCK, end - begin)
    own = Memory(p, m, w, view(memos), state, counters.size, pointers(texts))
    for c in range(p[k.CONSTANTS]):
        at = k.HEADER_WORDS + c * k.CONSTANT_WORDS
        for r in range(w):
            m[w * p[at] + r] = p[at + 1]
    row = begin
    again = -1
    while row < end:
        n = min(w, end - row)
        failures, wide = state[k.FAILURES], state[k.WIDE_VALUES]
        waits = _block(own, words, row, n, out)
        if waits and again < 0:
            again = row
        if again >= 0:  # these rows will be run again
            state[k.FAILURES], state[k.WIDE_VALUES] = failures, wide
        if state[k.FULL] != 0:
            return again if again >= 0 else row
        row += n
    return again if again >= 0 else end
