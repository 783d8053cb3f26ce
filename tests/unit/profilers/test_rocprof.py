from __future__ import annotations

import json

import pytest
from kernelwright import artifacts
from kernelwright.errors import InputError, KernelwrightError
from kernelwright.profilers import rocprof

TRACE = (
    '"Kind","Agent_Id","Queue_Id","Stream_Id","Thread_Id","Dispatch_Id","Kernel_Id","Kernel_Name","Correlation_Id",'
    '"Start_Timestamp","End_Timestamp","LDS_Block_Size","Scratch_Size","VGPR_Count","Accum_VGPR_Count","SGPR_Count",'
    '"Workgroup_Size_X","Workgroup_Size_Y","Workgroup_Size_Z","Grid_Size_X","Grid_Size_Y","Grid_Size_Z"\n'
    '"KERNEL_DISPATCH","Agent 1",1,0,7,1,3,"add(float*, float*)",1,1000,101000,1024,0,36,0,32,256,1,1,65536,1,1\n'
    '"KERNEL_DISPATCH","Agent 1",1,0,7,2,3,"add(float*, float*)",2,200000,300000,1024,0,36,0,32,256,1,1,65536,1,1\n'
    '"KERNEL_DISPATCH","Agent 1",1,0,7,3,4,"small",3,400000,405000,0,0,8,0,16,64,1,1,64,1,1\n'
)
OLDER = (
    '"Kind","Agent_Id","Queue_Id","Kernel_Id","Kernel_Name","Correlation_Id","Start_Timestamp","End_Timestamp",'
    '"Private_Segment_Size","Group_Segment_Size","Workgroup_Size_X","Workgroup_Size_Y","Workgroup_Size_Z"\n'
    '"KERNEL_DISPATCH",4,1,11,"add",1,1000,9000,0,512,1024,1,1\n'
)
COUNTERS_HEAD = (
    '"Correlation_Id","Dispatch_Id","Agent_Id","Queue_Id","Process_Id","Thread_Id","Grid_Size","Kernel_Id",'
    '"Kernel_Name","Workgroup_Size","LDS_Block_Size","Scratch_Size","VGPR_Count","Accum_VGPR_Count","SGPR_Count",'
    '"Counter_Name","Counter_Value","Start_Timestamp","End_Timestamp"\n'
)
VALUES = {
    "FetchSize": (200000, 220000), "WriteSize": (100000, 110000), "OccupancyPercent": (60, 64), "VALUBusy": (10, 10),
    "MemUnitStalled": (40, 40), "L2CacheHit": (50, 52),
}  # fmt: skip
FACTS = {"memory_bandwidth_gb_s": {"value": 5300.0}, "launch_us": {"value": 5.0}}


def write(path, text):
    artifacts.write_text(path, text)
    return path


def counters(tmp_path):
    rows = [
        f'1,{n},"Agent 1",1,7,7,65536,3,"add(float*, float*)",256,1024,0,36,0,32,"{name}",{value}.000000,1000,101000\n'
        for name, values in VALUES.items()
        for n, value in enumerate(values, 1)
    ]
    return write(tmp_path / "pmc_1" / "9_counter_collection.csv", COUNTERS_HEAD + "".join(rows))


def test_trace_and_counters_become_sections_of_a_profile(tmp_path):
    trace = rocprof.read_trace([write(tmp_path / "9_kernel_trace.csv", TRACE)])
    found = rocprof.sections(trace, rocprof.read_counters([counters(tmp_path)]), FACTS)
    assert [(row["name"], row["calls"], row["time_us"]) for row in found["hot"]] == [
        ("add(float*, float*)", 2, 200.0),
        ("small", 1, 5.0),
    ]
    assert found["traffic"]["read_bytes"] == 210000 * 1024
    bandwidth = 315000 * 1024 / 100 / 1e3
    assert found["roofline"]["achieved_bandwidth_gb_s"] == pytest.approx(bandwidth)
    assert found["metrics"]["memory_throughput_share"]["value"] == pytest.approx(bandwidth / 5300)
    assert found["occupancy"]["achieved"] == pytest.approx(0.62)
    assert found["metrics"]["registers_per_thread"]["value"] == 36
    assert found["bottlenecks"][0]["bound"] == "memory"
    body = {"bucket": "b00", "version": 1, "tool": "rocprof", "kernel_sha256": "0" * 64, "workloads": ["w"], **found}
    artifacts.write(tmp_path / "profile.json", "profile", body)


def test_older_releases_say_group_segment_size_and_no_registers(tmp_path):
    (row,) = rocprof.read_trace([write(tmp_path / "old_kernel_trace.csv", OLDER)])
    assert row == {"name": "add", "time_us": 8.0, "lds_bytes": 512.0, "vgprs": None, "workgroup": 1024.0}


def test_counters_that_were_not_collected_are_unknown(tmp_path):
    found = rocprof.sections(rocprof.read_trace([write(tmp_path / "k.csv", TRACE)]), {}, {})
    assert found["roofline"]["bytes"] is None
    assert found["metrics"]["achieved_occupancy"]["value"] is None
    assert found["bottlenecks"] == []


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ('"Kernel_Name","Start_Timestamp"\n"a",1\n', "missing column End_Timestamp; found Kernel_Name"),
        (TRACE.replace("101000", "soon", 1), "End_Timestamp: 'soon' is not a number"),
    ],
)
def test_a_file_of_another_form_is_named(tmp_path, text, fault):
    with pytest.raises(InputError, match=fault):
        rocprof.read_trace([write(tmp_path / "k.csv", text)])


def test_a_trace_without_dispatches_is_named():
    with pytest.raises(InputError, match="no kernel dispatch"):
        rocprof.hot([])


def test_json_of_the_tool_is_read(tmp_path):
    tool = {
        "kernel_symbols": [{"kernel_id": 3, "formatted_kernel_name": "add(float*)"}],
        "counters": [{"id": {"handle": 77}, "name": "FetchSize"}],
        "buffer_records": {
            "kernel_dispatch": [
                {"start_timestamp": 1000, "end_timestamp": 3000,
                 "dispatch_info": {"kernel_id": 3, "group_segment_size": 64, "workgroup_size": {"x": 8, "y": 2, "z": 1}}}
            ]
        },
        "callback_records": {
            "counter_collection": [
                {"dispatch_data": {"dispatch_info": {"kernel_id": 3}},
                 "records": [{"counter_id": {"handle": 77}, "value": 12.0}]}
            ]
        },
    }  # fmt: skip
    path = write(tmp_path / "out.json", json.dumps({"rocprofiler-sdk-tool": [tool]}))
    dispatches, found = rocprof.read_json(path)
    assert dispatches == [{"name": "add(float*)", "time_us": 2.0, "lds_bytes": 64, "vgprs": None, "workgroup": 16}]
    assert found == {"add(float*)": {"FetchSize": 12.0}}
    with pytest.raises(InputError, match="rocprofiler-sdk-tool: missing or empty"):
        rocprof.read_json(write(tmp_path / "other.json", "{}"))


def test_a_run_that_wrote_nothing_is_named(tmp_path):
    with pytest.raises(KernelwrightError, match="wrote no"):
        rocprof.found_files(tmp_path, "*kernel_trace.csv")
