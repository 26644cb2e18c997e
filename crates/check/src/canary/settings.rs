//! What can be set of the canary.

use ftl::{ConfigError, Settings};

use super::Bug;

/// The bug, the room of the buffer, and at every how many writes wear is levelled, as settings ask
/// for it.
pub(super) fn chosen(settings: &Settings) -> Result<(Bug, usize, usize), ConfigError> {
    let name = settings.get("bug").map_or("none", String::as_str);
    let known = || Bug::ALL.map(|(_, name)| name).join(", ");
    if let Some(key) = settings.keys().find(|key| !["bug", "buffer", "level"].contains(&key.as_str())) {
        return Err(ConfigError(format!(
            "canary.{key}: the canary has no parameter {key}; it has bug, buffer and level"
        )));
    }
    let found = Bug::ALL.into_iter().find(|(_, known)| *known == name).map(|(bug, _)| bug);
    let bug = found.ok_or_else(|| ConfigError(format!("canary.bug = {name}: must be one of {}", known())))?;
    let number = |key: &str, needs: bool, example: usize, of: &str| {
        settings.get(key).map_or(Ok(if needs { example } else { 0 }), |text| {
            let why = format!("canary.{key} = {text}: must be a number of {of}, for example {example}");
            text.parse().map_err(|_| ConfigError(why))
        })
    };
    let room = number("buffer", bug.needs_a_buffer(), 3, "pages")?;
    Ok((bug, room, number("level", bug.needs_levelling(), 2, "writes")?))
}
