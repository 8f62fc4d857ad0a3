"""The fuzzer in tests/fuzz: some of its calls, and whether it finds and repeats faults."""

import os

import gatherscatter as gs
import numpy as np
import pytest
from assertions import assert_same_numbers
from constants import SEGMENT_REDUCTIONS
from fuzz import calls, check, command, fused, indexing, segments, vectorized, workers
from fuzz.elements import INDEX, NUMBERS
from gatherscatter import reference
from gatherscatter.backends import kernels

MAX_TEAM = 8  # larger ones take longer than all the rest


@pytest.fixture(autouse=True)
def _environment():
    """Restore the environment variables and the limits of gather_scatter, which the code of a call may set."""
    before, limits = dict(os.environ), {name: getattr(kernels, name) for name in fused.LIMITS}
    yield
    for name, limit in limits.items():
        setattr(kernels, name, limit)
    os.environ.clear()
    os.environ.update(before)


def small_calls(numbers, seed=0):
    drawn = (calls.draw(seed, number, MAX_TEAM) for number in numbers)
    return (call for call in drawn if not call.is_large)


def result_of(source):
    """The result of the code of a call, or its error."""
    names = {}
    try:
        exec(source, names)
    except Exception as error:
        return error
    finally:
        gs.set_num_threads(None)
    return names["result"]


def test_calls_do_as_the_reference():
    for number in range(400):
        failure = workers.attempt(0, number, MAX_TEAM)
        assert failure is None, failure.report(0, MAX_TEAM)


@pytest.mark.parametrize("n_calls", [100, pytest.param(1000, marks=pytest.mark.slow)])
def test_segments_do_as_the_reference(n_calls):
    for number in range(n_calls):
        failure = workers.attempt(0, number, MAX_TEAM, "segments")
        assert failure is None, failure.report(0, MAX_TEAM)


def test_segments_are_of_all_kinds():
    drawn = [segments.draw(1, number, MAX_TEAM) for number in range(600)]
    views = [view for call in drawn for view in call.arguments.values() if hasattr(view, "strides")]
    ids = [call.arguments["segment_ids"] for call in drawn if hasattr(call.arguments.get("segment_ids"), "strides")]
    assert {call.function for call in drawn} == {"segment_reduce", *segments.SOFTMAXES}
    assert {name for call in drawn for name in call.names} >= {*SEGMENT_REDUCTIONS}
    assert {call.type.dtype.kind for call in drawn} == {*"biufcmMV"}
    assert {view.type.dtype for view in ids} == {type.dtype for type in INDEX}
    assert {(call.is_prepared, call.pointers is not None) for call in drawn} == {(p, i) for p in (0, 1) for i in (0, 1)}
    assert {key for call in drawn for key in call.options} >= {*segments.OPTIONS}
    assert {way for call in drawn for way in call.ways} == {*segments.WAYS}
    assert {call.team for call in drawn} >= {0, 1, 2, 3, 8}
    assert {0, 1, 2} <= {call.batch_dims for call in drawn}
    assert {1, 2, 3} <= {len(call.numbered) for call in drawn}
    assert any(0 in call.data for call in drawn)
    assert any(call.is_large for call in drawn)
    assert any(call.errors for call in drawn)
    assert any(call.first_bad is not None for call in drawn)
    assert any("out1" in call.arguments for call in drawn)
    assert any(not view.type.dtype.isnative for view in views)
    assert any(view.strides and min(view.strides) < 0 for view in views)
    assert any(view.offset % view.type.dtype.alignment for view in ids)


def test_the_code_of_a_call_of_segments_is_the_call():
    for number in range(40):
        call = segments.draw(5, number, MAX_TEAM)
        expected, error = segments.evaluate(call, call.code(), call.make()[1])
        result = result_of(call.source())
        if error is not None:
            assert str(result) == str(error)
            continue
        for one, other in zip(*((a,) if not call.is_tuple else a for a in (result, expected)), strict=True):
            assert segments.bits(one) == segments.bits(other), call.source()


def test_a_number_is_a_call():
    assert calls.draw(3, 17).source() == calls.draw(3, 17).source() != calls.draw(4, 17).source()


