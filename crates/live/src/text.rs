//! What a caller says as text (JSON from Python, TOML of a fault script), before anything of it is
//! believed.

use std::fs::File;
use std::io::Read;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use flash::{Fault, FaultPlan};
use serde::Deserialize;
use sim::study::{DeviceText, FtlText};

use crate::LiveError;
use crate::image::{Description, Image};
use crate::server::{Address, DEFAULT_CLIENTS, FailureName, Limits, ServeOptions, TearName};

/// The most clients at once: beyond, memory for their requests is no longer a server's to promise.
const MAX_CLIENTS: usize = 1024;
/// The longest fault script: room for some ten thousand faults.
const MOST_SCRIPT_BYTES: u64 = 1 << 20;

/// How an image is made.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CreateText {
    /// The path of the new image.
    pub image: PathBuf,
    /// The translation layer, as an `[[ftl]]` table.
    pub ftl: FtlText,
    /// A `[device]` table.
    #[serde(default)]
    pub device: DeviceText,
    /// Seed of bad blocks and of what the translation layer draws.
    #[serde(default)]
    pub seed: Option<u64>,
}

impl CreateText {
    /// Makes the image.
    pub fn create(&self) -> Result<Description, LiveError> {
        let stack = self.ftl.stack()?;
        let seed = self.seed.unwrap_or(1);
        let device = sim::Device::resolve(&self.device, seed)?;
        Image::create(&self.image, &device, &stack).map_err(|error| {
            match sim::Device::fitting_capacity(&self.device, &stack, seed) {
                Some(fits) => LiveError::user(format!("{error}{fits}")),
                None => error,
            }
        })
    }
}

/// How an image is served.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ServeText {
    /// The path of the image.
    pub image: PathBuf,
    /// A Unix socket; beside the image if nothing else is said.
    #[serde(default)]
    pub socket: Option<PathBuf>,
    /// A TCP address instead.
    #[serde(default)]
    pub listen: Option<String>,
    /// `none` or `modelled`.
    #[serde(default)]
    pub latency: LatencyText,
    /// A fault script.
    #[serde(default)]
    pub fault: Option<PathBuf>,
    /// A trace to record.
    #[serde(default)]
    pub record: Option<PathBuf>,
    /// A TCP address for Prometheus.
    #[serde(default)]
    pub metrics: Option<String>,
    /// A folder of certificates.
    #[serde(default)]
    pub tls: Option<PathBuf>,
    /// Clients at once.
    #[serde(default)]
    pub clients: Option<i64>,
    /// Whether to serve a damaged image.
    #[serde(default)]
    pub accept_damage: bool,
    /// Whether to serve it for reading alone, and leave it as it is.
    #[serde(default)]
    pub read_only: bool,
    /// Whether other hosts may be let in without TLS, and keys be used that everybody can read.
    #[serde(default)]
    pub insecure: bool,
}

/// How long replies take.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LatencyText {
    /// As long as the host takes.
    #[default]
    None,
    /// As long as the modelled device would take.
    Modelled,
}

impl ServeText {
    /// Checks it; reads the fault script.
    pub fn check(self) -> Result<ServeOptions, LiveError> {
        let address = match (self.socket, &self.listen) {
            (Some(_), Some(_)) => {
                return Err(LiveError::user("--socket and --listen are two places to listen at: give one of them"));
            }
            (None, Some(at)) => Address::Tcp(tcp("--listen", at)?),
            (Some(path), None) => Address::Unix(path),
            (None, None) => Address::Unix(beside(&self.image, ".sock")),
        };
        if address.is_remote() && self.tls.is_none() && !self.insecure {
            return Err(LiveError::user(format!(
                "--listen {address} lets other hosts in, and without TLS any client can read and write everything: serve over TLS \
                 (--tls FOLDER), listen on 127.0.0.1, or say --insecure if that is what you want"
            )));
        }
        let clients = self.clients.map_or(Some(DEFAULT_CLIENTS), |clients| usize::try_from(clients).ok());
        let clients = clients.filter(|clients| (1..=MAX_CLIENTS).contains(clients)).ok_or_else(|| {
            LiveError::user(format!(
                "--clients {}: must be from 1 to {MAX_CLIENTS}; each may take 8 MiB of memory, or one request of 32 MiB",
                self.clients.unwrap_or_default()
            ))
        })?;
        Ok(ServeOptions {
            address: Some(address),
            modelled: self.latency == LatencyText::Modelled,
            plan: self.fault.as_deref().map(read_script).transpose()?.unwrap_or_default(),
            record: self.record,
            metrics: self.metrics.as_deref().map(|at| tcp("--metrics", at)).transpose()?,
            tls: self.tls,
            clients,
            limits: Limits::default(),
            accept_damage: self.accept_damage,
            read_only: self.read_only,
            insecure: self.insecure,
            image: self.image,
        })
    }
}

