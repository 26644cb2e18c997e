//! A mount that runs: the server of the image, the kernel's session, and who makes things safe
//! every few seconds; and how it is asked for, as text and checked.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use analyzer::Parameters;
use fat::CodePage;
use fuser::{BackgroundSession, Config, MountOption, Session};
use live::{HostCounts, LiveError, LocalClient, ServeOptions, ServeText, Server};
use rustix::process::{getgid, getuid};
use serde::{Deserialize, Serialize};

use crate::error::FileError;
use crate::fuse::{Fuse, Shared, lock};
use crate::modes::Modes;
use crate::open;
use crate::tree::{Lost, Tree};

/// How often is looked at whether something waits.
const LOOK_EVERY: Duration = Duration::from_millis(500);
/// How long something waits at most until it is made safe without being asked for.
const SAFE_AFTER: Duration = Duration::from_secs(5);
/// How long the kernel may take to end its session once the folder is unmounted.
const LAST_REQUESTS: Duration = Duration::from_secs(2);

/// The device of FUSE.
const FUSE: &str = "/dev/fuse";

/// How an image is mounted.
#[derive(Clone, Debug)]
pub struct MountOptions {
    /// The image, and how it is served.
    pub serve: ServeOptions,
    /// Where it is mounted.
    pub folder: PathBuf,
    /// Whether a new image is formatted first.
    pub format: bool,
    /// How temperatures are found.
    pub parameters: Parameters,
    /// Streams for the data of files, by their degrees.
    pub streams: u8,
    /// The letters of short names.
    pub code_page: CodePage,
    /// The modes of files and folders.
    pub modes: Modes,
}

/// What a mount says when it is ready.
#[derive(Clone, Debug, Serialize)]
pub struct Ready {
    /// Where it is mounted.
    pub folder: PathBuf,
    /// Name of the translation layer.
    pub ftl: String,
    /// Bytes that files may take.
    pub bytes: u64,
    /// Bytes of these that are free.
    pub free_bytes: u64,
    /// Whether it is mounted for reading alone.
    pub is_read_only: bool,
    /// Whether that is so because the flash is worn out.
    pub is_worn_out: bool,
    /// What was odd about the image or the volume.
    pub findings: Vec<String>,
}

/// What a mount says when it has ended.
#[derive(Clone, Debug, Serialize)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
pub struct Summary {
    /// Requests and bytes.
    pub host: HostCounts,
    /// Whether everything reached the disk and the image was left in good order.
    pub is_saved: bool,
    /// Whether programs still had files open, which they cannot use any more.
    pub was_busy: bool,
    /// Whether the flash takes no writes any more.
    pub is_worn_out: bool,
    /// Whether the last of what was saved lies in the journal of the volume alone.
    pub is_in_journal: bool,
    /// Whether the folder still has the mount, now without files, below one made over it since.
    pub is_covered: bool,
    /// Planned faults whose operation never came.
    pub faults_to_come: usize,
    /// Planned faults whose operation was of another kind.
    pub missed_faults: u64,
}

/// An image that is mounted.
pub struct Mounted {
    server: Option<Server>,
    session: Option<BackgroundSession>,
    tree: Shared<LocalClient>,
    folder: PathBuf,
    /// The number and the kind of the mount's own device, which tell it from later mounts at its
    /// folder.
    device: Option<String>,
    is_over: Arc<AtomicBool>,
    keeper: Option<(Arc<AtomicBool>, JoinHandle<()>)>,
    ready: Ready,
    notice: Notice,
}

/// How a volume was left.
struct Closed {
    saved: Result<(), FileError>,
    /// What was lost to wear.
    lost: Option<Lost>,
    is_worn_out: bool,
    is_in_journal: bool,
}

/// Messages for the caller that started a mount, until they are delivered.
type Notice = Arc<Mutex<Option<String>>>;