def test_calls_are_of_all_kinds():
    drawn = list(small_calls(range(600), seed=1))
    views = [view for call in drawn for view in call.arguments.values() if hasattr(view, "strides")]
    assert {call.function for call in drawn} == {*calls.FUNCTIONS, "at"}
    assert {(call.is_prepared, call.axis > 0) for call in drawn if call.is_fused} == {
        (p, a) for p in (0, 1) for a in (0, 1)
    }
    assert {call.method for call in drawn if call.is_at} >= {"get", "set", "add", "max"}
    assert {call.team for call in drawn} >= {0, 1, 2, 3, 8}
    assert {call.route for call in drawn} == {*calls.GATHER_ROUTES, *calls.SCATTER_ROUTES}
    assert {0, 1, 2, 3, 4} <= {len(call.data) for call in drawn}
    assert max(len(call.data) for call in drawn) > 32
    assert any(0 in call.data for call in drawn)
    assert any(call.errors for call in drawn)
    assert any("out" in call.arguments for call in drawn)
    assert any(call.arguments.get("out") is call.arguments["data"] for call in drawn)
    assert any(not view.writeable for view in views)
    assert any(not view.type.dtype.isnative for view in views)
    assert any(view.strides and min(view.strides) < 0 for view in views)
    assert any(0 in view.strides for view in views)
    assert any(view.offset % view.type.dtype.alignment for view in views if view.type.dtype.itemsize)


def test_the_two_references_agree():
    """The vectorized one of large calls, and the scalar loop."""
    compared = 0
    for call in small_calls(range(900), seed=2):
        if call.options.keys() & {"wrap_negative_indices", "accumulate_dtype"}:  # large calls have none
            continue
        if (
            call.is_at
            or call.errors
            or call.type not in NUMBERS
            or call.type.dtype.kind not in "biuf"
            or call.type.name == "float16"
        ):
            continue
        if call.scatters and call.reduction in ("max", "min") and call.type.dtype.kind == "f":  # NaN, and -0.0 by 0.0
            continue
        _, given = call.make(plain=True)
        found = []
        for loop in (vectorized, reference):
            try:
                found.append(check.by_loop(loop, call, given))
            except IndexError:
                found.append(None)
        if found[1] is None:
            assert found[0] is None
        else:
            assert_same_numbers(np.asarray(found[0]), found[1])
            compared += 1
    assert compared > 200


@pytest.mark.filterwarnings("ignore:unclosed file:ResourceWarning")  # of memmap: the code ends with its process
def test_the_code_of_a_call_is_the_call():
    for call in small_calls(range(60), seed=5):
        _, given = call.make()
        result = result_of(call.source())
        if isinstance(result, Exception):
            assert call.errors or isinstance(result, IndexError), call.source()
            continue
        out = {"out": given.pop("out")} if "out" in given else {}
        if call.is_at:
            expected = indexing.run(gs.at, call, given, call.options | out)
        else:
            expected = getattr(gs, call.function)(*given.values(), **call.options, **out)
        assert result.tobytes() == expected.tobytes() or expected.dtype.hasobject, call.source()


def planted(function, fault):
    """The function with a fault in its result."""

    def faulty(*arguments, **options):
        return fault(function(*arguments, **options), *arguments)

    return faulty


def _changed(result, *arguments):
    result = result.copy()
    if result.nbytes:
        result.view("u1").reshape(-1)[-1] ^= 1
    return result


def _input_written(result, *arguments):
    arguments[0].view("u1").reshape(-1)[:1] ^= 1
    return result


def _another_dtype(result, *arguments):
    return result.view(f"V{result.itemsize}")


