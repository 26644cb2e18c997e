"""What there is to choose from: translation layers and their parts, devices, workloads.

What schemes cite by a short name has its full title here. A place in a document follows its name:
"A-SAST III.C" is a section, "RFTL tab. 6" a table.
"""

import json
import re
from functools import cache

from ftlkit import _native
from ftlkit._util import Json
from ftlkit.study import one_line


def schemes() -> list[Json]:
    """All translation layers: name, family, idea, source, parameters, and their stories.

    `sources` are the full titles of what the source and the story cite by letter or by name and
    year.
    """
    entries: list[Json] = json.loads(_native.schemes())
    return [scheme | described(scheme) for scheme in entries]


def names() -> list[str]:
    """The names of all translation layers."""
    return [entry["name"] for entry in json.loads(_native.schemes())]


def built_in() -> list[str]:
    """The names of the built-in translation layers: those that every process knows."""
    return [scheme["name"] for scheme in json.loads(_native.schemes()) if scheme["family"] != "python"]


def parts() -> list[Json]:
    """All parts of stacks: `schemes`, then wear policies and buffers; `kind` says which."""
    entries: list[Json] = json.loads(_native.parts())
    return [part | described(part) for part in entries]


def workload_names() -> list[str]:
    """The names of all workloads that can be named."""
    return [*one_line.NAMES, *(entry["name"] for entry in workloads())]


def devices() -> list[Json]:
    """All device presets, with every key of a `[device]` table."""
    entries: list[Json] = json.loads(_native.devices())
    return entries


def device_names() -> list[str]:
    """The names of all device presets."""
    return [entry["name"] for entry in devices()]


def workloads() -> list[Json]:
    """All workload presets: statistical look-alikes of published traces.

    Those with assumed places (`NAME-cold`) are found by name alone.
    """
    return [entry for entry in json.loads(_native.workload_presets()) if not entry["name"].endswith("-cold")]


