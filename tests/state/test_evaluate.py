"""Programs of scalar expressions against plain Python, and what they remember of strings."""

from __future__ import annotations

import math
import random
from decimal import Context, Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import scalar_model as model
from livejoin.errors import ExpressionError, MemoryLimitError
from livejoin.kernels.evaluate import layout as k
from livejoin.query.scalar import Call, Constant, Field, Function, Scalar
from livejoin.schema import Column, SqlType, Table
from livejoin.state.budget import Budget
from livejoin.state.codec import Codec
from livejoin.state.evaluate import Program, memo
from livejoin.state.recoding import recoded
from livejoin.words import NULL_CODE, Words
from strategies import FUZZ

BOOLEAN, INT, BIGINT, DOUBLE, STRING = model.BOOLEAN, model.INT, model.BIGINT, model.DOUBLE, model.STRING
TABLE = Table("T", tuple(Column(f"c{i}", type) for i, type in enumerate(model.TYPES)))
EXACT = Context(prec=100)
LENGTHS = (0, 1, 2, 511, 512, 513, 1023, 1025)
ROWS = st.lists(
    st.tuples(*(st.sampled_from((*model.VALUES[type], None)) for type in model.TYPES)), min_size=1, max_size=8
)


def words_of(codec: Codec, table: Table, rows: list[tuple[Any, ...]]) -> Words:
    columns = [
        pa.array([row[i] for row in rows], pa.int32()).cast(c.type.arrow)
        if c.type.kind == "date"
        else pa.array([row[i] for row in rows], c.type.arrow)
        for i, c in enumerate(table.columns)
    ]
    return codec.encode(pa.table(columns, names=[c.name for c in table.columns]), table)


def value_of(codec: Codec, word: int, type: SqlType) -> Any:
    """The value of a word as the model has it."""
    if word == NULL_CODE:
        return None
    match type.kind:
        case "string":
            return codec.texts_of(np.array([word]))[0]
        case "double":
            return float(np.int64(word).view(np.float64))
        case "boolean":
            return bool(word)
        case "decimal":
            return Fraction(codec.decode(np.array([word]), type)[0].as_py())
        case _:
            return word


def expected(scalar: Scalar, row: tuple[Any, ...]) -> Any:
    try:
        found = model.value(scalar, row)
    except model.Failure:
        return "error"
    reserved = found == NULL_CODE and scalar.type.kind in ("integer", "timestamp")
    return "error" if reserved else found


def is_same(a: Any, b: Any) -> bool:
    if isinstance(a, float) and isinstance(b, float):
        return a == b or (math.isnan(a) and math.isnan(b))
    return bool(a == b) and type(a) is type(b)


@FUZZ
@given(st.data(), ROWS, st.sampled_from(LENGTHS))
def test_random_trees_mean_what_they_mean_in_python(data: st.DataObject, rows: list[Any], length: int) -> None:
    """For blocks of every kind of length, and for each row by itself."""
    types = data.draw(st.lists(st.sampled_from(model.TYPES), min_size=1, max_size=3))
    scalars = [data.draw(model.trees(type, 3)) for type in types]
    codec = Codec()
    words = words_of(codec, TABLE, rows)
    program = Program(scalars, codec)
    places = np.arange(length) % len(rows)
    many = program.run(np.ascontiguousarray(words[:, places]))
    for i in range(len(rows)):
        single = program.run(words[:, i : i + 1])
        failures = 0
        for e, scalar in enumerate(scalars):
            want = expected(scalar, rows[i])
            status, word = int(single.statuses[e, 0]), int(single.words[e, 0])
            failures += status > k.NULL
            got = "error" if status > k.NULL else value_of(codec, word, scalar.type)
            assert is_same(got, want), (scalar, rows[i], got, want)
            assert (status == k.NULL) == (got is None)
            assert np.all(many.words[e, places == i] == word)
            assert np.all(many.statuses[e, places == i] == status)
        assert failures == single.failures
    assert many.failures == np.count_nonzero(many.statuses > k.NULL)


