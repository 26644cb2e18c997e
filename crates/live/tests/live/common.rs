//! What the tests share: small images, a server in this process, and a client that can also
//! misbehave.

use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use flash::{Chip, Full};
use ftl::{Layout, Stack, registry};
use live::{Address, ControlRequest, DEFAULT_CLIENTS, FaultRequest, Image, Limits, ServeOptions, Server, call};
use random::SeededRng;
use sim::study::{Capacity, DeviceText};
use tempfile::TempDir;
use testkit::TestFlash;

/// A device of a few megabytes on four dies, with room enough for every scheme.
pub(crate) fn small_device() -> DeviceText {
    DeviceText {
        preset: Some("slc-small".into()),
        capacity: Some(Capacity::Bytes(4 << 20)),
        spare: Some(0.35),
        channels: Some(2),
        dies_per_channel: Some(1),
        pages_per_block: Some(16),
        ..DeviceText::default()
    }
}

/// Makes an image of the small device.
pub(crate) fn create(folder: &Path, ftl: &str) -> PathBuf {
    create_on(folder, ftl, &small_device())
}

/// An image of the small device, in a folder of its own.
pub(crate) fn new_image(ftl: &str) -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().expect("a folder");
    let image = create(folder.path(), ftl);
    (folder, image)
}

/// The same, and its server.
pub(crate) fn served(ftl: &str) -> (TempDir, PathBuf, Server) {
    let (folder, image) = new_image(ftl);
    let server = serve(&image);
    (folder, image, server)
}

/// Makes an image of a device.
pub(crate) fn create_on(folder: &Path, ftl: &str, device: &DeviceText) -> PathBuf {
    let path = folder.join(format!("{ftl}.img"));
    let device = sim::Device::resolve(device, 1).expect("a device");
    Image::create(&path, &device, &stack(ftl)).expect("an image");
    path
}

fn stack(text: &str) -> Stack {
    text.parse().expect("a spelling")
}

/// How tests serve an image.
pub(crate) fn options(image: &Path) -> ServeOptions {
    ServeOptions {
        image: image.to_owned(),
        address: Some(Address::Unix(socket(image))),
        modelled: false,
        plan: flash::FaultPlan::default(),
        record: None,
        metrics: None,
        tls: None,
        clients: DEFAULT_CLIENTS,
        limits: Limits::default(),
        accept_damage: false,
        read_only: false,
        insecure: false,
    }
}

/// Where tests serve it.
pub(crate) fn socket(image: &Path) -> PathBuf {
    image.with_extension("sock")
}

pub(crate) fn serve(image: &Path) -> Server {
    Server::start(&options(image)).expect("a server")
}

/// Serves an image with limits that a test can wait for.
pub(crate) fn serve_within(image: &Path, limits: Limits) -> Server {
    Server::start(&ServeOptions { limits, ..options(image) }).expect("a server")
}

/// Cuts the power now, and lets it return.
pub(crate) fn cut(image: &Path) {
    let cut = FaultRequest::Cut { tear: None, after: 0, stay_off: false };
    call(image, &ControlRequest::Fault(cut)).expect("a power cut");
}

/// A number of the server's report.
pub(crate) fn stat(image: &Path, name: &str) -> u64 {
    let report = call(image, &ControlRequest::Stat).expect("a report");
    let report: serde_json::Value = serde_json::from_str(&report).expect("JSON");
    report[name].as_u64().unwrap_or_else(|| panic!("{name} is no number: {report}"))
}

