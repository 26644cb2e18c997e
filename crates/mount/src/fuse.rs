//! The kernel's requests, passed on to the tree, and its answers.
//!
//! The kernel's own page cache holds what was read. Attributes may be kept by it for a second,
//! since nobody else changes the volume; names may not, for FAT has one file for names that differ
//! in upper and lower case, and the kernel has one entry for each.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use fuser::{
    BsdFileFlags, Errno, FileAttr, FileHandle, FileType, Filesystem, FopenFlags, Generation, INodeNo, KernelConfig,
    LockOwner, OpenAccMode, OpenFlags, RenameFlags, ReplyAttr, ReplyCreate, ReplyData, ReplyDirectory, ReplyEmpty,
    ReplyEntry, ReplyOpen, ReplyStatfs, ReplyWrite, Request, TimeOrNow, WriteFlags,
};

use crate::device::Device;
use crate::error::FileError;
use crate::modes::{Modes, is_read_only};
use crate::tree::{Attributes, Changes, Listed, Tree};

/// The handle of files that are open for reading alone, and of others.
const READER: FileHandle = FileHandle(0);
const WRITER: FileHandle = FileHandle(1);

/// How long the kernel may believe attributes, and names.
const ATTRIBUTES_TTL: Duration = Duration::from_secs(1);
const NAMES_TTL: Duration = Duration::ZERO;
/// The longest write that the kernel may send.
const MOST_WRITE_BYTES: u32 = 1 << 20;
/// The longest name, for `statfs`.
const MOST_NAME: u32 = 255;

/// A tree that the kernel and others use in turns; none once it has been unmounted.
pub(crate) type Shared<V> = Arc<Mutex<Option<Tree<V>>>>;

pub(crate) fn lock<V: Device>(tree: &Shared<V>) -> MutexGuard<'_, Option<Tree<V>>> {
    // A tree in which something panicked may be half changed in memory; what is on the device is as
    // it was.
    tree.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What the kernel talks to.
#[derive(Debug)]
pub(crate) struct Fuse<V: Device> {
    tree: Shared<V>,
    owner: (u32, u32),
    modes: Modes,
    /// Whether the kernel has nothing more to ask.
    is_over: Arc<AtomicBool>,
    /// Folders that are being listed.
    listings: Mutex<HashMap<u64, Vec<Listed>>>,
    next_listing: AtomicU64,
}

impl<V: Device> Fuse<V> {
    pub(crate) fn new(tree: Shared<V>, owner: (u32, u32), modes: Modes, is_over: Arc<AtomicBool>) -> Self {
        Self { tree, owner, modes, is_over, listings: Mutex::default(), next_listing: AtomicU64::new(1) }
    }

    fn with<T>(&self, act: impl FnOnce(&mut Tree<V>) -> Result<T, FileError>) -> Result<T, Errno> {
        let mut tree = lock(&self.tree);
        let tree = tree.as_mut().ok_or(Errno::EIO)?;
        act(tree).map_err(|error| error.errno())
    }

    fn attr(&self, found: &Attributes) -> FileAttr {
        let modified = UNIX_EPOCH + Duration::new(found.modified.try_into().unwrap_or(0), found.modified_ns);
        let kind = if found.is_folder { FileType::Directory } else { FileType::RegularFile };
        FileAttr {
            ino: INodeNo(found.number),
            size: found.bytes,
            blocks: found.disk_bytes / 512,
            atime: modified,
            mtime: modified,
            ctime: modified,
            crtime: modified,
            kind,
            perm: self.modes.of(found),
            nlink: 1,
            uid: self.owner.0,
            gid: self.owner.1,
            rdev: 0,
            blksize: 4096,
            flags: 0,
        }
    }

    fn entry(&self, found: Result<Attributes, Errno>, reply: ReplyEntry) {
        match found {
            Ok(found) => reply.entry_with_ttls(&ATTRIBUTES_TTL, &NAMES_TTL, &self.attr(&found), Generation(0)),
            Err(error) => reply.error(error),
        }
    }

    fn listings(&self) -> MutexGuard<'_, HashMap<u64, Vec<Listed>>> {
        self.listings.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A name as FAT has it.
fn text(name: &OsStr) -> Result<&str, Errno> {
    name.to_str().ok_or(Errno::EINVAL)
}

fn done(result: Result<(), Errno>, reply: ReplyEmpty) {
    match result {
        Ok(()) => reply.ok(),
        Err(error) => reply.error(error),
    }
}

impl<V: Device + 'static> Filesystem for Fuse<V> {
    fn init(&mut self, _req: &Request, config: &mut KernelConfig) -> io::Result<()> {
        // What the kernel does not grant it names, and that is good as well.
        let _ = config.set_max_write(MOST_WRITE_BYTES);
        Ok(())
    }

    fn destroy(&mut self) {
        self.is_over.store(true, Ordering::SeqCst);
    }

    fn lookup(&self, _req: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        self.entry(text(name).and_then(|name| self.with(|tree| tree.lookup(parent.0, name))), reply);
    }

