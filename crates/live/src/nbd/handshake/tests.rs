//! What a client says, and what it hears.

use super::*;

fn export() -> Export {
    Export { bytes: 1 << 20, page_bytes: 4096, is_read_only: false, description: "page".into() }
}

/// An option, what was answered, and the data of the answer.
type Answer = (u32, u32, Vec<u8>);

fn asked(options: &[(u32, &[u8])], security: Security) -> (Result<Outcome, Ended>, Vec<Answer>) {
    asked_where(options, security, &mut || Ok(()))
}

fn asked_where(
    options: &[(u32, &[u8])],
    security: Security,
    admit: &mut dyn FnMut() -> Result<(), Refusal>,
) -> (Result<Outcome, Ended>, Vec<Answer>) {
    let mut said = Vec::new();
    for (option, data) in options {
        said.extend(OPTION_MAGIC.to_be_bytes());
        said.extend(option.to_be_bytes());
        said.extend((data.len() as u32).to_be_bytes());
        said.extend(*data);
    }
    let mut heard = Vec::new();
    let outcome = negotiate(&mut &said[..], &mut heard, &export(), security, true, admit);
    (outcome, replies(&heard))
}

fn replies(mut bytes: &[u8]) -> Vec<Answer> {
    let mut found = Vec::new();
    while bytes.len() >= 20 {
        let word = |at: usize| u32::from_be_bytes(bytes[at..at + 4].try_into().expect("four bytes"));
        let end = 20 + word(16) as usize;
        found.push((word(8), word(12), bytes[20..end].to_vec()));
        bytes = &bytes[end..];
    }
    found
}

fn go() -> Vec<u8> {
    [&0_u32.to_be_bytes()[..], &1_u16.to_be_bytes(), &info::BLOCK_SIZE.to_be_bytes()].concat()
}

fn query(name: &[u8], queries: &[&[u8]]) -> Vec<u8> {
    let counted = |text: &[u8]| [&(text.len() as u32).to_be_bytes()[..], text].concat();
    let mut data = [counted(name), (queries.len() as u32).to_be_bytes().to_vec()].concat();
    data.extend(queries.iter().flat_map(|query| counted(query)));
    data
}

#[test]
fn a_client_that_knows_everything_gets_everything() {
    let contexts = query(b"", &[CONTEXT, b"x:y"]);
    let (outcome, replies) = asked(&[(8, b""), (10, &contexts), (7, &go())], Security::Plain);
    assert!(matches!(outcome, Ok(Outcome::Transmission(Agreed { structured: true, base_allocation: true, .. }))));
    let kinds: Vec<_> = replies.iter().map(|(_, kind, _)| *kind).collect();
    assert_eq!(kinds, [1, 4, 1, 3, 3, 1]);
    assert_eq!(replies[1].2, [&1_u32.to_be_bytes()[..], CONTEXT].concat());
    assert_eq!(replies[4].2[2..], [1_u32, 4096, MAX_PAYLOAD_BYTES].map(u32::to_be_bytes).concat());
}

#[test]
fn what_is_wrong_is_answered_and_the_talk_goes_on() {
    let too_big = vec![0; MAX_OPTION_BYTES as usize + 1];
    let (outcome, replies) = asked(
        &[
            (99, b"what"),
            (7, b"\0\0\0\xFFshort"),
            (7, &query(b"other", &[])[..11]),
            (10, &query(b"", &[CONTEXT])),
            (8, b"data"),
            (3, b"data"),
            (5, b""),
            (6, &too_big),
            (2, b""),
        ],
        Security::Plain,
    );
    assert!(matches!(outcome, Err(Ended::Left)));
    let kinds: Vec<_> = replies.iter().map(|(option, kind, _)| (*option, kind & 0xFF, kind >> 31)).collect();
    assert_eq!(
        kinds,
        [(99, 1, 1), (7, 3, 1), (7, 6, 1), (10, 3, 1), (8, 3, 1), (3, 3, 1), (5, 2, 1), (6, 9, 1), (2, 1, 0)]
    );
}

#[test]
fn with_certificates_nothing_is_told_before_tls() {
    let (outcome, replies) = asked(&[(3, b""), (7, &go()), (5, b"")], Security::TlsRequired);
    assert!(matches!(outcome, Ok(Outcome::StartTls)));
    let kinds: Vec<_> = replies.iter().map(|(_, kind, _)| *kind).collect();
    assert_eq!(kinds, [answer::TLS_REQUIRED, answer::TLS_REQUIRED, answer::ACK]);
}

#[test]
fn a_client_that_is_not_served_is_told_why_and_may_ask_again() {
    let mut asked = 0;
    let mut admit = || {
        asked += 1;
        match asked {
            1 => Err(Refusal::Policy("full".into())),
            2 => Err(Refusal::ShutDown("dark".into())),
            _ => Ok(()),
        }
    };
    let options = [(7, &go()[..]), (6, &go()), (7, &go()), (7, &go())];
    let (outcome, replies) = asked_where(&options, Security::Plain, &mut admit);
    assert!(matches!(outcome, Ok(Outcome::Transmission(_))));
    let refused: Vec<_> = replies.iter().filter(|(_, kind, _)| kind >> 31 == 1).collect();
    assert_eq!(*refused[0], (7, answer::POLICY, b"full".to_vec()));
    assert_eq!(*refused[1], (7, answer::SHUTDOWN, b"dark".to_vec()));
    let (outcome, _) = asked_where(&[(1, b"")], Security::Plain, &mut || Err(Refusal::Policy("full".into())));
    assert!(matches!(outcome, Err(Ended::Refused(Refusal::Policy(_)))));
}

#[test]
fn nonsense_ends_the_talk() {
    let mut heard = Vec::new();
    let outcome = negotiate(&mut &[7_u8; 64][..], &mut heard, &export(), Security::Plain, true, &mut || Ok(()));
    assert!(matches!(outcome, Err(Ended::Confused(_))) && heard.is_empty());
    let endless: Vec<(u32, &[u8])> = (0..300).map(|_| (99, &b""[..])).collect();
    assert!(matches!(asked(&endless, Security::Plain).0, Err(Ended::Confused(_))));
    assert!(matches!(greet(&mut &[0, 0, 0, 9][..], &mut heard), Err(Ended::Confused(_))));
    assert!(matches!(greet(&mut &[0, 0][..], &mut heard), Err(Ended::Left)));
}

#[test]
fn listing_contexts_changes_nothing() {
    let (_, replies) =
        asked(&[(8, b""), (9, &query(b"", &[])), (9, &query(b"", &[b"base:"])), (2, b"")], Security::Plain);
    let kinds: Vec<_> = replies.iter().map(|(_, kind, _)| *kind).collect();
    assert_eq!(kinds, [1, 4, 1, 4, 1, 1]);
}

#[test]
fn a_name_says_a_hint_or_is_unknown() {
    assert_eq!(named_hint(b""), Some(Hint::NONE));
    assert_eq!(named_hint(b"stream=2"), Some(Hint::of_stream(2)));
    let all = Hint::new(255, 7, 1);
    assert_eq!(named_hint(b"file_type=1,stream=255,temperature=7"), Some(all));
    for wrong in
        [&b"hot"[..], b"stream", b"stream=", b"stream=256", b"stream=-1", b"stream=1,stream=2", b"stream=1,", b"\xFF"]
    {
        assert_eq!(named_hint(wrong), None, "{wrong:?}");
    }
}
