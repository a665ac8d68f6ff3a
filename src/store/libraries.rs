//! Which libraries write files here.

/// `NetCDF 4.9.0, HDF5 1.10.8`, as far as they say so themselves: they leave their versions in each file of their newer
/// format.
pub fn libraries() -> String {
    let asked = || {
        let folder = tempfile::tempdir().ok()?;
        let file = netcdf::create_with(folder.path().join("empty.nc"), netcdf::Options::NETCDF4).ok()?;
        let Ok(netcdf::AttributeValue::Str(text)) = file.attribute("_NCProperties")?.value() else { return None };
        let version = |name: &str| text.split(',').find_map(|part| part.strip_prefix(name)?.strip_prefix('='));
        Some(format!("NetCDF {}, HDF5 {}", version("netcdf")?, version("hdf5")?))
    };
    asked().unwrap_or_else(|| "NetCDF of a version that it does not say".to_owned())
}
