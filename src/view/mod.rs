//! Finished values to text and pictures, into any [`std::io::Write`].
//!
//! Views compute nothing but layout: every number comes from [`crate::record`] or [`crate::analysis`]. They open no
//! file and know no terminal beyond the width and the colours they are told.