impl Mounted {
    /// Serves the image, opens its volume and mounts it.
    pub fn start(options: &MountOptions) -> Result<Self, LiveError> {
        let folder = checked(&options.folder)?;
        let (server, tree) = opened(options)?;
        let (space, mut findings) = (tree.space(), server.ready().findings.clone());
        if !tree.has_journal() {
            findings.push(
                "this volume was not formatted by ftlkit and has no journal: a kill or a power cut may leave it half changed; repair it with \
                 fsck.vfat then, over NBD"
                    .into(),
            );
        }
        let ready = Ready {
            folder: folder.clone(),
            ftl: server.ready().ftl.clone(),
            bytes: u64::from(space.clusters) * u64::from(space.cluster_bytes),
            free_bytes: u64::from(space.free) * u64::from(space.cluster_bytes),
            is_read_only: tree.is_read_only(),
            is_worn_out: tree.is_read_only() && !options.serve.read_only,
            findings,
        };
        let config = config(&options.serve, ready.is_read_only);
        let tree: Shared<LocalClient> = Arc::new(Mutex::new(Some(tree)));
        let is_over = Arc::new(AtomicBool::new(false));
        let owner = (getuid().as_raw(), getgid().as_raw());
        let fuse = Fuse::new(Arc::clone(&tree), owner, options.modes, Arc::clone(&is_over));
        let failed = |error: std::io::Error| cannot_mount(&folder, &error);
        let session = Session::new(fuse, &folder, &config).map_err(failed)?.spawn().map_err(failed)?;
        let (device, notice) = (devices_at(&folder).pop(), Notice::default());
        let keeper = keeper(&tree, server.local_client(), folder.display().to_string(), &notice)?;
        let (server, session, keeper) = (Some(server), Some(session), Some(keeper));
        Ok(Self { server, session, tree, folder, device, is_over, keeper, ready, notice })
    }

    /// Messages for the caller that started it.
    pub fn ready(&self) -> &Ready {
        &self.ready
    }

