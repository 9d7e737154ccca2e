def test_a_defined_queue_is_listed_with_what_waits_in_it(tenure, submitted):
    listed = tenure("queue", "list")
    assert listed.code == 0
    row = next(line for line in listed.out.splitlines() if line.startswith("thumbs"))
    assert row.split()[1:3] == ["open", "1"]


def test_a_list_of_queues_is_json_lines_with_metrics(tenure, submitted):
    tenure("queue", "define", "other")
    lines = tenure("queue", "list", "--json").lines
    assert {line["queue_key"]: line["metrics"]["queue_depth"] for line in lines} == {"thumbs": 1, "other": 0}


def test_a_queue_is_defined_with_all_that_is_said_of_it(tenure):
    answer = tenure(
        "queue", "define", "lab", "--template", "content/specimen/1.0", "--manual-only", "--capability", "pcr", "--site", "north",
        "--lease-ttl", "60", "--max-attempts", "3", "--retry", '{"mode": "CONSTANT", "initial_delay_seconds": 5}', "--json",
    )  # fmt: skip
    queue = answer.json
    assert queue["subject_template_codes"] == ["content/specimen/1.0"]
    assert (queue["manual_only"], queue["required_worker_capabilities"], queue["site_scope"]) == (
        True,
        ["pcr"],
        ["north"],
    )
    assert (queue["lease_ttl_seconds"], queue["max_attempts_default"]) == (60, 3)
    assert queue["retry_policy"]["mode"] == "CONSTANT"


def test_an_update_changes_the_policy_and_counts_the_revision(tenure, submitted):
    answer = tenure("queue", "update", "thumbs", "--lease-ttl", "7", "--json")
    assert (answer.json["lease_ttl_seconds"], answer.json["revision"]) == (7, 2)


def test_an_update_of_a_queue_that_has_changed_since_is_refused(tenure, submitted):
    answer = tenure("queue", "update", "thumbs", "--lease-ttl", "7", "--expected-revision", "9")
    assert (answer.code, "revision_conflict" in answer.err) == (1, True)


def test_a_disabled_queue_says_so_and_can_be_enabled_again(tenure, submitted):
    assert tenure("queue", "disable", "thumbs", "--reason", "the printer burns").code == 0
    why = tenure("subject", "why", submitted)
    assert "queue_disabled" in why.out
    assert "the printer burns" in why.out
    assert tenure("queue", "enable", "thumbs").code == 0
    assert "queue_disabled" not in tenure("subject", "why", submitted).out


def test_a_retired_queue_is_gone_from_the_list(tenure, submitted):
    assert tenure("queue", "retire", "thumbs", "--reason", "replaced").code == 0
    assert tenure("queue", "list", "--json").lines == []


def test_items_come_in_the_order_in_which_they_will_be_taken(tenure, submitted):
    urgent = tenure("subject", "submit", "--queue", "thumbs", "--priority", "5", "--json").json["subject"]
    items = tenure("queue", "items", "thumbs", "--json").lines
    assert [item["envelope"]["euid"] for item in items] == [urgent, submitted]


def test_show_tells_policy_and_metrics(tenure, submitted):
    shown = tenure("queue", "show", "thumbs")
    assert shown.code == 0
    assert "lease_ttl_seconds" in shown.out
    assert "queue_depth" in shown.out
