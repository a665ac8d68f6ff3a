"""What README and the manual say about xarray and pandas: labels.py, in a folder with the files of analyst.rs."""

import pathlib

import netCDF4
import pandas
import xarray

STATISTICS = ["min", "average", "median", "max", "deviation"]
PAIR = {"length": 65536, "source": "node001", "destination": "node002"}


def one_file():
    """`convert --to netcdf-one`: labels work as they are."""
    with xarray.open_dataset("one.nc") as ds:
        assert ds["median"].sel(length=65536).shape == (16, 16)
        assert all(float(ds["min"].sel(**PAIR)) <= float(ds[name].sel(**PAIR)) for name in STATISTICS[1:4])
        return float(ds["median"].sel(**PAIR))


def set_of_files():
    """The files of a set join, and take labels once their dimensions are named after them."""
    data = {name: xarray.open_dataset(f"run_{name}.nc")["data"] for name in STATISTICS}
    ds = xarray.Dataset(data).swap_dims(n="length", x="source", y="destination")
    assert ds["max"].sel(length=65536).shape == (16, 16)
    for name in STATISTICS:
        data[name].close()
    return float(ds["median"].sel(**PAIR))


def table():
    """`convert --to csv` is a plain table, and comes back when it was changed."""
    frame = pandas.read_csv("run.csv")
    pair = frame[(frame.length == 65536) & (frame.source_host == "node001") & (frame.destination_host == "node002")]
    assert len(pair) == 1
    frame.loc[frame.source_host == "node003", STATISTICS] *= 1.0
    frame.to_csv("back.csv", index=False)
    return float(pair["median"].iloc[0])


def odd_names():
    """Names that a spreadsheet would take for formulas are texts, and come back."""
    frame = pandas.read_csv("odd.csv")
    assert len(frame) == 64
    for column in ["source_host", "destination_host"]:
        assert not frame[column].astype(str).str.match(r"[=+\-@]").any(), frame[column]
    frame.to_csv("odd_back.csv", index=False)


def described():
    """Every variable of every file says what it is; all files follow CF."""
    for path in sorted(pathlib.Path(".").glob("*.nc")):
        with netCDF4.Dataset(path) as file:
            assert file.Conventions.startswith("CF-"), path
            assert file.title, path
            for name, variable in file.variables.items():
                assert getattr(variable, "long_name", ""), (path, name, "long_name")
                assert getattr(variable, "description", ""), (path, name, "description")
                assert variable.dtype.kind == "S" or hasattr(variable, "units"), (path, name, "units")
                if path.name.startswith("run_") and variable.dimensions == ("n", "x", "y"):
                    assert "coordinates" in variable.ncattrs(), (path, name)


values = [one_file(), set_of_files(), table()]
assert max(values) == min(values) > 0, values
odd_names()
described()
print("xarray", xarray.__version__, "pandas", pandas.__version__)
