"""What several workers count, as one."""

from rightcall.server.recording import Metrics
from rightcall.server.workers.figures import Figures, merged, without_gauges


def counted(times: int, seconds: float = 0.02) -> str:
    metrics = Metrics()
    metrics.connections = lambda: times
    for _ in range(times):
        metrics.request("chat", 200, seconds)
    return metrics.text()


def value(text: str, sample: str) -> float:
    (line,) = [line for line in text.splitlines() if line.startswith(f"{sample} ")]
    return float(line.rpartition(" ")[2])


def test_counters_histograms_and_gauges_add_up() -> None:
    text = merged([counted(2), counted(3, 0.2)])
    assert value(text, 'rightcall_requests_total{wire="chat",status="200"}') == 5
    assert value(text, 'rightcall_request_seconds_bucket{wire="chat",le="0.025"}') == 2
    assert value(text, 'rightcall_request_seconds_bucket{wire="chat",le="+Inf"}') == 5
    assert value(text, 'rightcall_request_seconds_sum{wire="chat"}') == 0.64
    assert value(text, "rightcall_connections_open") == 5
    assert text.count("# TYPE rightcall_requests_total counter\n") == 1


def test_one_text_is_itself() -> None:
    assert merged([counted(4)]) == counted(4)


def test_of_the_dead_the_counters_stay_and_the_gauges_go() -> None:
    figures = Figures()
    figures.take("w1", counted(2))
    figures.take("w2", counted(3))
    figures.bury("w1")
    figures.bury("w1")
    text = figures.text()
    assert value(text, 'rightcall_requests_total{wire="chat",status="200"}') == 5
    assert value(text, "rightcall_connections_open") == 3
    assert "connections_open" not in without_gauges(counted(1))


def test_a_label_with_blanks_and_quotes_stays_one_label() -> None:
    odd = '# HELP a about\n# TYPE a counter\na{b="x \\" 7 }"} 2\n'
    assert merged([odd, odd]) == odd.replace(" 2\n", " 4\n")