    /// Later events to report to the caller that started it, once.
    pub fn notice(&self) -> Option<String> {
        self.notice.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Whether it has ended by itself: the folder was unmounted, or the server has ended;
    /// [`stop`](Self::stop) then tells why.
    pub fn has_ended(&self) -> bool {
        self.is_over.load(Ordering::SeqCst) || self.server.as_ref().is_none_or(Server::has_ended)
    }

    /// Unmounts the folder, makes everything safe and stops the server.
    pub fn stop(mut self) -> Result<Summary, LiveError> {
        let was_busy = self.leave_folder();
        let Closed { saved, lost, is_worn_out, is_in_journal } = self.close_tree();
        let Some(server) = self.server.take() else { return Err(LiveError::Bug("a mount was stopped twice".into())) };
        // What is lost is known by files. A write buffer may hold more that worn-out flash refuses,
        // which the journal has.
        let served = if is_worn_out { server.stop_worn_out() } else { server.stop() };
        if let Some(lost) = lost {
            return Err(LiveError::user(format!(
                "the flash is worn out, and writes accepted since the last successful sync are lost: {lost}. What had been synced is on the \
                 image: mount it again, and copy it to another one"
            )));
        }
        let served = served?;
        saved.map_err(|error| {
            LiveError::user(format!(
                "what was not made safe before is lost: {error}. What programs had synced is on the image; mount it again"
            ))
        })?;
        Ok(Summary {
            host: served.host,
            is_saved: served.is_saved,
            was_busy,
            is_worn_out: is_worn_out || self.ready.is_worn_out,
            is_in_journal,
            is_covered: self.is_covered(),
            faults_to_come: served.faults_to_come,
            missed_faults: served.missed_faults,
        })
    }

    /// Unmounts the folder; whether it was in use.
    fn leave_folder(&mut self) -> bool {
        let Some(session) = self.session.take() else { return false };
        let is_over = self.is_over.load(Ordering::SeqCst);
        if is_over || !self.is_mounted() {
            // Its end would unmount whatever lies at the folder by now. Its own mount, if there is
            // one below, stays, without files.
            std::mem::forget(session);
            return !is_over;
        }
        // Without waiting for its thread, which stays as long as any program has a file open.
        drop(session);
        let until = Instant::now() + LAST_REQUESTS;
        let mut was_busy = false;
        while !self.is_over.load(Ordering::SeqCst) && Instant::now() < until {
            if !was_busy && self.is_mounted() {
                was_busy = true;
                detach(&self.folder);
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        was_busy || !self.is_over.load(Ordering::SeqCst)
    }

    /// Whether what lies at the folder is this mount.
    fn is_mounted(&self) -> bool {
        self.device.is_some() && devices_at(&self.folder).pop() == self.device
    }

    /// Whether the mount is there, and another one over it.
    fn is_covered(&self) -> bool {
        let devices = devices_at(&self.folder);
        devices.last() != self.device.as_ref() && self.device.as_ref().is_some_and(|own| devices.contains(own))
    }

    /// Makes everything safe; the kernel, if it still asks, is told of errors from then on.
    fn close_tree(&mut self) -> Closed {
        if let Some((is_over, thread)) = self.keeper.take() {
            is_over.store(true, Ordering::SeqCst);
            thread.thread().unpark();
            // It has no state that could be lost.
            let _ = thread.join();
        }
        let Some(mut tree) = lock(&self.tree).take() else {
            return Closed { saved: Ok(()), lost: None, is_worn_out: false, is_in_journal: false };
        };
        let (saved, is_in_journal) = (tree.unmount(), tree.is_in_journal());
        Closed { saved, lost: tree.lost(), is_worn_out: tree.is_worn_out(), is_in_journal }
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        // Dropped without `stop`: the caller ignores the outcome.
        self.leave_folder();
        let _ = self.close_tree();
    }
}

/// Serves the image and opens its volume: for reading alone where the flash is worn out.
fn opened(options: &MountOptions) -> Result<(Server, Tree<LocalClient>), LiveError> {
    let open = |client| open::open(client, options.parameters, options.streams, options.code_page);
    let server = Server::start(&options.serve)?;
    let client = if options.format {
        refuse_if_used(&server)?;
        open::format(server.local_client())?
    } else {
        server.local_client()
    };
    let tree = open(client)?;
    if !tree.is_worn_out() {
        return Ok((server, tree));
    }
    // What was written to find that out is what the volume held already. If it waits in a write
    // buffer, it cannot leave it, and stopping fails.
    drop(tree);
    let _ = server.stop();
    let server = Server::start(&ServeOptions { read_only: true, ..options.serve.clone() })?;
    let tree = open(server.local_client())?;
    Ok((server, tree))
}

/// Makes safe what has waited for long, tells what the analyzer found, and notices when the flash
/// is worn out.
fn keeper(
    tree: &Shared<LocalClient>,
    client: LocalClient,
    mounted_at: String,
    notice: &Notice,
) -> Result<(Arc<AtomicBool>, JoinHandle<()>), LiveError> {
    let (is_over, tree, notice) = (Arc::new(AtomicBool::new(false)), Arc::clone(tree), Arc::clone(notice));
    let ends = Arc::clone(&is_over);
    let keep = move || {
        let (mut dirty_since, mut was_worn_out): (Option<Instant>, bool) = (None, false);
        while !ends.load(Ordering::SeqCst) {
            if let Some(tree) = lock(&tree).as_mut() {
                if let Some(news) = tree.news(&mounted_at) {
                    client.tell_files(news);
                    client.rate(tree.hints());
                }
                let since = tree.is_dirty().then(|| dirty_since.unwrap_or_else(Instant::now));
                dirty_since = since.filter(|since| {
                    // Data that cannot be synced now are retried, and reported to callers of sync.
                    since.elapsed() < SAFE_AFTER || tree.sync().is_err()
                });
                if tree.is_worn_out() && !std::mem::replace(&mut was_worn_out, true) {
                    let news = worn_out(tree.lost().as_ref());
                    *notice.lock().unwrap_or_else(PoisonError::into_inner) = Some(news);
                }
            }
            std::thread::park_timeout(LOOK_EVERY);
        }
    };
    let thread = std::thread::Builder::new().name("keeper".into()).spawn(keep);
    let thread = thread.map_err(|error| LiveError::user(format!("cannot start a thread: {error}")))?;
    Ok((is_over, thread))
}

/// Message for flash that accepts no more writes.
fn worn_out(lost: Option<&Lost>) -> String {
    let lost = lost.map_or_else(
        || "Nothing that was written is lost".into(),
        |lost| {
            format!("What was accepted before and cannot be kept: {lost}. It can still be read: copy it to another disk before you unmount")
        },
    );
    format!("the flash is worn out, and the volume is for reading alone until it is unmounted. {lost}")
}

fn config(serve: &ServeOptions, is_read_only: bool) -> Config {
    let mut config = Config::default();
    let name = serve.image.file_name().map_or_else(|| "image".into(), |name| name.to_string_lossy().replace(',', "_"));
    config.mount_options = vec![
        MountOption::FSName(name),
        MountOption::Subtype("ftlkit".into()),
        MountOption::DefaultPermissions,
        MountOption::NoDev,
        MountOption::NoSuid,
        MountOption::NoAtime,
        if is_read_only { MountOption::RO } else { MountOption::RW },
    ];
    config
}

/// The folder, if something can be mounted there.
fn checked(folder: &Path) -> Result<PathBuf, LiveError> {
    let at = folder.display();
    if !Path::new(FUSE).exists() {
        return Err(LiveError::user(
            "this system has no FUSE: /dev/fuse is missing. Load it (modprobe fuse), or in a container give it the device (--device /dev/fuse); \
             without it, `ftlkit serve` offers the image over NBD",
        ));
    }
    let found = folder.read_dir().map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => {
            LiveError::user(format!("there is no folder {at} to mount at; make it: mkdir {at}"))
        }
        std::io::ErrorKind::NotConnected => LiveError::user(format!(
            "{at} is left over from a mount whose process is gone; clear it: fusermount3 -u {at}"
        )),
        _ => LiveError::user(format!("cannot mount at {at}: {error}")),
    })?;
    if found.take(1).count() > 0 {
        return Err(LiveError::user(format!(
            "the folder {at} is not empty, and what is in it would be hidden; mount at an empty one"
        )));
    }
    let folder = folder.canonicalize().map_err(|error| LiveError::user(format!("cannot mount at {at}: {error}")))?;
    if !devices_at(&folder).is_empty() {
        return Err(LiveError::user(format!(
            "something is mounted at {at} already, and would be hidden; mount at another folder, or unmount it first: umount {at}"
        )));
    }
    Ok(folder)
}

/// An image that holds something is not formatted.
fn refuse_if_used(server: &Server) -> Result<(), LiveError> {
    let mut page = [0; 4096];
    let mut client = server.local_client();
    let first = client.read(0, &mut page);
    if first.is_ok() && page.iter().all(|&byte| byte == 0) && server.is_blank() {
        return Ok(());
    }
    Err(LiveError::user(
        "--format is for new images, and this one holds data; mount it without --format, or make a new image: ftlkit image create",
    ))
}

fn cannot_mount(folder: &Path, error: &std::io::Error) -> LiveError {
    let device = std::fs::OpenOptions::new().read(true).write(true).open(FUSE).map(drop);
    let rights = std::fs::metadata(FUSE).map_or(0, |found| found.permissions().mode() & 0o777);
    LiveError::user(format!("cannot mount at {}: {}", folder.display(), why_not(error, &device, rights)))
}

/// Why nothing could be mounted, when opening the device of FUSE, which has these rights, gave
/// this.
fn why_not(error: &std::io::Error, device: &std::io::Result<()>, rights: u32) -> String {
    match device {
        Err(refused) => format!(
            "{FUSE} cannot be opened: {refused}. It has mode {rights:04o}; on most systems everybody may open it: chmod 666 {FUSE}, as root, or \
             mount as a user who may"
        ),
        Ok(()) => format!(
            "{error}. Mounting without root needs fusermount3, of Debian's package fuse3, and the right to write in the folder"
        ),
    }
}

/// The numbers and the kinds of the devices that are mounted at a folder, the last one on top. Of a
/// device that is gone another one may get the number.
fn devices_at(folder: &Path) -> Vec<String> {
    let table = std::fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    let escaped = folder.to_string_lossy().replace('\\', "\\134").replace(' ', "\\040").replace('\t', "\\011");
    let device = |line: &str| {
        let fields: Vec<&str> = line.split(' ').collect();
        let kind = line.split(" - ").nth(1).unwrap_or_default();
        (fields.get(4) == Some(&escaped.as_str())).then(|| format!("{} {kind}", fields[2]))
    };
    table.lines().filter_map(device).collect()
}

/// Takes the folder away from programs that still use it.
fn detach(folder: &Path) {
    // If that fails, the folder shows errors from now on, and goes with the process.
    let _ = std::process::Command::new("fusermount3").args(["-u", "-z", "-q", "--"]).arg(folder).status();
}

/// The most streams, beside that of tables and folders.
const MOST_STREAMS: u8 = 15;

/// How an image is mounted.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MountText {
    /// The folder to mount at.
    pub folder: PathBuf,
    /// Whether a new image is formatted first.
    #[serde(default)]
    pub format: bool,
    /// Write requests of an interval of the analyzer.
    #[serde(default)]
    pub interval: Option<u64>,
    /// Streams for the data of files.
    #[serde(default)]
    pub streams: Option<u64>,
    /// The code page of short names.
    #[serde(default)]
    pub code_page: Option<i64>,
    /// The permissions that files and folders are shown without, in octal.
    #[serde(default)]
    pub umask: Option<String>,
    /// Whether files can be executed.
    #[serde(default)]
    pub exec: bool,
    /// How the image is served meanwhile.
    pub serve: ServeText,
}

