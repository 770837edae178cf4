"""The design's seven success metrics, against its targets, and "not reported" where nobody told."""

from collections.abc import Callable

import pytest

from rightcall.errors import ConfigError
from rightcall.record.analytics import Metric, read_metrics
from rightcall.record.notes import note_diagnosis, note_message
from support.stores import Diary

pytestmark = pytest.mark.promise("A-05")

NAMES = [
    "Tool Adoption",
    "Investigation Depth",
    "Diagnosis Accuracy",
    "Tool Success Rate",
    "Response Time",
    "Rate Limit Hits",
    "Security Violations",
]
TARGETS = [">50%", "3+", ">70%", ">90%", "<2s", "<5%", "0"]


@pytest.fixture
def diary() -> Diary:
    return Diary()


def measured(diary: Diary, caller: str | None = None) -> dict[str, Metric]:
    found = diary.store.look(lambda tables: read_metrics(tables, period="1day", caller=caller, now=diary.now))
    return {one.name: one for one in found}


def message(diary: Diary, caller: str = "ada", context: str | None = None, **more: object) -> None:
    diary.store.transact(lambda tables: note_message(tables, caller, context, **more))  # pyright: ignore[reportArgumentType]


def diagnosis(diary: Diary, context: str, correct: bool | None, caller: str = "ada") -> None:
    diary.store.transact(lambda tables: note_diagnosis(tables, caller, context, correct))


def test_all_seven_are_there_in_the_design_s_order_with_its_targets(diary: Diary) -> None:
    found = measured(diary)
    assert list(found) == NAMES
    assert [one.target for one in found.values()] == TARGETS


def test_an_empty_store_reports_nothing_and_meets_nothing(diary: Diary) -> None:
    found = measured(diary).values()
    assert [(one.value, one.met) for one in found] == [(None, None)] * 7
    assert [one.missing for one in found] == ["not reported"] * 3 + ["no calls"] * 4


def test_calls_alone_leave_what_only_a_host_knows_unreported(diary: Diary) -> None:
    diary.ran(context="room")
    found = measured(diary)
    assert [found[name].missing for name in NAMES[:3]] == ["not reported"] * 3
    assert [found[name].met for name in NAMES[3:]] == [True] * 4


def test_a_message_used_tools_when_a_call_ran_since_the_one_before(diary: Diary) -> None:
    diary.ran()
    diary.ran()
    message(diary)
    message(diary)
    diary.refused()
    message(diary)
    one = measured(diary)["Tool Adoption"]
    assert (one.value, one.met) == (pytest.approx(100 / 3), False)
    assert one.how == "1 of 3 messages used tools"


def test_a_message_in_a_context_used_the_tools_that_ran_there(diary: Diary) -> None:
    diary.ran(context="room 1")
    message(diary, context="room 2")
    message(diary, context="room 1")
    diary.ran("bob", context="room 1")
    message(diary, context="room 1")
    assert measured(diary)["Tool Adoption"].how == "1 of 3 messages used tools"
    diary.ran(context="room 3")
    message(diary)  # without a context: any call of that caller counts
    assert measured(diary)["Tool Adoption"].how == "2 of 4 messages used tools"


def test_a_host_that_knows_whether_tools_were_used_has_the_last_word(diary: Diary) -> None:
    message(diary, used_tools=True)
    diary.ran()
    message(diary, used_tools=False)
    assert measured(diary)["Tool Adoption"].how == "1 of 2 messages used tools"


@pytest.mark.parametrize(("with_tools", "met"), [(5, False), (6, True)])
def test_adoption_is_met_by_more_than_half(diary: Diary, with_tools: int, met: bool) -> None:
    for number in range(10):
        message(diary, used_tools=number < with_tools)
    assert measured(diary)["Tool Adoption"].met is met


def test_depth_is_the_calls_that_ran_for_each_debugging_task(diary: Diary) -> None:
    for _ in range(5):
        diary.ran(context="bug 1")
    diary.refused(context="bug 1")
    diary.ran(context="chat")
    diary.ran("bob", context="bug 1")
    message(diary, context="bug 1", task="debug")
    message(diary, context="bug 1", task="debug")
    message(diary, context="chat", task="review")
    assert measured(diary)["Investigation Depth"].how == "5 calls in 1 debugging task"
    diagnosis(diary, "bug 2", None)
    one = measured(diary)["Investigation Depth"]
    assert (one.value, one.met, one.how) == (2.5, False, "5 calls in 2 debugging tasks")


@pytest.mark.parametrize(("calls", "met"), [(2, False), (3, True)])
def test_three_calls_are_deep_enough(diary: Diary, calls: int, met: bool) -> None:
    message(diary, context="bug", task="debug")
    for _ in range(calls):
        diary.ran(context="bug")
    assert measured(diary)["Investigation Depth"].met is met


