//! Images that are served after the power failed under a mount: other drivers find the files as of
//! the last successful sync, whatever fails while the journal goes to its place.

use std::path::Path;

use analyzer::Parameters;
use fat::CodePage;
use flash::{Fault, Tear};
use live::{ControlRequest, FaultRequest, Image, LocalClient, ServeOptions, Server, call};
use mount::{ROOT, Tree};

use crate::crash::Files;
use crate::worn::files_of;

fn options(image: &Path) -> ServeOptions {
    let text = format!(r#"{{"image":{:?}}}"#, image.display().to_string());
    let options: live::ServeText = serde_json::from_str(&text).expect("known keys");
    ServeOptions { address: None, ..options.check().expect("in range") }
}

fn image(folder: &Path) -> std::path::PathBuf {
    let path = folder.join("disk.img");
    let device = sim::study::DeviceText {
        preset: Some("slc-small".into()),
        capacity: Some(sim::study::Capacity::Bytes(24 << 20)),
        spare: Some(0.2),
        ..Default::default()
    };
    let device = sim::Device::resolve(&device, 1).expect("a device");
    Image::create(&path, &device, &ftl::Stack::of("page")).expect("an image");
    let server = Server::start(&options(&path)).expect("a server");
    drop(mount::format(server.local_client()).expect("room"));
    server.stop().expect("saved");
    path
}

fn tree(server: &Server) -> Tree<LocalClient> {
    mount::open(server.local_client(), Parameters::default(), 3, CodePage::default()).expect("a volume")
}

fn write(tree: &mut Tree<LocalClient>, name: &str, byte: u8) {
    let file = tree.create(ROOT, name, false).expect("room").number;
    tree.write(file, 0, &[byte; 9_000]).expect("room");
}

/// All files as another driver finds them.
fn served(server: &Server) -> Files {
    let mut client = server.local_client();
    let mut content = vec![0; client.bytes() as usize];
    for (at, part) in (0..).step_by(1 << 20).zip(content.chunks_mut(1 << 20)) {
        // A planned cut that the journal did not reach may fall into a read, which is asked again.
        client.read(at, part).or_else(|_| client.read(at, part)).expect("readable");
    }
    files_of(content)
}

/// What another driver finds after a cut `at` this many operations into a commit, and whether the
/// journal held the commit. `again` is when the power fails while it is put in place, if it does.
fn after_a_cut(at: u64, again: Option<u64>) -> (Files, bool) {
    let folder = tempfile::tempdir().expect("a folder");
    let image = image(folder.path());
    let server = Server::start(&options(&image)).expect("a server");
    let mut tree = tree(&server);
    write(&mut tree, "old", 1);
    tree.sync().expect("power");
    write(&mut tree, "new", 2);
    let cut = FaultRequest::Cut { tear: None, after: at, stay_off: true };
    call(&image, &ControlRequest::Fault(cut)).expect("planned");
    // It fails, unless the commit has fewer operations.
    let _ = tree.sync();
    drop(tree);
    server.stop().expect("what the flash holds");
    let server = Server::start_prepared(&options(&image), |drive| {
        if let Some(again) = again {
            drive.inject(again, Fault::Cut(Tear::Torn));
        }
        mount::prepare(drive, false)
    })
    .expect("a server");
    let was_ahead = server.ready().findings.iter().any(|finding| finding.contains("in place now"));
    (served(&server), was_ahead)
}

#[test]
fn what_the_journal_holds_is_in_its_place_for_other_drivers() {
    let file = |byte: u8| Some(vec![byte; 9_000]);
    let old = Files::from([("/old".into(), file(1))]);
    let new = Files::from([("/old".into(), file(1)), ("/new".into(), file(2))]);
    let mut ahead = Vec::new();
    for at in 0..40 {
        let (found, was_ahead) = after_a_cut(at, None);
        assert!(found == old || found == new, "cut at {at}: {:?}", found.keys());
        assert!(!was_ahead || found == new, "cut at {at}: the journal was whole");
        ahead.extend(was_ahead.then_some(at));
    }
    assert!(!ahead.is_empty(), "no cut left a whole journal");
    for again in 0..20 {
        let (found, _) = after_a_cut(ahead[0], Some(again));
        assert!(found == new, "the power fails again after {again} operations: {:?}", found.keys());
    }
}