impl MountText {
    /// Checks every value and resolves the defaults.
    pub fn check(self) -> Result<MountOptions, LiveError> {
        let own = Parameters::default();
        let streams = self.streams.unwrap_or(3);
        let streams = u8::try_from(streams).ok().filter(|&streams| streams <= MOST_STREAMS).ok_or_else(|| {
            LiveError::user(format!(
                "--streams {streams}: must be from 0 to {MOST_STREAMS}, streams that the files' data are shared out among; 3 without it"
            ))
        })?;
        let known = |number| u16::try_from(number).ok().and_then(CodePage::of);
        let code_page = self.code_page.map_or(Some(CodePage::default()), known).ok_or_else(|| {
            let known: Vec<String> = CodePage::numbers().iter().map(u16::to_string).collect();
            let given = self.code_page.unwrap_or_default();
            LiveError::user(format!("--code-page {given}: must be one of {}", known.join(", ")))
        })?;
        let parameters = Parameters { interval: self.interval.unwrap_or(own.interval), ..own };
        let parameters = parameters.check().map_err(|error| LiveError::user(error.to_string()))?;
        if self.format && self.serve.read_only {
            return Err(LiveError::user("--format writes, and --read-only forbids it: give one of them"));
        }
        let serve = ServeOptions { address: None, ..self.serve.check()? };
        let modes = Modes::check(self.umask.as_deref(), self.exec)?;
        Ok(MountOptions { serve, folder: self.folder, format: self.format, parameters, streams, code_page, modes })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Error, ErrorKind};

