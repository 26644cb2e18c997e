"""Hold response times beside MQSim's, and beside a model with each rule that makes them differ.

    python tools/mqsim.py PATH/TO/MQSim

A closed loop of one-page requests at random places runs on full devices without collections. Each
line has the mean response in us of: MQSim; ftlkit; a small model with ftlkit's rules; the same
model with MQSim's. `docs/reliability.md` says what the rules are.
"""

import heapq
import random
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import ftlkit as fk

READ_US, PROGRAM_US, TRANSFER_US = 50.0, 500.0, 12.685
"""The transfer is that of 4096 + 128 bytes at 333 MB/s, in MQSim's setting."""

REQUESTS = 40_000

DEVICES = ((8, 4, 32, 0.0), (8, 1, 32, 0.0), (2, 2, 32, 0.0), (1, 4, 8, 0.0), (8, 4, 32, 0.3), (8, 4, 32, 0.6))
"""Channels, dies of each, outstanding requests, share of writes."""

SETTINGS = {
    "Caching_Mechanism": "SIMPLE",
    "Ideal_Mapping_Table": "true",
    "Die_No_Per_Chip": 1,
    "Plane_No_Per_Die": 1,
    "Block_No_Per_Plane": 256,
    "Page_No_Per_Block": 64,
    "Page_Capacity": 4096,
    "Page_Metadat_Capacity": 128,
    "Flash_Technology": "SLC",
    "CMD_Suspension_Support": "NONE",
    **{f"Page_Read_Latency_{bit}": int(READ_US * 1e3) for bit in ("LSB", "CSB", "MSB")},
    **{f"Page_Program_Latency_{bit}": int(PROGRAM_US * 1e3) for bit in ("LSB", "CSB", "MSB")},
}

LOAD = {
    "Device_Level_Data_Caching_Mode": "TURNED_OFF",
    "Die_IDs": 0,
    "Plane_IDs": 0,
    "Initial_Occupancy_Percentage": 70,
    "Working_Set_Percentage": 90,
    "Average_Request_Size": 8,
    "Address_Alignment_Unit": 8,
    "Stop_Time": 0,
    "Total_Requests_To_Generate": REQUESTS,
}


def with_values(text: str, values: dict[str, object]) -> str:
    """Settings with other values; each must be there."""
    for name, value in values.items():
        text, times = re.subn(f"<{name}>[^<]*</{name}>", f"<{name}>{value}</{name}>", text)
        if times == 0:
            raise SystemExit(f"MQSim's settings have no {name}: this script is for its version 7ec40e3.")
    return text


def prepare(
    folder: Path, program: Path, channels: int, dies: int, depth: int, writes: float, requests: int = REQUESTS
) -> list[str | Path]:
    """Write MQSim's settings into a folder, and give the command to run there."""
    device = {**SETTINGS, "Flash_Channel_Count": channels, "Chip_No_Per_Channel": dies}
    load = {
        **LOAD,
        "Total_Requests_To_Generate": requests,
        "Channel_IDs": ",".join(map(str, range(channels))),
        "Chip_IDs": ",".join(map(str, range(dies))),
        "Average_No_of_Reqs_in_Queue": depth,
        "Read_Percentage": round(100 * (1 - writes)),
    }
    flow = re.search(
        "<IO_Flow_Parameter_Set_Synthetic>.*?</IO_Flow_Parameter_Set_Synthetic>",
        (program.parent / "workload.xml").read_text(),
        re.DOTALL,
    )
    if flow is None:
        raise SystemExit(f"{program.parent / 'workload.xml'} has no synthetic flow.")
    settings, workload = folder / "device.xml", folder / "load.xml"
    settings.write_text(with_values((program.parent / "ssdconfig.xml").read_text(), device))
    workload.write_text(
        '<?xml version="1.0" encoding="us-ascii"?>\n<MQSim_IO_Scenarios><IO_Scenario>\n'
        f"{with_values(flow[0], load)}\n</IO_Scenario></MQSim_IO_Scenarios>\n"
    )
    return [program, "-i", settings, "-w", workload]


def mqsim(program: Path, channels: int, dies: int, depth: int, writes: float) -> float:
    """Mean response in us; as MQSim prints it, in whole us."""
    with tempfile.TemporaryDirectory() as name:
        command = prepare(Path(name), program, channels, dies, depth, writes)
        subprocess.run(command, input=b"\n", stdout=subprocess.DEVNULL, check=True)
        result = (Path(name) / "load_scenario_1.xml").read_text()
    mean = re.search("<Device_Response_Time>([0-9]+)<", result)
    if mean is None:
        raise SystemExit("MQSim printed no response time.")
    return float(mean[1])


def study(channels: int, dies: int, depth: int, writes: float, requests: int = REQUESTS) -> dict[str, Any]:
    """The same for ftlkit."""
    span = f"{channels * dies * 32}MiB"
    return {
        "device": {
            "capacity": span,
            "spare": 0.2,
            "channels": channels,
            "dies_per_channel": dies,
            "planes_per_die": 1,
            "pages_per_block": 64,
            "page_size": 4096,
            "read_latency": f"{READ_US}us",
            "program_latency": f"{PROGRAM_US}us",
            "transfer_latency": f"{TRANSFER_US}us",
        },
        "workload": {"generator": {"requests": requests, "span": span, "write_share": writes, "sizes": "4KiB"}},
        "host": {"loop": "closed", "queue_depth": depth},
        "run": {"precondition": "fill"},
        "ftl": [{"name": "page"}],
    }