/// Waits until something is so, for as long as a busy machine may need.
pub(crate) fn eventually(what: &str, mut is_so: impl FnMut() -> bool) {
    let until = std::time::Instant::now() + Duration::from_secs(30);
    while !is_so() {
        assert!(std::time::Instant::now() < until, "{what}: not within half a minute");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Stacks with a write buffer in front.
pub(crate) const BUFFERED: [&str; 3] = ["fast+bplru:ram=256KiB", "page+dynamic+fab:ram=64KiB", "dftl+lru:ram=128KiB"];

/// Names of all schemes, and stacks with a write buffer in front.
pub(crate) fn schemes() -> impl Iterator<Item = &'static str> {
    registry::mappings().into_iter().map(|entry| entry.name).chain(BUFFERED)
}

/// The flags of a write that lasts once it is answered: FUA where the scheme has a write buffer.
pub(crate) fn lasting(scheme: &str) -> u16 {
    let chip: Chip<Full<u64>> = TestFlash::new(64, 16).channels(2).page_size(4096).chip();
    let layout = Layout::of(&chip, 512, 1);
    let ftl = check::create(&stack(scheme), &layout).expect("a scheme");
    if ftl.buffered().capacity_pages > 0 { FUA } else { 0 }
}

/// A reply: its cookie, its error (0 for none), and the runs of a status.
pub(crate) type Answer = (u64, u32, Vec<(u32, u32)>);

/// An NBD client over a Unix socket.
pub(crate) struct Client {
    pub(crate) stream: UnixStream,
    pub(crate) bytes: u64,
    /// The transmission flags.
    pub(crate) flags: u16,
    cookie: u64,
}

/// A command and its numbers, as the wire has them.
pub(crate) const READ: u16 = 0;
pub(crate) const WRITE: u16 = 1;
pub(crate) const DISC: u16 = 2;
pub(crate) const FLUSH: u16 = 3;
pub(crate) const TRIM: u16 = 4;
pub(crate) const WRITE_ZEROES: u16 = 6;
pub(crate) const BLOCK_STATUS: u16 = 7;
pub(crate) const FUA: u16 = 1;
pub(crate) const NO_HOLE: u16 = 2;

impl Client {
    /// Connects and negotiates structured replies and block status.
    pub(crate) fn connect(image: &Path) -> io::Result<Self> {
        let mut client = Self { stream: UnixStream::connect(socket(image))?, bytes: 0, flags: 0, cookie: 0 };
        client.stream.set_read_timeout(Some(Duration::from_secs(20)))?;
        let mut hello = [0; 18];
        client.stream.read_exact(&mut hello)?;
        client.stream.write_all(&3_u32.to_be_bytes())?;
        client.option(8, &[])?;
        let context = b"base:allocation";
        let query = [&[0; 4][..], &1_u32.to_be_bytes(), &(context.len() as u32).to_be_bytes(), context].concat();
        client.option(10, &query)?;
        client.option(7, &[0; 6])?;
        Ok(client)
    }

    fn option(&mut self, option: u32, data: &[u8]) -> io::Result<()> {
        self.stream.write_all(b"IHAVEOPT")?;
        self.stream.write_all(&option.to_be_bytes())?;
        self.stream.write_all(&(data.len() as u32).to_be_bytes())?;
        self.stream.write_all(data)?;
        loop {
            let mut head = [0; 20];
            self.stream.read_exact(&mut head)?;
            let word = |at: usize| u32::from_be_bytes(head[at..at + 4].try_into().expect("four bytes"));
            let mut data = vec![0; word(16) as usize];
            self.stream.read_exact(&mut data)?;
            if word(12) == 3 && data[..2] == [0, 0] {
                self.bytes = u64::from_be_bytes(data[2..10].try_into().expect("eight bytes"));
                self.flags = u16::from_be_bytes([data[10], data[11]]);
            }
            if word(12) >= 1 << 31 {
                let why = String::from_utf8_lossy(&data);
                return Err(io::Error::other(format!("option {option} was refused: {:x} {why}", word(12))));
            }
            if word(12) == 1 {
                return Ok(());
            }
        }
    }

    /// Sends a request and does not wait.
    pub(crate) fn send(&mut self, flags: u16, kind: u16, offset: u64, length: u32, data: &[u8]) -> io::Result<u64> {
        self.cookie += 1;
        let mut bytes = Vec::with_capacity(28 + data.len());
        bytes.extend(0x2560_9513_u32.to_be_bytes());
        bytes.extend(flags.to_be_bytes());
        bytes.extend(kind.to_be_bytes());
        bytes.extend(self.cookie.to_be_bytes());
        bytes.extend(offset.to_be_bytes());
        bytes.extend(length.to_be_bytes());
        bytes.extend(data);
        self.stream.write_all(&bytes)?;
        Ok(self.cookie)
    }

    /// Takes a reply: its cookie, its error (0 for none), and what was read or the runs of a
    /// status.
    pub(crate) fn receive(&mut self, read: &mut [u8], offset: u64) -> io::Result<Answer> {
        let mut runs = Vec::new();
        loop {
            let mut magic = [0; 4];
            self.stream.read_exact(&mut magic)?;
            if u32::from_be_bytes(magic) == 0x6744_6698 {
                let mut rest = [0; 12];
                self.stream.read_exact(&mut rest)?;
                let (error, cookie) = (be32(&rest[..4]), be64(&rest[4..]));
                return Ok((cookie, error, runs));
            }
            assert_eq!(u32::from_be_bytes(magic), 0x668e_33ef);
            let mut head = [0; 16];
            self.stream.read_exact(&mut head)?;
            let (is_last, kind) = (head[1] == 1, u16::from_be_bytes([head[2], head[3]]));
            let cookie = be64(&head[4..12]);
            let mut payload = vec![0; be32(&head[12..]) as usize];
            self.stream.read_exact(&mut payload)?;
            let mut error = 0;
            match kind {
                1 => {
                    let at = (be64(&payload[..8]) - offset) as usize;
                    read[at..at + payload.len() - 8].copy_from_slice(&payload[8..]);
                }
                2 => {
                    let at = (be64(&payload[..8]) - offset) as usize;
                    read[at..at + be32(&payload[8..]) as usize].fill(0);
                }
                5 => runs.extend(payload[4..].as_chunks::<8>().0.iter().map(|run| (be32(&run[..4]), be32(&run[4..])))),
                _ if kind >= 1 << 15 => error = be32(&payload[..4]),
                _ => {}
            }
            if is_last {
                return Ok((cookie, error, runs));
            }
        }
    }

    /// A request and its reply: the error, 0 for none.
    pub(crate) fn ask(&mut self, flags: u16, kind: u16, offset: u64, length: u32, data: &[u8]) -> u32 {
        let cookie = self.send(flags, kind, offset, length, data).expect("sent");
        let (answered, error, _) = self.receive(&mut [], 0).expect("a reply");
        assert_eq!(answered, cookie);
        error
    }

    /// Reads; fails with the error's number.
    pub(crate) fn read(&mut self, offset: u64, length: usize) -> Result<Vec<u8>, u32> {
        let mut data = vec![0xEE; length];
        self.send(0, READ, offset, length as u32, &[]).expect("sent");
        match self.receive(&mut data, offset).expect("a reply").1 {
            0 => Ok(data),
            error => Err(error),
        }
    }

    pub(crate) fn write(&mut self, offset: u64, data: &[u8]) -> u32 {
        self.ask(0, WRITE, offset, data.len() as u32, data)
    }

    pub(crate) fn flush(&mut self) -> u32 {
        self.ask(0, FLUSH, 0, 0, &[])
    }

    /// Runs of (bytes, flags).
    pub(crate) fn status(&mut self, offset: u64, length: u32) -> Vec<(u32, u32)> {
        self.send(0, BLOCK_STATUS, offset, length, &[]).expect("sent");
        let (_, error, runs) = self.receive(&mut [], 0).expect("a reply");
        assert_eq!(error, 0);
        runs
    }
}

fn be32(bytes: &[u8]) -> u32 {
    u32::from_be_bytes(bytes.try_into().expect("four bytes"))
}

fn be64(bytes: &[u8]) -> u64 {
    u64::from_be_bytes(bytes.try_into().expect("eight bytes"))
}

/// This many random bytes.
pub(crate) fn random_bytes(rng: &mut SeededRng, length: usize) -> Vec<u8> {
    (0..length).map(|_| rng.bits() as u8).collect()
}
