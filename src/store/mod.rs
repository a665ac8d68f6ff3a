//! Runs to files and back. The only module that knows NetCDF.