@FUZZ
@given(st.data())
def test_decimals_of_any_scale(data: st.DataObject) -> None:
    """Sums, products, quotients and remainders of up to 38 digits are exact and rounded once."""
    types = []
    for _ in range(3):
        precision = data.draw(st.integers(1, 38))
        types.append(SqlType.decimal(precision, data.draw(st.integers(0, precision))))
    a, b, to = types
    numbers = st.integers(0, 2**140).flatmap(lambda n: st.sampled_from((n, -n)))
    row = tuple(Decimal(data.draw(numbers) % 10**t.precision).scaleb(-t.scale, EXACT) for t in (a, b))
    row = tuple(v.copy_negate() if data.draw(st.booleans()) else v for v in row)
    names: tuple[Function, ...] = (
        "add", "subtract", "multiply", "divide", "integral_divide", "remainder", "positive_remainder",
    )  # fmt: skip
    fields = (Field(0, a), Field(1, b))
    scalars: list[Scalar] = [Call(name, fields, BIGINT if name == "integral_divide" else to) for name in names]
    scalars += [
        Call("cast", (fields[0],), to),
        Call("cast", (fields[0],), DOUBLE),
        Call("less", (fields[0],) * 2, BOOLEAN),
    ]
    scalars += [
        Call(name, (fields[0], Constant(data.draw(st.integers(-40, 40)), INT)), to) for name in ("round", "ceil")
    ]
    codec = Codec()
    values = Program(scalars, codec).run(words_of(codec, Table("T", (Column("a", a), Column("b", b))), [row]))
    for scalar, word, status in zip(scalars, values.words[:, 0], values.statuses[:, 0], strict=True):
        got = "error" if status > k.NULL else value_of(codec, int(word), scalar.type)
        assert is_same(got, expected(scalar, row)), (scalar, row)


@pytest.mark.parametrize("precision", [17, 18, 19, 20, 38])
@pytest.mark.parametrize("scale", [0, 2])
def test_decimals_where_one_word_is_just_enough(precision: int, scale: int) -> None:
    """Numbers around 10**18 and 2**63, where the sum or the product has one word, or has not, or is too long."""
    near = (0, 1, 3037000499, 3037000500, 10**9, 10**17, 10**18 - 1, 10**18, 2**62, 2**63 - 1, 2**63, 2**63 + 1)
    numbers = [Decimal(sign * n).scaleb(-scale, EXACT) for n in near if n < 10**precision for sign in (1, -1)]
    given = SqlType.decimal(precision, scale)
    fields = (Field(0, given), Field(1, given))
    to = SqlType.decimal(precision, scale)
    product = SqlType.decimal(precision, 2 * scale)
    scalars: list[Scalar] = [Call("add", fields, to), Call("subtract", fields, to), Call("multiply", fields, product)]
    scalars += [Call("cast", (fields[0],), SqlType.decimal(p, scale)) for p in (18, 19, 38)]
    rows = [(a, b) for a in numbers for b in numbers]
    codec = Codec()
    table = Table("T", (Column("a", given), Column("b", given)))
    values = Program(scalars, codec).run(words_of(codec, table, rows))
    for line, scalar in enumerate(scalars):
        for place, row in enumerate(rows):
            status = int(values.statuses[line, place])
            got = "error" if status > k.NULL else value_of(codec, int(values.words[line, place]), scalar.type)
            assert is_same(got, expected(scalar, row)), (scalar, row)


def field(position: int, type: SqlType, nullable: bool = True) -> Field:
    return Field(position, type, nullable)


def call(function: Function, type: SqlType, *arguments: Scalar, text: str = "") -> Call:
    return Call(function, arguments, type, text)


TEXTS = Table("T", (Column("s", STRING), Column("t", STRING), Column("n", INT)))
S, T, N = field(0, STRING), field(1, STRING), field(2, INT)
UPPER = call("upper", STRING, S)


def holds(program: Program, words: Words, names: tuple[str, ...] = ()) -> Any:
    """For each expression which rows it is true for."""
    values = program.run(words)
    values.raise_if_failed(names)
    return values.words == 1


def text_rows(codec: Codec, texts: list[str | None], n: int = 1) -> Words:
    return words_of(codec, TEXTS, [(text, "t", n) for text in texts])


def test_errors_count_where_spark_looks() -> None:
    codec = Codec()
    zero, one = Constant(0, DOUBLE), Constant(1.0, DOUBLE)
    x, y = field(0, DOUBLE), field(1, DOUBLE)
    ratio = call("divide", DOUBLE, x, y, text="x / y")
    guarded = call("and", BOOLEAN, call("not_equal", BOOLEAN, y, zero), call("greater", BOOLEAN, ratio, one))
    turned = call("and", BOOLEAN, call("greater", BOOLEAN, ratio, one), call("not_equal", BOOLEAN, y, zero))
    either = call("or", BOOLEAN, call("equal", BOOLEAN, y, zero), call("greater", BOOLEAN, ratio, one))
    chosen = call("case", DOUBLE, call("equal", BOOLEAN, y, zero), one, ratio)
    first = call("coalesce", DOUBLE, x, ratio)
    table = Table("T", (Column("x", DOUBLE), Column("y", DOUBLE)))
    words = words_of(codec, table, [(4.0, 2.0), (1.0, 0.0), (None, 0.0), (None, None)])
    assert holds(Program([guarded, either], codec), words).tolist() == [
        [True, False, False, False],
        [True, True, True, False],
    ]
    values = Program([chosen, first], codec).run(words)
    assert values.failures == 0
    assert values.statuses.tolist() == [[0, 0, 0, 1], [0, 0, 1, 1]]
    with pytest.raises(
        ExpressionError, match=r"'x / y' for the row \(x = 1.0, y = 0.0\): division by zero; use try_div"
    ):
        holds(Program([turned], codec), words, ("x", "y"))