def test_accuracy_is_of_the_diagnoses_that_somebody_checked(diary: Diary) -> None:
    diagnosis(diary, "bug 1", None)
    assert measured(diary)["Diagnosis Accuracy"].missing == "not reported"
    for number in range(2, 5):
        diagnosis(diary, f"bug {number}", True)
    one = measured(diary)["Diagnosis Accuracy"]
    assert (one.value, one.met, one.how) == (100.0, True, "3 of 3 checked diagnoses right")


def test_the_last_word_on_a_diagnosis_counts(diary: Diary) -> None:
    diagnosis(diary, "bug", None)
    diagnosis(diary, "bug", True)
    diagnosis(diary, "bug", False)
    diagnosis(diary, "bug", None)
    one = measured(diary)["Diagnosis Accuracy"]
    assert (one.value, one.how) == (0.0, "0 of 1 checked diagnosis right")


@pytest.mark.parametrize(("right", "met"), [(7, False), (8, True)])
def test_accuracy_is_met_by_more_than_70_percent(diary: Diary, right: int, met: bool) -> None:
    for number in range(10):
        diagnosis(diary, f"bug {number}", number < right)
    assert measured(diary)["Diagnosis Accuracy"].met is met


@pytest.mark.parametrize(("good", "met"), [(9, False), (10, True)])
def test_the_tool_success_rate_is_of_what_ran(diary: Diary, good: int, met: bool) -> None:
    for _ in range(good):
        diary.ran()
    diary.failed()
    for _ in range(20):
        diary.refused()
    one = measured(diary)["Tool Success Rate"]
    assert (one.value, one.met) == (pytest.approx(100 * good / (good + 1)), met)
    assert one.how == f"{good} of {good + 1} calls that ran succeeded"


@pytest.mark.parametrize(("time", "met"), [(2000.0, False), (1999.0, True)])
def test_the_response_time_is_the_mean_in_seconds(diary: Diary, time: float, met: bool) -> None:
    diary.ran(time=time - 500)
    diary.failed(time=time + 500)
    one = measured(diary)["Response Time"]
    assert (one.value, one.unit, one.met) == (pytest.approx(time / 1000), "s", met)


@pytest.mark.parametrize(("calls", "met"), [(19, False), (20, True)])
def test_fewer_than_five_percent_may_hit_a_limit(diary: Diary, calls: int, met: bool) -> None:
    for _ in range(calls):
        diary.ran()
    diary.refused(rule="limit:tool:minute")
    one = measured(diary)["Rate Limit Hits"]
    assert (one.value, one.met) == (pytest.approx(100 / (calls + 1)), met)


def test_refused_paths_are_no_violations_and_stand_beside_them(diary: Diary) -> None:
    diary.refused(rule="path:outside")
    diary.refused(rule="path:secret")
    one = measured(diary)["Security Violations"]
    assert (one.value, one.met) == (0.0, True)
    assert one.how == "0 let through, 2 refused by path rules (1 outside the root)"


def test_a_call_that_began_against_a_path_rule_is_a_violation(diary: Diary) -> None:
    diary.ran(rule="path:outside")
    one = measured(diary)["Security Violations"]
    assert (one.value, one.met) == (1.0, False)


def test_only_what_concerns_the_caller_is_measured(diary: Diary) -> None:
    message(diary, "bob", "bug", task="debug")
    diagnosis(diary, "bug", True, "bob")
    diary.failed("bob")
    assert all(one.value is None for one in measured(diary, "ada").values())
    assert measured(diary, "bob")["Tool Success Rate"].value == 0.0


@pytest.mark.parametrize(
    ("note", "told", "complaint"),
    [
        (note_message, {"caller": ""}, 'caller: "" is not a valid name; expected 1 to 500 characters'),
        (note_message, {"caller": "\ud800"}, "caller: .*ud800.* is not a valid name"),
        (note_message, {"caller": "ada", "context": 7}, "context: 7 is not a valid name"),
        (note_message, {"caller": "ada", "task": "x" * 501}, "task: .* is not a valid name"),
        (note_message, {"caller": "ada", "used_tools": "yes"}, 'used_tools: "yes" is neither True, False nor None'),
        (note_diagnosis, {"caller": "ada", "context": None, "correct": True}, "context: null is not a valid name"),
        (note_diagnosis, {"caller": "ada", "context": "bug", "correct": 1}, "correct: 1 is neither"),
    ],
)
def test_a_wrong_note_is_refused_and_leaves_no_record(
    diary: Diary, note: Callable[..., int], told: dict[str, object], complaint: str
) -> None:
    with pytest.raises(ConfigError, match=complaint):
        diary.store.transact(lambda tables: note(tables, **told))
    assert diary.store.look(lambda tables: tables.head()[0]) == 0
