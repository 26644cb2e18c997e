//! The files of a mounted volume without a kernel: on a device in memory that loses power at any
//! moment.

extern crate ftlkit_mount as mount;

mod crash;
mod device;
mod files;
mod names;
mod settled;
mod worn;