TITLES = {
    "A-SAST": (
        "D. Koo and D. Shin, Adaptive Log Block Mapping Scheme for Log Buffer-based FTL (Flash Translation Layer)"
    ),
    "BDB": "H. Zhou et al., BDB FTL: Design and Implementation of a Buffer-Detector Based Flash Translation Layer",
    "RFTL": (
        "R. Mativenga et al., RFTL: improving performance of selective caching-based page-level FTL through "
        "replication, 2018"
    ),
    "WAFTL": "Q. Wei et al., WAFTL: A Workload Adaptive Flash Translation Layer with Data Partition, MSST 2011",
    "Wang 2013": (
        "C. Wang, Flash Memory Management with Cooperation, Adaptation and Assistance, PhD thesis, National "
        "University of Singapore, 2013"
    ),
    "Chang 2007": "L.-P. Chang, On efficient wear leveling for large-scale flash-memory storage systems, SAC 2007",
    "Chang 2007b": (
        "Y.-H. Chang et al., Endurance enhancement of flash-memory storage systems: an efficient static wear "
        "leveling design, DAC 2007"
    ),
    "Chang 2011": (
        "L.-P. Chang and L.-C. Huang, A low-cost wear-leveling algorithm for block-mapping solid-state disks,"
        " LCTES 2011"
    ),
    "Cho 2009": (
        "H. Cho et al., KAST: K-associative sector translation for NAND flash memory in real-time systems, DATE 2009"
    ),
    "Gupta 2009": (
        "A. Gupta et al., DFTL: a flash translation layer employing demand-based selective caching of page-"
        "level address mappings, ASPLOS 2009"
    ),
    "Haas 2025": "G. Haas et al., SSD-iq: Uncovering the Hidden Side of SSD Performance, PVLDB 18, 2025",
    "Hu 2009": "X.-Y. Hu et al., Write amplification analysis in flash-based solid state drives, SYSTOR 2009",
    "Jiang 2011": (
        "S. Jiang et al., S-FTL: An efficient address translation for flash memory by exploiting spatial "
        "locality, MSST 2011"
    ),
    "Jo 2006": "H. Jo et al., FAB: flash-aware buffer management policy for portable media players, IEEE TCE 52, 2006",
    "Huang 2012": (
        "P.-C. Huang et al., Joint management of RAM and flash memory with access pattern considerations, DAC 2012"
    ),
    "Jung 2010": (
        "D. Jung et al., Superblock FTL: a superblock-based flash translation layer with a hybrid address "
        "translation scheme, ACM TECS 9, 2010"
    ),
    "Kang 2006": "J.-U. Kang et al., A superblock-based flash translation layer for NAND flash memory, EMSOFT 2006",
    "Kim 2002": "J. Kim et al., A space-efficient flash translation layer for CompactFlash systems, IEEE TCE 48, 2002",
    "Kim 2008": (
        "H. Kim and S. Ahn, BPLRU: a buffer management scheme for improving random writes in flash storage, FAST 2008"
    ),
    "Lee 2007": (
        "S.-W. Lee et al., A log buffer-based flash translation layer using fully-associative sector "
        "translation, ACM TECS 6, 2007"
    ),
    "Lee 2008": (
        "S. Lee et al., LAST: locality-aware sector translation for NAND flash memory-based storage systems, "
        "SIGOPS OSR 42, 2008"
    ),
    "Lim 2010": "S.-P. Lim et al., FASTer FTL for enterprise-class flash memory SSDs, SNAPI 2010",
    "Murugan 2011": (
        "M. Murugan and D. H. C. Du, Rejuvenator: a static wear leveling algorithm for NAND flash memory with"
        " minimized overhead, MSST 2011"
    ),
    "Park 2008": (
        "C. Park et al., A reconfigurable FTL (flash translation layer) architecture for NAND flash-based "
        "applications, ACM TECS 7, 2008"
    ),
    "Park 2017": "C. Park et al., Practical implication of analytical models for SSD write amplification, ICPE 2017",
    "Qin 2011": (
        "Z. Qin et al., A two-level caching mechanism for demand-based page-level address mapping in NAND "
        "flash memory storage systems, RTAS 2011"
    ),
    "Rosenblum 1992": (
        "M. Rosenblum and J. K. Ousterhout, The design and implementation of a log-structured file system, "
        "ACM TOCS 10, 1992"
    ),
    "Shim 2010": (
        "H. Shim et al., An adaptive partitioning scheme for DRAM-based cache in solid state drives, MSST 2010"
    ),
    "Sun 2023": "J. Sun et al., LeaFTL: A Learning-based Flash Translation Layer for Solid-State Drives, ASPLOS 2023",
    "Tavakkol 2018": (
        "A. Tavakkol et al., MQSim: A Framework for Enabling Realistic Studies of Modern Multi-Queue SSD "
        "Devices, FAST 2018"
    ),
    "Van Houdt 2013": (
        "B. Van Houdt, A mean field model for a class of garbage collection algorithms in flash-based solid "
        "state drives, SIGMETRICS 2013"
    ),
    "Van Houdt 2013b": (
        "B. Van Houdt, Performance of garbage collection algorithms for flash-based solid state drives with "
        "hot/cold data, Performance Evaluation 70, 2013"
    ),
    "Wang 2022": (
        "Q. Wang et al., Separating data via block invalidation time inference for write amplification reduction "
        "in log-structured storage, FAST 2022"
    ),
    "Zhou 2015": (
        "Y. Zhou et al., An efficient page-level FTL to optimize address translation in flash memory, EuroSys 2015"
    ),
}
"""What is cited: its short name and its title."""

_NAMES = re.compile("|".join(rf"(?<![\w-]){name}(?![\w-])" for name in sorted(TITLES, key=len, reverse=True)))


def spelled(source: str) -> str:
    """A source in the reader's words: what was chosen here says so."""
    return "chosen for ftlkit" if source == "ftlkit" else source


@cache
def _cited(text: str) -> tuple[str, ...]:
    """What a text cites; stories do not change, and looking through them all takes 20 ms."""
    names = {match[0] for match in _NAMES.finditer(text)}
    return tuple(f"{name}: {title}" for name, title in TITLES.items() if name in names)


def cited(text: str) -> list[str]:
    """What a text cites, each as its short name with its title."""
    return list(_cited(text))


def described(scheme: Json) -> Json:
    """What a scheme's entry adds: the idea in a line, its sources, the titles that it cites."""
    parameters = [parameter | {"source": spelled(parameter["source"])} for parameter in scheme["parameters"]]
    text = "\n".join([scheme["source"], scheme["story"], *(parameter["source"] for parameter in scheme["parameters"])])
    title = scheme["story"].strip().partition("\n")[0]
    return {
        "idea": title.partition(": ")[2],
        "source": spelled(scheme["source"]),
        "parameters": parameters,
        "sources": cited(text),
    }