def ftlkit(channels: int, dies: int, depth: int, writes: float) -> float:
    """Mean response in us."""
    return float(fk.run_study(study(channels, dies, depth, writes)).frame("runs")["response_mean_ns"][0]) / 1e3


@dataclass
class Channel:
    """A bus: what it may carry next, and whether it carries something."""

    dies: list[int]
    is_busy: bool = False
    data: list[tuple[int, float]] = field(default_factory=list)
    """Reads whose data wait in a die: the die, and when the request began."""
    turn: int = 0


class Model:
    """Dies and buses in a closed loop of random one-page requests, by either set of rules.

    As MQSim (`as_mqsim`): data that wait in a die go before commands, so no die begins anything
    while some wait; a die takes reads before writes; a write goes to the die of its address. As
    ftlkit: a read command needs no bus, dies and buses serve in the order of arrival, and writes
    go to the dies in turn.
    """

    def __init__(self, channels: int, dies: int, depth: int, writes: float, *, as_mqsim: bool) -> None:
        self.random = random.Random(1)  # noqa: S311 - a simulation
        self.as_mqsim, self.writes, self.count = as_mqsim, writes, channels * dies
        self.buses = [Channel([die for die in range(self.count) if die % channels == at]) for at in range(channels)]
        self.queues: list[list[tuple[float, bool]]] = [[] for _ in range(self.count)]
        self.is_busy = [False] * self.count
        self.events: list[tuple[float, int, str, int, float]] = []
        self.responses: list[float] = []
        self.serial = self.next_write = 0
        for _ in range(depth):
            self._arrive(0.0)

    def mean(self) -> float:
        """The mean response in us."""
        while len(self.responses) < REQUESTS:
            now, _, what, die, began = heapq.heappop(self.events)
            bus = self.buses[die % len(self.buses)]
            if what == "sensed":
                bus.data.append((die, began))
            elif what == "moved in":
                bus.is_busy = False
                self._at(now + PROGRAM_US, "done", die, began)
            else:
                bus.is_busy = bus.is_busy and what == "done"
                self.is_busy[die] = False
                self.responses.append(now - began)
                self._arrive(now)
            self._serve(now, bus)
        return sum(self.responses) / len(self.responses)

    def _at(self, time: float, what: str, die: int, began: float) -> None:
        self.serial += 1
        heapq.heappush(self.events, (time, self.serial, what, die, began))

    def _arrive(self, now: float) -> None:
        is_write = self.random.random() < self.writes
        if is_write and not self.as_mqsim:
            die, self.next_write = self.next_write, (self.next_write + 1) % self.count
        else:
            die = self.random.randrange(self.count)
        self.queues[die].append((now, is_write))
        self._serve(now, self.buses[die % len(self.buses)])

    def _serve(self, now: float, bus: Channel) -> None:
        """Begin on a channel whatever can begin."""
        if self.as_mqsim:
            self._send_data(now, bus)
            for _ in bus.dies:
                if bus.is_busy or bus.data:
                    return
                die = bus.dies[bus.turn % len(bus.dies)]
                bus.turn += 1
                self._begin(now, bus, die)
        else:
            for die in bus.dies:
                self._begin(now, bus, die)
            self._send_data(now, bus)

    def _send_data(self, now: float, bus: Channel) -> None:
        if bus.data and not bus.is_busy:
            die, began = bus.data.pop(0)
            bus.is_busy = True
            is_write = began < 0
            self._at(now + TRANSFER_US, "moved in" if is_write else "moved out", die, abs(began))

    def _begin(self, now: float, bus: Channel, die: int) -> None:
        queue = self.queues[die]
        if self.is_busy[die] or not queue:
            return
        reads = [at for at, (_, is_write) in enumerate(queue) if not is_write] if self.as_mqsim else []
        began, is_write = queue.pop(reads[0] if reads else 0)
        self.is_busy[die] = True
        if not is_write:
            self._at(now + READ_US, "sensed", die, began)
        else:
            # A write waits for the bus as data do; its sign tells the two apart.
            bus.data.append((die, -began if began else -1e-9))
            self._send_data(now, bus)


def main() -> None:
    """Print the table."""
    if len(sys.argv) != 2:
        raise SystemExit("tools/mqsim.py PATH/TO/MQSim: the program, beside its ssdconfig.xml and workload.xml.")
    program = Path(sys.argv[1]).resolve()
    print("channels x dies, outstanding, writes | MQSim | ftlkit | model, ftlkit's rules | model, MQSim's rules")
    for case in DEVICES:
        channels, dies, depth, writes = case
        models = [Model(*case, as_mqsim=as_mqsim).mean() for as_mqsim in (False, True)]
        figures = [mqsim(program, *case), ftlkit(*case), *models]
        print(f"{channels} x {dies}, {depth}, {writes:.0%} | " + " | ".join(f"{figure:.1f}" for figure in figures))


if __name__ == "__main__":
    main()
