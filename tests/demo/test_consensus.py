"""The numbers of the demonstration are those that were published, and a wrong number is not let through."""

import csv
import io

import pytest

from tenure.demo.analysis import analyse
from tenure.demo.consensus import accuracy, dawid_skene, majority_vote
from tenure.demo.judgments import MalformedJudgments, read_judgments
from tenure.demo.published import compared, data_file, published_accuracy


@pytest.mark.parametrize(("dataset", "right_items"), [("rte", 742), ("dog", 680)])
def test_dawid_skene_finds_exactly_the_published_accuracy(dataset, right_items):
    judgments = read_judgments(data_file(f"{dataset}.csv"))
    found = accuracy(dawid_skene(judgments).labels, judgments.gold)
    assert found == pytest.approx(right_items / len(judgments.gold))
    assert found == pytest.approx(published_accuracy(dataset), abs=1e-6)


def test_dawid_skene_finds_the_error_rates_of_1979():
    rates = dawid_skene(read_judgments(data_file("ds1979_anaesthesia.csv"))).error_rates
    rows = list(csv.DictReader(io.StringIO(data_file("ds1979_expected_error_rates.csv"))))
    assert len(rows) == 80
    for row in rows:
        assert rates[row["observer"]][row["true"]][row["observed"]] == pytest.approx(float(row["published"]), abs=0.005)


def test_an_accuracy_outside_the_tolerance_is_not_within():
    report = {"accuracy": {"dawid_skene": 0.9075 - 1e-6}}
    assert compared("rte", report)["within"] is False


def test_a_wrong_error_rate_is_not_within():
    report = analyse("ds1979_anaesthesia", read_judgments(data_file("ds1979_anaesthesia.csv")))
    assert compared("ds1979_anaesthesia", report)["within"] is True
    report["error_rates"]["3"]["2"]["2"] -= 0.02
    assert compared("ds1979_anaesthesia", report)["within"] is False


def test_a_good_worker_outvotes_two_who_guess_the_other_way():
    text = "task,worker,label,gold\n" + "".join(
        f"{item},good,{item % 2},\n{item},bad,{(item // 2) % 2},\n{item},second,{item % 2},\n" for item in range(40)
    )
    judgments = read_judgments(text)
    assert dawid_skene(judgments).labels == {str(item): str(item % 2) for item in range(40)}
    assert majority_vote(judgments)["3"] == "1"


def test_an_analysis_that_is_told_to_stop_stops():
    assert analyse("rte", read_judgments(data_file("rte.csv")), going_on=lambda: False) is None


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "line 1"),
        ("task,worker\n", "columns"),
        ("task,worker,label,gold\n", "no judgments"),
        ("task,worker,label,gold\n1,a,0,0\n1,b", "line 3: 2 fields"),
        ("task,worker,label,gold\n1,a,,0\n", "line 2"),
        ("task,worker,label,gold\n1,a,0,0\n1,b,0,1\n", "two right labels"),
    ],
)
def test_a_damaged_file_is_refused_with_the_line_that_is_wrong(text, said):
    with pytest.raises(MalformedJudgments, match=said):
        read_judgments(text)