fn beside(image: &Path, suffix: &str) -> PathBuf {
    let mut name = image.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

fn tcp(option: &str, text: &str) -> Result<SocketAddr, LiveError> {
    text.parse().map_err(|_| {
        LiveError::user(format!(
            "{option} {text}: not an address; write for example 127.0.0.1:10809 or [::1]:10809, with a port"
        ))
    })
}

/// A fault script: `[[fault]]` tables.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Script {
    #[serde(default)]
    fault: Vec<ScriptedFault>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ScriptedFault {
    /// Flash operations before it since the server was ready, those of its start left out.
    operation: u64,
    kind: ScriptedKind,
    /// For a power cut: how far the operation gets. Default `torn`.
    tear: Option<TearName>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum ScriptedKind {
    Cut,
    ProgramFails,
    EraseFails,
    ReadFails,
    ReadCorrected,
}

fn read_script(path: &Path) -> Result<FaultPlan, LiveError> {
    let wrong = |why: String| LiveError::user(format!("--fault {}: {why}", path.display()));
    let file =
        File::open(path).map_err(|error| wrong(format!("cannot be read: {error}; give the path of a TOML file")))?;
    let mut text = String::new();
    // What has no end, as a device, is not read to it.
    let length = file.take(MOST_SCRIPT_BYTES + 1).read_to_string(&mut text);
    let length = length.map_err(|error| wrong(format!("cannot be read: {error}; give the path of a TOML file")))?;
    if length as u64 > MOST_SCRIPT_BYTES {
        return Err(wrong(format!(
            "has more than {MOST_SCRIPT_BYTES} bytes, the most that a fault script may have; give it fewer faults"
        )));
    }
    parse_script(&text).map_err(|why| wrong(format!("{}. docs/live.md shows a script", why.trim_end())))
}

fn parse_script(text: &str) -> Result<FaultPlan, String> {
    let script: Script = toml::from_str(text).map_err(|error| error.to_string())?;
    let mut plan = FaultPlan::default();
    for ScriptedFault { operation, kind, tear } in script.fault {
        let fault = match kind {
            ScriptedKind::Cut => Fault::Cut(tear.unwrap_or(TearName::Torn).into()),
            ScriptedKind::ProgramFails => FailureName::ProgramFails.into(),
            ScriptedKind::EraseFails => FailureName::EraseFails.into(),
            ScriptedKind::ReadFails => FailureName::ReadFails.into(),
            ScriptedKind::ReadCorrected => FailureName::ReadCorrected.into(),
        };
        if tear.is_some() && kind != ScriptedKind::Cut {
            return Err(format!("operation {operation}: only a cut has a tear; leave it out"));
        }
        if plan.at.insert(operation, fault).is_some() {
            return Err(format!("operation {operation} has two faults; give it one"));
        }
    }
    Ok(plan)
}

#[cfg(test)]
mod tests {
    use super::*;
    use flash::Tear;

    #[test]
    fn a_script_is_a_plan() {
        let plan = parse_script(
            "[[fault]]\noperation = 100\nkind = \"cut\"\n[[fault]]\noperation = 7\nkind = \"erase_fails\"\n\
             [[fault]]\noperation = 8\nkind = \"cut\"\ntear = \"unseen\"\n",
        )
        .expect("valid");
        let expected = [(7, Fault::EraseFails), (8, Fault::Cut(Tear::Unseen)), (100, Fault::Cut(Tear::Torn))];
        assert_eq!(plan.at.into_iter().collect::<Vec<_>>(), expected);
    }

    #[test]
    fn a_script_without_an_end_is_refused_with_its_limit() {
        let error = read_script(Path::new("/dev/zero")).expect_err("no script").to_string();
        assert!(error.starts_with("--fault /dev/zero: has more than 1048576 bytes"), "{error}");
    }

    #[test]
    fn what_a_script_gets_wrong_is_named() {
        for (text, part) in [
            ("[[fault]]\noperation = 1\nkind = \"melt\"", "melt"),
            ("[[fault]]\nkind = \"cut\"", "operation"),
            ("[[fault]]\noperation = 1\nkind = \"cut\"\nwhen = 3", "when"),
            ("[[fault]]\noperation = 1\nkind = \"read_fails\"\ntear = \"torn\"", "only a cut"),
            ("[[fault]]\noperation = 1\nkind = \"cut\"\n[[fault]]\noperation = 1\nkind = \"cut\"", "two faults"),
        ] {
            let error = parse_script(text).expect_err(text);
            assert!(error.contains(part), "{error}");
        }
    }

    fn serve(text: &str) -> Result<ServeOptions, LiveError> {
        serde_json::from_str::<ServeText>(text).expect("known keys").check()
    }

    #[test]
    fn an_image_is_served_beside_itself_unless_told_otherwise() {
        assert_eq!(serve(r#"{"image":"a/b.img"}"#).expect("valid").address, Some(Address::Unix("a/b.img.sock".into())));
        let tcp = serve(r#"{"image":"b","listen":"127.0.0.1:0","latency":"modelled"}"#).expect("valid");
        assert_eq!((tcp.address, tcp.modelled), (Some(Address::Tcp(([127, 0, 0, 1], 0).into())), true));
        for text in
            [r#"{"image":"b","listen":"0.0.0.0:1","insecure":true}"#, r#"{"image":"b","listen":"0.0.0.0:1","tls":"t"}"#]
        {
            assert!(serve(text).is_ok(), "{text}");
        }
        for (text, part) in [
            (r#"{"image":"b","listen":"here"}"#, "127.0.0.1:10809"),
            (r#"{"image":"b","listen":"[::1]:1","socket":"s"}"#, "one of them"),
            (r#"{"image":"b","listen":"0.0.0.0:1"}"#, "--insecure"),
            (r#"{"image":"b","listen":"[::]:1"}"#, "--tls"),
            (r#"{"image":"b","clients":0}"#, "--clients 0: must be from 1 to"),
            (r#"{"image":"b","clients":-1}"#, "--clients -1: must be from 1 to"),
            (r#"{"image":"b","clients":5000}"#, "--clients 5000: must be from 1 to"),
            (r#"{"image":"b","fault":"/nowhere"}"#, "--fault /nowhere: cannot be read"),
        ] {
            let error = serve(text).expect_err(text).to_string();
            assert!(error.contains(part), "{error}");
        }
    }
}
