"""A person takes work at the prompt and reports what came of it."""

import pytest


@pytest.fixture
def claimed(tenure, submitted):
    """What ``subject claim`` printed as JSON."""
    answer = tenure("subject", "claim", "--queue", "thumbs", "--json")
    assert answer.code == 0, answer.err
    return answer.json


def test_a_person_claims_the_first_of_a_queue_as_a_worker_of_their_own(tenure, submitted, claimed):
    worker = tenure("workers", "list", "--json").json

    assert (claimed["subject"], claimed["queue_key"], claimed["started"]) == (submitted, "thumbs", True)
    assert (worker["worker_key"], worker["worker_type"]) == ("user:tester", "HUMAN_SESSION")
    assert tenure("subject", "show", submitted, "--json").json["execution"]["state"] == "RUNNING"
    assert claimed["worker"] == worker["euid"]


def test_what_is_printed_says_how_to_go_on(tenure, submitted):
    answer = tenure("subject", "claim", submitted)

    token = answer.out.split("TENURE_LEASE_TOKEN=")[1].split()[0]
    lease = answer.out.split("tenure lease complete ")[1].split()[0]
    assert submitted in answer.out
    assert tenure("lease", "complete", lease, "--token", token).code == 0


def test_it_is_completed_with_a_result_by_the_token_from_the_environment(tenure, submitted, claimed, monkeypatch):
    monkeypatch.setenv("TENURE_LEASE_TOKEN", claimed["token"])

    assert tenure("lease", "renew", claimed["lease"], "--ttl", "600").code == 0
    done = tenure("lease", "complete", claimed["lease"], "--result", '{"volume": 2}')

    assert done.code == 0, done.err
    history = tenure("subject", "history", submitted, "--json").json
    assert history["attempts"][-1]["result"] == {"volume": 2}
    assert [f["actor"] for f in history["facts"]] == ["user:tester"] * len(history["facts"])


def test_it_is_sent_on_to_the_next_queue(tenure, submitted, claimed):
    tenure("queue", "define", "next")
    arguments = ("lease", "complete", claimed["lease"], "--token", claimed["token"], "--next-queue", "next", "--json")

    assert tenure(*arguments).json["queue_key"] == "next"


@pytest.mark.parametrize(
    ("options", "state"),
    [
        ([], "FAILED_RETRYABLE"),
        (["--permanent"], "FAILED_TERMINAL"),
        (["--class", "PERMANENT_INPUT"], "FAILED_TERMINAL"),
    ],
)
def test_it_fails_for_a_while_or_for_good(tenure, submitted, claimed, options, state):
    arguments = ("lease", "fail", claimed["lease"], "--token", claimed["token"], "--message", "the tube is cracked")

    assert tenure(*arguments, *options, "--json").json["state"] == state
    assert "the tube is cracked" in tenure("subject", "history", submitted).out


def test_it_is_given_back_and_taken_again_without_a_new_registration(tenure, submitted, claimed):
    released = tenure("lease", "release", claimed["lease"], "--token", claimed["token"], "--reason", "lunch", "--json")
    assert released.json["state"] in ("READY", "FAILED_RETRYABLE")
    again = tenure("subject", "claim", submitted, "--no-start", "--ttl", "60", "--json").json

    assert again["started"] is False
    assert again["ttl_seconds"] == 60
    assert tenure("lease", "start", again["lease"], "--token", again["token"], "--json").json["state"] == "RUNNING"
    assert tenure("workers", "list", "--json").json["incarnation"] == 1


def test_what_a_person_can_do_is_kept_with_the_worker(tenure, submitted):
    tenure("queue", "update", "thumbs", "--capability", "pipetting", "--site", "north")
    refused = tenure("subject", "claim", submitted)
    taken = tenure("subject", "claim", submitted, "--capability", "pipetting", "--site", "north", "--json")

    assert (refused.code, taken.code) == (1, 0), taken.err
    assert "capability_mismatch" in refused.err
    assert tenure("lease", "release", taken.json["lease"], "--token", taken.json["token"]).code == 0
    assert tenure("subject", "claim", submitted, "--json").code == 0


FAIL = ["lease", "fail", "{lease}", "--token", "x", "--message", "m"]
MISTAKES = [
    ("another token", ["lease", "complete", "{lease}", "--token", "wrong"], 1, "forbidden"),
    ("no token", ["lease", "complete", "{lease}"], 2, "--token"),
    ("unknown lease", ["lease", "release", "LX-1T8Z", "--token", "x"], 1, "not_found"),
    ("two kinds of error", [*FAIL, "--permanent", "--class", "PERMANENT_INPUT"], 1, "invalid_request"),
    ("unknown kind of error", [*FAIL, "--class", "ODD"], 1, "invalid_request"),
    ("result that is no JSON", ["lease", "complete", "{lease}", "--token", "x", "--result", "{a"], 1, "invalid_payload"),
    ("nothing waits", ["subject", "claim", "--queue", "thumbs"], 1, "not_found"),
    ("neither queue nor subject", ["subject", "claim"], 1, "invalid_request"),
    ("unknown queue", ["subject", "claim", "--queue", "nope"], 1, "queue_unknown"),
    ("subject that is taken", ["subject", "claim", "{subject}"], 1, "not_claimable"),
    ("worker that is no person", ["subject", "claim", "--queue", "thumbs", "--worker", "robot"], 1, "invalid_request"),
]  # fmt: skip


@pytest.mark.parametrize(("arguments", "code", "said"), [m[1:] for m in MISTAKES], ids=[m[0] for m in MISTAKES])
def test_a_mistake_is_told_in_words(tenure, claimed, migrated_database, arguments, code, said):
    from tenure import Tenure

    with Tenure(migrated_database) as client:
        client.register_worker("robot")
    named = {"{lease}": claimed["lease"], "{subject}": claimed["subject"]}
    answer = tenure(*(named.get(argument, argument) for argument in arguments))

    assert (answer.code, said in answer.err) == (code, True), answer.err
    assert "Traceback" not in answer.out + answer.err


@pytest.mark.parametrize("options", [[], ["--json"]])
def test_ctrl_c_ends_top_well(tenure, submitted, monkeypatch, options):
    def interrupted(_seconds):
        raise KeyboardInterrupt

    monkeypatch.setattr("tenure.cli.commands.top.time.sleep", interrupted)
    answer = tenure("top", *options)

    assert (answer.code, answer.err) == (0, "")
    assert "thumbs" in answer.out
