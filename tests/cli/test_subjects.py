import json


def test_a_subject_is_found_by_euid_and_by_its_own_reference(tenure, submitted):
    by_euid = tenure("subject", "show", submitted, "--json").json
    by_ref = tenure("subject", "show", "--ref", "R-1", "--json").json
    assert by_euid["subject"] == by_ref["subject"]
    assert by_euid["execution"]["state"] == "READY"


def test_the_same_key_again_gives_the_same_subject(tenure, submitted):
    first = tenure("subject", "submit", "--queue", "thumbs", "--idempotency-key", "k", "--json").json
    again = tenure("subject", "submit", "--queue", "thumbs", "--idempotency-key", "k", "--json").json
    assert again == first | {"replayed": True}


def test_what_was_answered_again_is_repeated_and_not_refused(tenure, submitted):
    made = [tenure("subject", "submit", "--queue", "thumbs", "--idempotency-key", "k", "--json") for _ in range(2)]
    told = tenure("subject", "history", made[1].json["subject"]).out.splitlines()
    assert not [line for line in told if "refused" in line or "idempotent_replay" in line]
    assert [line.split()[1:4] for line in told if " repeated " in line] == [["repeated", "submit_subject,", "answered"]]


def test_properties_come_from_a_file(tenure, submitted, tmp_path):
    path = tmp_path / "properties.json"
    path.write_text(json.dumps({"path": "ä.png"}), encoding="utf-8")
    made = tenure("subject", "submit", "--queue", "thumbs", "--properties", f"@{path}", "--json").json["subject"]
    assert tenure("subject", "show", made, "--json").json["subject"]["properties"] == {"path": "ä.png"}


def test_why_gives_each_reason_with_evidence_and_remedy(tenure, submitted):
    tenure("subject", "hold", submitted, "--reason", "label smudged")
    told = tenure("subject", "why", submitted)
    assert "hold_active" in told.out
    assert "label smudged" in told.out
    assert "placed_by user:tester" in told.out
    assert "Release the hold" in told.out
    reasons = tenure("subject", "why", submitted, "--json").json
    assert [reason["code"] for reason in reasons if reason["blocking"]] == ["hold_active"]


def test_a_hold_stops_a_subject_until_it_is_released(tenure, submitted):
    assert tenure("subject", "hold", "--ref", "R-1", "--reason", "stop", "--json").json["state"] == "HELD"
    assert submitted in tenure("hold", "list").out
    assert tenure("subject", "release", "--ref", "R-1", "--reason", "go on", "--json").json["state"] == "READY"
    assert "Nothing is on hold" in tenure("hold", "list").out
    assert len(tenure("hold", "list", "--all", "--json").lines) == 1


def test_a_subject_waits_until_it_is_due(tenure, submitted):
    tenure("subject", "requeue", submitted, "--ready-at", "+2h", "--reason", "tonight")
    assert "not_yet_due" in tenure("subject", "why", submitted).out


def test_a_canceled_subject_is_opened_again_only_when_that_is_said(tenure, submitted):
    assert tenure("subject", "cancel", submitted, "--reason", "not needed", "--json").json["state"] == "CANCELED"
    refused = tenure("subject", "requeue", submitted)
    assert (refused.code, "invalid_transition" in refused.err) == (1, True)
    assert tenure("subject", "requeue", submitted, "--reopen", "--json").json["state"] == "READY"


def test_history_is_a_timeline_of_facts_with_those_who_caused_them(tenure, submitted):
    tenure("subject", "hold", submitted, "--reason", "stop")
    told = tenure("subject", "history", submitted)
    lines = [line for line in told.out.splitlines() if "user:tester" in line]
    assert ["subject.submitted" in lines[0], "hold.placed" in lines[1]] == [True, True]
    facts = tenure("subject", "history", submitted, "--json").json["facts"]
    assert [fact["seq"] for fact in facts] == [1, 2]


def test_lineage_shows_the_parent(tenure, submitted):
    child = tenure("subject", "submit", "--queue", "thumbs", "--parent", submitted, "--json").json["subject"]
    edges = tenure("subject", "lineage", child, "--json").lines
    assert {"parent": submitted, "child": child, "relation": "parent"} in edges


def test_what_users_typed_cannot_take_the_terminal_over(tenure, submitted):
    made = tenure("subject", "submit", "--queue", "thumbs", "--name", "a\x1b[31mb [bold]c[/bold]", "--json").json[
        "subject"
    ]
    shown = tenure("subject", "show", made)
    assert "\x1b" not in shown.out
    assert "[bold]c[/bold]" in shown.out