@pytest.mark.parametrize("fault", [_changed, _input_written, _another_dtype])
def test_a_fault_is_found_and_its_code_repeats_the_call(monkeypatch, fault):
    call = next(
        call
        for call in small_calls(range(400))
        if call.function == "gather" and call.type.name == "int32" and call.arguments.keys() == {"data", "indices"}
        and isinstance(call.arguments["data"], calls.View) and call.arguments["data"].writeable
        and 0 not in call.elements and call.data and call.make()[1]["data"].flags.c_contiguous
        and not isinstance(result_of(call.source()), Exception)
    )  # fmt: skip
    right = result_of(call.source())
    assert workers.attempt(0, call.number, MAX_TEAM) is None
    monkeypatch.setattr(gs, "gather", planted(gs.gather, fault))
    failure = workers.attempt(0, call.number, MAX_TEAM)
    assert failure.number == call.number
    report = failure.report(0, MAX_TEAM)
    monkeypatch.undo()
    assert f"call {call.number} of seed 0" in report
    assert_same_numbers(result_of(report), right)


@pytest.mark.parametrize("fault", [_changed, _input_written])
def test_a_fault_of_segments_is_found(monkeypatch, fault):
    call = next(
        call
        for call in (segments.draw(0, number, MAX_TEAM) for number in range(2000))
        if call.names in (("max",), ("min",), ("add",)) and not call.is_tuple and call.type.dtype.kind in "iu"
        and not call.is_prepared and not call.is_large and call.n and 0 not in call.data
        and hasattr(call.arguments["data"], "strides") and call.arguments["data"].writeable
        and call.make()[1]["data"].flags.c_contiguous
        and segments.evaluate(call, call.code(), call.make()[1])[1] is None
    )  # fmt: skip
    assert workers.attempt(0, call.number, MAX_TEAM, "segments") is None
    monkeypatch.setattr(gs, "segment_reduce", planted(gs.segment_reduce, fault))
    assert workers.attempt(0, call.number, MAX_TEAM, "segments").number == call.number


def test_an_error_of_another_kind_or_message_is_found(monkeypatch):
    call = next(call for call in small_calls(range(2000)) if call.function == "gather_nd" and call.errors)

    def refuse(*arguments, **options):
        raise KeyError("gather_nd: no")

    assert workers.attempt(0, call.number, MAX_TEAM) is None
    monkeypatch.setattr(gs, "gather_nd", refuse)
    assert "not KeyError" in workers.attempt(0, call.number, MAX_TEAM).what


def test_a_reference_too_many_is_found(monkeypatch):
    kept = []

    def keep(*arguments, **options):
        result = function(*arguments, **options)
        kept.extend(arguments[0].reshape(-1).tolist())
        return result

    call = next(
        call
        for call in small_calls(range(4000), seed=6)
        if call.type.dtype.kind == "O" and call.function == "gather" and check._own_items(call.make()[0])
        and not isinstance(result_of(call.source()), Exception)
    )  # fmt: skip
    assert workers.attempt(6, call.number, MAX_TEAM) is None
    function = gs.gather
    monkeypatch.setattr(gs, "gather", keep)
    assert "reference counts" in workers.attempt(6, call.number, MAX_TEAM).what


def test_a_run_is_resumed(tmp_path):
    given = ["--calls", "1000", "--state", str(tmp_path / "state.json")]
    state = command.State(command.arguments(given))
    chunks = state.chunks()
    first, second, third = next(chunks), next(chunks), next(chunks)
    state.note(third, [workers.Failure(third[0], "wrong")])
    state.note((second[0], second[0] + 7), [])  # where a process died
    assert state.done == workers.CHUNK + 7
    resumed = command.State(command.arguments(given))
    assert resumed.failures == {third[0]: "wrong"}
    assert resumed.done == state.done
    assert list(resumed.chunks()) == [first, (second[0] + 7, second[1]), (600, 800), (800, 1000)]
    with pytest.raises(SystemExit, match="seed"):
        command.State(command.arguments([*given, "--seed", "1"]))


def die(pipe, current, *_):
    """A worker whose process ends at its third call."""
    current.value = pipe.recv()[0] + 2
    os.abort()


@pytest.mark.slow
def test_the_call_that_ends_a_process_is_named(monkeypatch):
    monkeypatch.setattr(workers.Worker, "work", staticmethod(die))
    found = workers.run(0, MAX_TEAM, 1, iter([(100, 200)]))
    chunk, failures = next(found)
    assert chunk == (100, 103)
    assert [failure.number for failure in failures] == [102]
    assert "ended with code" in failures[0].what
    assert next(found)[1][0].number == 105
    found.close()