    fn forget(&self, _req: &Request, ino: INodeNo, nlookup: u64) {
        // Nobody waits for an answer.
        let _ = self.with(|tree| {
            tree.forget(ino.0, nlookup);
            Ok(())
        });
    }

    fn getattr(&self, _req: &Request, ino: INodeNo, _fh: Option<FileHandle>, reply: ReplyAttr) {
        match self.with(|tree| tree.attributes(ino.0)) {
            Ok(found) => reply.attr(&ATTRIBUTES_TTL, &self.attr(&found)),
            Err(error) => reply.error(error),
        }
    }

    fn setattr(
        &self,
        _req: &Request,
        ino: INodeNo,
        mode: Option<u32>,
        uid: Option<u32>,
        gid: Option<u32>,
        size: Option<u64>,
        _atime: Option<TimeOrNow>,
        mtime: Option<TimeOrNow>,
        _ctime: Option<SystemTime>,
        _fh: Option<FileHandle>,
        _crtime: Option<SystemTime>,
        _chgtime: Option<SystemTime>,
        _bkuptime: Option<SystemTime>,
        _flags: Option<BsdFileFlags>,
        reply: ReplyAttr,
    ) {
        // FAT has no owners: all files belong to the user that mounted the volume.
        if uid.is_some_and(|uid| uid != self.owner.0) || gid.is_some_and(|gid| gid != self.owner.1) {
            return reply.error(Errno::EPERM);
        }
        let seconds =
            |time: SystemTime| time.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs().cast_signed());
        let modified = mtime.map(|time| match time {
            TimeOrNow::SpecificTime(time) => seconds(time),
            TimeOrNow::Now => seconds(SystemTime::now()),
        });
        let changes = Changes { bytes: size, is_read_only: mode.map(is_read_only), modified };
        let set = |tree: &mut Tree<V>| match mode {
            Some(mode) if !self.modes.keeps(tree.attributes(ino.0)?.is_folder, mode) => Err(FileError::NoSuchMode),
            _ => tree.set(ino.0, changes),
        };
        match self.with(set) {
            Ok(found) => reply.attr(&ATTRIBUTES_TTL, &self.attr(&found)),
            Err(error) => reply.error(error),
        }
    }

    fn mknod(
        &self,
        _req: &Request,
        parent: INodeNo,
        name: &OsStr,
        mode: u32,
        _umask: u32,
        _rdev: u32,
        reply: ReplyEntry,
    ) {
        const KIND: u32 = 0o170_000;
        const FILE: u32 = 0o100_000;
        let make = |name: &str| {
            self.with(|tree| {
                if mode & KIND != FILE {
                    return Err(FileError::NoSuchKind);
                }
                let made = tree.create(parent.0, name, is_read_only(mode))?;
                tree.close(made.number)?;
                Ok(made)
            })
        };
        self.entry(text(name).and_then(make), reply);
    }

    fn mkdir(&self, _req: &Request, parent: INodeNo, name: &OsStr, _mode: u32, _umask: u32, reply: ReplyEntry) {
        self.entry(text(name).and_then(|name| self.with(|tree| tree.create_folder(parent.0, name))), reply);
    }

    fn unlink(&self, _req: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        done(text(name).and_then(|name| self.with(|tree| tree.remove(parent.0, name))), reply);
    }

    fn rmdir(&self, _req: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        done(text(name).and_then(|name| self.with(|tree| tree.remove_folder(parent.0, name))), reply);
    }

    fn symlink(&self, _req: &Request, _parent: INodeNo, _name: &OsStr, _target: &Path, reply: ReplyEntry) {
        reply.error(FileError::NoSuchKind.errno());
    }

    fn link(&self, _req: &Request, _ino: INodeNo, _parent: INodeNo, _name: &OsStr, reply: ReplyEntry) {
        reply.error(FileError::NoSuchKind.errno());
    }

    fn rename(
        &self,
        _req: &Request,
        parent: INodeNo,
        name: &OsStr,
        newparent: INodeNo,
        newname: &OsStr,
        flags: RenameFlags,
        reply: ReplyEmpty,
    ) {
        if !RenameFlags::RENAME_NOREPLACE.contains(flags) {
            return reply.error(Errno::EINVAL);
        }
        let may_replace = flags.is_empty();
        let rename =
            |(name, newname)| self.with(|tree| tree.rename((parent.0, name), (newparent.0, newname), may_replace));
        done(text(name).and_then(|name| Ok((name, text(newname)?))).and_then(rename), reply);
    }

    fn open(&self, _req: &Request, ino: INodeNo, flags: OpenFlags, reply: ReplyOpen) {
        let writes = flags.acc_mode() != OpenAccMode::O_RDONLY;
        let open = |tree: &mut Tree<V>| {
            if writes && tree.is_read_only() { Err(FileError::ReadOnly) } else { tree.open(ino.0) }
        };
        match self.with(open) {
            Ok(()) => reply.opened(if writes { WRITER } else { READER }, FopenFlags::FOPEN_KEEP_CACHE),
            Err(error) => reply.error(error),
        }
    }

    fn create(
        &self,
        _req: &Request,
        parent: INodeNo,
        name: &OsStr,
        mode: u32,
        _umask: u32,
        _flags: i32,
        reply: ReplyCreate,
    ) {
        match text(name).and_then(|name| self.with(|tree| tree.create(parent.0, name, is_read_only(mode)))) {
            Ok(made) => {
                let attr = self.attr(&made);
                reply.created(&NAMES_TTL, &attr, Generation(0), WRITER, FopenFlags::FOPEN_KEEP_CACHE);
            }
            Err(error) => reply.error(error),
        }
    }

    fn read(
        &self,
        _req: &Request,
        ino: INodeNo,
        _fh: FileHandle,
        offset: u64,
        size: u32,
        _flags: OpenFlags,
        _lock_owner: Option<LockOwner>,
        reply: ReplyData,
    ) {
        match self.with(|tree| tree.read(ino.0, offset, size)) {
            Ok(bytes) => reply.data(&bytes),
            Err(error) => reply.error(error),
        }
    }

    fn write(
        &self,
        _req: &Request,
        ino: INodeNo,
        _fh: FileHandle,
        offset: u64,
        data: &[u8],
        _write_flags: WriteFlags,
        _flags: OpenFlags,
        _lock_owner: Option<LockOwner>,
        reply: ReplyWrite,
    ) {
        match self.with(|tree| tree.write(ino.0, offset, data)) {
            Ok(()) => reply.written(data.len() as u32),
            Err(error) => reply.error(error),
        }
    }

    /// Closing reports lost data to a writer. To a reader that is nothing: a file that
    /// is lost can still be copied.
    fn flush(&self, _req: &Request, ino: INodeNo, fh: FileHandle, _lock_owner: LockOwner, reply: ReplyEmpty) {
        if fh == READER {
            return reply.ok();
        }
        done(self.with(|tree| tree.flush(ino.0)), reply);
    }

    fn release(
        &self,
        _req: &Request,
        ino: INodeNo,
        _fh: FileHandle,
        _flags: OpenFlags,
        _lock_owner: Option<LockOwner>,
        _flush: bool,
        reply: ReplyEmpty,
    ) {
        done(self.with(|tree| tree.close(ino.0)), reply);
    }

    fn fsync(&self, _req: &Request, ino: INodeNo, _fh: FileHandle, _datasync: bool, reply: ReplyEmpty) {
        done(self.with(|tree| tree.sync_one(ino.0)), reply);
    }

    fn fsyncdir(&self, _req: &Request, ino: INodeNo, _fh: FileHandle, _datasync: bool, reply: ReplyEmpty) {
        done(self.with(|tree| tree.sync_one(ino.0)), reply);
    }

    fn opendir(&self, _req: &Request, ino: INodeNo, _flags: OpenFlags, reply: ReplyOpen) {
        let all = self.with(|tree| {
            let above = tree.above(ino.0);
            Ok((tree.list(ino.0)?, above))
        });
        match all {
            Ok((all, _)) => {
                let handle = self.next_listing.fetch_add(1, Ordering::Relaxed);
                self.listings().insert(handle, all);
                reply.opened(FileHandle(handle), FopenFlags::empty());
            }
            Err(error) => reply.error(error),
        }
    }

    fn readdir(&self, _req: &Request, ino: INodeNo, fh: FileHandle, offset: u64, mut reply: ReplyDirectory) {
        let above = match self.with(|tree| Ok(tree.above(ino.0))) {
            Ok(above) => above,
            Err(error) => return reply.error(error),
        };
        let listings = self.listings();
        let Some(all) = listings.get(&fh.0) else { return reply.error(Errno::EBADF) };
        let dots = [(ino, ".", true), (INodeNo(above), "..", true)];
        let names = all.iter().map(|listed| (INodeNo(listed.number), listed.name.as_str(), listed.is_folder));
        let places = dots.into_iter().chain(names).zip(1..).skip(offset as usize);
        for ((number, name, is_folder), next) in places {
            let kind = if is_folder { FileType::Directory } else { FileType::RegularFile };
            if reply.add(number, next, kind, name) {
                break;
            }
        }
        reply.ok();
    }

    fn releasedir(&self, _req: &Request, _ino: INodeNo, fh: FileHandle, _flags: OpenFlags, reply: ReplyEmpty) {
        self.listings().remove(&fh.0);
        reply.ok();
    }

    fn statfs(&self, _req: &Request, _ino: INodeNo, reply: ReplyStatfs) {
        match self.with(|tree| Ok(tree.space())) {
            Ok(space) => {
                let (all, free) = (u64::from(space.clusters), u64::from(space.free));
                reply.statfs(all, free, free, 0, 0, space.cluster_bytes, MOST_NAME, space.cluster_bytes);
            }
            Err(error) => reply.error(error),
        }
    }
}