    #[test]
    fn options_out_of_range_are_named_with_their_limits() {
        for (option, told) in [
            (r#""streams":300"#, "--streams 300: must be from 0 to 15"),
            (r#""streams":16"#, "--streams 16: must be from 0 to 15"),
            (r#""code_page":-3"#, "--code-page -3: must be one of 437, 720, 737, 775, 850, 852"),
            (r#""code_page":857"#, "--code-page 857: must be one of 437, 720, 737, 775, 850, 852"),
        ] {
            let text = format!(r#"{{"folder":"f","serve":{{"image":"i"}},{option}}}"#);
            let error = serde_json::from_str::<MountText>(&text).expect("known keys").check().expect_err(option);
            assert!(error.to_string().starts_with(told), "{error}");
        }
    }

    #[test]
    fn why_nothing_could_be_mounted_is_said() {
        let error = Error::other("fusermount3: mount failed: Operation not permitted");
        let refused = why_not(&error, &Err(Error::from(ErrorKind::PermissionDenied)), 0o600);
        assert!(refused.contains("mode 0600") && refused.contains("chmod 666 /dev/fuse"), "{refused}");
        assert!(!refused.contains("fusermount3") && !refused.contains("folder"), "{refused}");
        let other = why_not(&error, &Ok(()), 0o666);
        assert!(other.contains("fusermount3") && other.contains("right to write in the folder"), "{other}");
    }
}