def test_a_message_names_the_first_row_that_fails() -> None:
    codec = Codec()
    words = text_rows(codec, ["1", None, "x", "y"])
    values = Program([call("cast", INT, S, text="CAST(s AS INT)"), N], codec).run(words)
    assert values.failures == 2
    with pytest.raises(
        ExpressionError, match=r"'CAST\(s AS INT\)' for the row \('x', 1\): the value is malformed for INT"
    ):
        values.raise_if_failed()


def test_the_bigint_that_stands_for_null_is_refused_as_a_result() -> None:
    codec = Codec()
    words = words_of(codec, Table("T", (Column("n", BIGINT),)), [(NULL_CODE - 1,), (NULL_CODE - 2,), (None,)])
    program = Program([call("add", BIGINT, field(0, BIGINT), Constant(1, BIGINT), text="n + 1")], codec)
    values = program.run(words)
    assert values.statuses[0].tolist()[1:] == [0, 1]
    with pytest.raises(ExpressionError, match=r"'n \+ 1'.*reserves, for NULL"):
        values.raise_if_failed()


@pytest.mark.parametrize(
    "scalar",
    [
        call("round", DOUBLE, field(0, DOUBLE), N),
        call("matches", BOOLEAN, S, T),
        call("matches", BOOLEAN, S, Constant("a(?=b)", STRING)),
        call("like", BOOLEAN, S, Constant("a\\b", STRING)),
        call("cast", SqlType("date"), N),
    ],
)
def test_what_is_not_evaluated_is_refused(scalar: Scalar) -> None:
    with pytest.raises(ExpressionError, match=r"matches|round|cast|escape|regular expression"):
        Program([scalar], Codec())


def test_regular_expressions() -> None:
    codec = Codec()
    texts = ["abc", "a\n", "a\r\n", "a\u2028b", "x1_y", "", "²", "A-Z", "a.c"]
    patterns = {
        "^a.c$": [True, False, False, False, False, False, False, False, True],
        "a$": [False, True, True, False, False, False, False, False, False],
        "a.b": [False] * 9,
        r"^\w+$": [True, True, True, False, True, False, False, False, False],
        r"\d": [False, False, False, False, True, False, False, False, False],
        r"[^\d\w\s]": [False, False, False, True, False, False, True, True, True],
        r"a\.c|^$": [False, False, False, False, False, True, False, False, True],
        "[A-Z&-]{2}": [False, False, False, False, False, False, False, True, False],
    }
    words = text_rows(codec, list(texts))
    scalars = [call("matches", BOOLEAN, S, Constant(pattern, STRING)) for pattern in patterns]
    assert holds(Program(scalars, codec), words).tolist() == list(patterns.values())


def uppers(program: Program, codec: Codec, words: Words) -> list[str | None]:
    return codec.decode(program.run(words).words[0], STRING).to_pylist()


def test_a_function_is_computed_once_for_each_string(monkeypatch: pytest.MonkeyPatch) -> None:
    codec = Codec()
    program = Program([call("concatenate", STRING, UPPER, Constant("!", STRING))], codec)
    asked: list[int] = []
    fill = memo.Memos._fill
    monkeypatch.setattr(memo.Memos, "_fill", lambda self, f, lines: (asked.append(lines.size), fill(self, f, lines)))
    words = text_rows(codec, ["a", "b", None, "a"] * 1000)
    assert uppers(program, codec, words) == ["A!", "B!", None, "A!"] * 1000
    assert uppers(program, codec, words[:, 1:3].copy()) == ["B!", None]
    assert asked == [2]


def test_a_memo_grows_and_starts_again_at_its_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memo, "MOST_LINES", 2048)
    codec = Codec()
    program = Program([UPPER, call("concatenate", STRING, T, call("lower", STRING, UPPER))], codec)
    texts = [f"a{i % 5000}" for i in range(12_000)]
    for _ in range(2):
        found = program.run(text_rows(codec, list(texts)))
        assert codec.decode(found.words[0], STRING).to_pylist() == [text.upper() for text in texts]
        assert codec.decode(found.words[1], STRING).to_pylist() == ["t" + text for text in texts]
    assert program.nbytes < 500_000


def test_a_search_among_constants_beside_a_memo() -> None:
    codec = Codec()
    among = call("in", BOOLEAN, N, Constant(1, INT), Constant(7, INT))
    program = Program([among, UPPER], codec)
    values = program.run(text_rows(codec, ["a", None]))
    assert values.words[0].tolist() == [1, 1]
    assert codec.decode(values.words[1], STRING).to_pylist() == ["A", None]


