"""The CalcJob that an execution is: it runs the agent's script in the agent's folder (entry point ``tenure.execution``)."""

from __future__ import annotations

import io
from typing import Any

from aiida import orm
from aiida.common.datastructures import CalcInfo, CodeInfo
from aiida.common.folders import Folder
from aiida.engine import CalcJob

from tenure.agent.aiida import codes

_RUN = 'cd "$1" && exec "$2"'
#: ``timeout`` ends with 124 where the time was over; AiiDA itself limits nothing where there is no scheduler.
_RUN_IN_TIME = 'cd "$1" && exec timeout --kill-after=30 "$3" "$2"'
# Only a script that ended by itself leaves its exit code: without it, an end from outside looks like success to AiiDA.
_BEFORE = "set +e\ntrap 'exit \"${tenure_status:-1}\"' EXIT"
_AFTER = (
    "tenure_status=$?\n"
    f"printf '%s\\n' \"$tenure_status\" > {codes.STATUS_FILE}.new && mv {codes.STATUS_FILE}.new {codes.STATUS_FILE}"
)


class TenureExecution(CalcJob):
    """Runs ``script`` in the folder that the agent made for an execution; its output goes to files there.

    The label of the process is the execution's id. What it leaves in the folder is collected by the agent; AiiDA keeps the
    script, how it ended, and what the scheduler said.
    """

    @classmethod
    def define(cls, spec: Any) -> None:
        """Declare inputs, options and exit codes."""
        super().define(spec)
        spec.inputs["code"].required = True
        spec.input("script", valid_type=orm.SinglefileData, help="What is run, as it was when it was submitted.")
        spec.input("metadata.options.execution_folder", valid_type=str, help="The agent's folder of the execution.")
        spec.input("metadata.options.execution_script", valid_type=str, help="Where the script is in that folder.")
        spec.input(
            "metadata.options.limit_seconds", valid_type=int, required=False,
            help="After how many seconds it is ended, where no scheduler does that.",
        )  # fmt: skip
        options = spec.inputs["metadata"]["options"]
        options["parser_name"].default = codes.PARSER
        options["withmpi"].default = False
        options["resources"].default = lambda: {"num_machines": 1, "num_mpiprocs_per_machine": 1}
        spec.exit_code(codes.REJECTED, "ERROR_SUBMISSION_REJECTED", message="{said}")
        spec.exit_code(codes.ENDED_BY_SCHEDULER, "ERROR_ENDED_BY_SCHEDULER", message="The scheduler says: {said}.")
        spec.exit_code(
            codes.NO_STATUS, "ERROR_NO_EXIT_CODE", message="The job ended without leaving its exit code: it was ended."
        )
        spec.exit_code(codes.NOT_ZERO, "ERROR_EXIT_CODE_NOT_ZERO", message="The script ended with exit code {status}.")

    def prepare_for_submission(self, folder: Folder) -> CalcInfo:
        """Say what is run, and what is brought back to AiiDA."""
        options = self.inputs.metadata.options
        limit = options.get("limit_seconds", None)
        run = CodeInfo()
        run.code_uuid = self.inputs.code.uuid
        run.cmdline_params = [
            "-c", _RUN if limit is None else _RUN_IN_TIME, codes.CALCULATION,
            options.execution_folder, options.execution_script, *([] if limit is None else [str(limit)]),
        ]  # fmt: skip
        run.stdout_name = f"{options.execution_folder}/stdout"
        run.stderr_name = f"{options.execution_folder}/stderr"
        run.withmpi = False
        folder.create_file_from_filelike(io.StringIO(self.node.label), codes.KEY_FILE, "w", encoding="utf-8")
        info = CalcInfo()
        info.codes_info = [run]
        info.prepend_text = _BEFORE
        info.append_text = _AFTER
        info.retrieve_list = [codes.STATUS_FILE]
        return info

    def out(self, output_port: str, value: Any = None) -> None:
        """Attach an output. A worker that died after its upload finds the folder attached already."""
        # AiiDA 2.9 then hands over what it was to upload in place of the folder, and the process would pause.
        if output_port == "remote_folder" and not isinstance(value, orm.Data):
            value = self.node.base.links.get_outgoing(link_label_filter=output_port).one().node
        super().out(output_port, value)