def test_what_is_asked_for_is_forgotten_when_it_is_not_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    """A host function that is cut off, as by a signal, leaves no line that nobody answers."""
    codec = Codec()
    program = Program([UPPER], codec)
    words = text_rows(codec, ["a", "b"])
    fill = memo.Memos._fill

    def cut_off(self: memo.Memos, function: memo.Remembered, lines: Words) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(memo.Memos, "_fill", cut_off)
    with pytest.raises(KeyboardInterrupt):
        program.run(words)
    monkeypatch.setattr(memo.Memos, "_fill", fill)
    assert uppers(program, codec, words) == ["A", "B"]


def test_codes_that_are_given_out_again_are_computed_again() -> None:
    """Collection frees codes, and other strings get them: nothing of before is remembered."""
    codec = Codec()
    equal = call("in", BOOLEAN, UPPER, Constant("A3", STRING), Constant("B3", STRING))
    program = Program([UPPER, equal, call("less", BOOLEAN, S, T)], codec)
    rng = random.Random(5)
    kept: list[str | None] = []
    for generation in range(12):
        texts = kept + [f"{rng.choice('abc')}{i}" for i in range(rng.randint(1, 9))] + [f"new{generation}"]
        words = text_rows(codec, texts)
        found = program.run(words)
        assert codec.decode(found.words[0], STRING).to_pylist() == [(text or "").upper() for text in texts]
        assert (found.words[1] == 1).tolist() == [text in ("a3", "b3") for text in texts]
        assert (found.words[2] == 1).tolist() == [(text or "") < "t" for text in texts]
        kept = rng.sample(texts, len(texts) // 2)
        used = text_rows(codec, kept)[:2].reshape(-1)
        codec.retain(used, np.empty(0, np.int64))  # frees the constants and the results too
        codec._check()


def test_dictionaries_with_other_codes() -> None:
    """Compaction puts dense codes in the place of scattered ones, in the same codec."""
    codec = Codec()
    program = Program([UPPER, call("equal", BOOLEAN, S, Constant("x5", STRING))], codec)
    words = text_rows(codec, [f"x{i}" for i in range(100)])
    program.run(words)
    used = words[:, 90:]
    codec.retain(np.concatenate([used[0], used[1]]), np.empty(0, np.int64))
    recoding = recoded(codec)
    used = np.stack([recoding.words(STRING, used[0]), recoding.words(STRING, used[1]), used[2]])
    vars(codec).update(vars(recoding.codec))
    found = program.run(used)
    assert codec.decode(found.words[0], STRING).to_pylist() == [f"X{i}" for i in range(90, 100)]
    assert not (found.words[1] == 1).any()
    assert (program.run(text_rows(codec, ["x5"])).words[1] == 1).all()


def test_wide_decimals_survive_a_collection() -> None:
    wide = SqlType.decimal(38, 2)
    codec = Codec()
    table = Table("T", (Column("a", wide),))
    a = field(0, wide)
    program = Program(
        [
            call("add", wide, a, a),
            call("cast", STRING, a),
            call("greater", BOOLEAN, a, Constant(Decimal(10**20), wide)),
        ],
        codec,
    )
    for start in (10**25, 10**30, 7):
        numbers = [Decimal(start + i) for i in range(20)]
        words = words_of(codec, table, [(number,) for number in numbers])
        found = program.run(words)
        assert codec.decode(found.words[0], wide).to_pylist() == [Decimal(2 * (start + i)) for i in range(20)]
        assert codec.decode(found.words[1], STRING).to_pylist() == [f"{number}.00" for number in numbers]
        assert (found.words[2] == 1).tolist() == [number > 10**20 for number in numbers]
        codec.retain(np.empty(0, np.int64), np.empty(0, np.int64))


def test_a_memo_takes_memory_of_the_database() -> None:
    budget = Budget(1)
    codec = Codec(budget)
    program = Program([UPPER], codec)
    words = text_rows(codec, [f"a{i}" for i in range(10_000)])
    budget.limit = budget.total + (1 << 18)
    budget.begin()
    with pytest.raises(MemoryLimitError, match=r"results of functions|dictionary"):
        program.run(words)
    budget.end()
    assert uppers(program, codec, words[:, :100].copy()) == [f"A{i}" for i in range(100)]


def test_columns_that_cannot_be_null_and_read_only_words() -> None:
    codec = Codec()
    words = np.arange(6, dtype=np.int64).reshape(2, 3)
    words.setflags(write=False)
    a, b = field(0, BIGINT, False), field(1, BIGINT, False)
    program = Program([call("less", BOOLEAN, a, b), call("is_null", BOOLEAN, a)], codec)
    assert holds(program, words).tolist() == [[True] * 3, [False] * 3]
    assert holds(program, words[:, ::2]).tolist() == [[True] * 2, [False] * 2]
