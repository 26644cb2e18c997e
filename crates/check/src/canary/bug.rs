//! The bugs that can be planted in the canary, with their names, and the canary's settings.

use ftl::{ConfigError, Settings};

/// A bug to plant; `set.bug=` in a replay line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Bug {
    /// None: the healthy canary.
    None,
    /// Overwriting a page whose old version lies in the open block leaves the map as it was.
    StaleRead,
    /// A collection forgets the last page that it should move.
    LostWrite,
    /// The second page of a request is mapped to where the first one lies.
    DoubleMap,
    /// A trim of several pages spares the last one.
    ForgottenTrim,
    /// Every fourth block collected does not return to the free blocks.
    LeakedBlock,
    /// The second and third page of a block are programmed the wrong way round.
    OutOfOrderProgram,
    /// A victim is erased before its pages are moved.
    EarlyErase,
    /// Collections go on although nothing is gained.
    Livelock,
    /// Which of two equally good victims is taken depends on the process, not on the seed.
    Unrepeatable,
    /// Collected pages are charged to the host.
    MiscountedCollection,
    /// Every third host write is charged to a merge.
    MiscountedHost,
    /// The footprint grows with what is written.
    GrowingFootprint,
    /// Collected blocks become free before they are erased, which happens when they are opened.
    DirtyFreeBlock,
    /// A block that is to be emptied is said to be so although it is the open one, which stays as
    /// it is.
    RelocationForgetsOpenBlock,
    /// When a block is emptied, the last page that it held is forgotten.
    RelocationLosesPage,
    /// A collection in idle time forgets the last page that it should move.
    IdleLosesPage,
    /// A collection in idle time takes as long as it takes.
    IdleOverruns,
    /// When wear is levelled, the last page of each block that is moved is forgotten.
    LevellerLosesPage,
    /// When wear is levelled, erases are not counted.
    LevellerForgetsErase,
    /// Wear is levelled by moving the block that is being written, and then it is written on.
    LevellerMovesOpenBlock,
    /// Overwriting the last logical page reaches beyond the map.
    Panic,
    /// A request with a stream hint is taken for one that repeats its first page.
    HintedContent,
    /// A file that was deleted is taken for one that was trimmed.
    DeletedAsTrimmed,
    /// Recovery takes the oldest version of each page.
    OldestWins,
    /// Recovery goes by when a page was programmed, not by its version: a copy that a collection
    /// made of an old page passes for new.
    NewestProgramWins,
    /// Recovery takes a page that cannot be read for a new version of the page before it.
    TornTrusted,
    /// A victim is erased while the last page that it held is still in RAM.
    EraseBeforeCopy,
    /// A block that is to be emptied is erased while the last page that it held is still in RAM.
    RelocationErasesFirst,
    /// When wear is levelled, a block is erased while the last page that it held is still in RAM.
    LevellerErasesFirst,
    /// When a block is emptied, the pages in it that say what was trimmed are not moved.
    RelocationLosesTrimPage,
    /// Recovery overlooks the pages that say what was trimmed: those of the map on flash.
    LostTrimPage,
    /// Recovery believes a translation page although data were written, moved or erased after it.
    StaleTranslationPage,
    /// Recovery takes the blocks that are marked bad for good ones.
    LostBadBlockTable,
    /// Recovery goes on programming the block that was open, where its pages read as erased.
    RecoveredBlockProgrammed,
    /// Blocks of which a page cannot be read do not become free again.
    LeakedByRecovery,
    /// Of a page that lies twice recovery gives one up without reading the other.
    UnreadTwin,
    /// A flush leaves the page that came last in RAM.
    UnflushedPage,
    /// Pages wait in RAM, and nobody is told.
    UndeclaredBuffer,
    /// More pages wait in RAM than anybody is told.
    UnderstatedBuffer,
}

impl Bug {
    /// All, with their names; the first is none.
    pub const ALL: [(Self, &'static str); 40] = [
        (Self::None, "none"),
        (Self::StaleRead, "stale-read"),
        (Self::LostWrite, "lost-write"),
        (Self::DoubleMap, "double-map"),
        (Self::ForgottenTrim, "forgotten-trim"),
        (Self::LeakedBlock, "leaked-block"),
        (Self::OutOfOrderProgram, "out-of-order-program"),
        (Self::EarlyErase, "early-erase"),
        (Self::Livelock, "livelock"),
        (Self::Unrepeatable, "unrepeatable"),
        (Self::MiscountedCollection, "miscounted-collection"),
        (Self::MiscountedHost, "miscounted-host"),
        (Self::GrowingFootprint, "growing-footprint"),
        (Self::DirtyFreeBlock, "dirty-free-block"),
        (Self::RelocationForgetsOpenBlock, "relocation-forgets-open-block"),
        (Self::RelocationLosesPage, "relocation-loses-page"),
        (Self::IdleLosesPage, "idle-loses-page"),
        (Self::IdleOverruns, "idle-overruns"),
        (Self::LevellerLosesPage, "leveller-loses-page"),
        (Self::LevellerForgetsErase, "leveller-forgets-erase"),
        (Self::LevellerMovesOpenBlock, "leveller-moves-open-block"),
        (Self::Panic, "panic"),
        (Self::HintedContent, "hinted-content"),
        (Self::DeletedAsTrimmed, "deleted-as-trimmed"),
        (Self::OldestWins, "oldest-wins"),
        (Self::NewestProgramWins, "newest-program-wins"),
        (Self::TornTrusted, "torn-trusted"),
        (Self::EraseBeforeCopy, "erase-before-copy"),
        (Self::RelocationErasesFirst, "relocation-erases-first"),
        (Self::LevellerErasesFirst, "leveller-erases-first"),
        (Self::RelocationLosesTrimPage, "relocation-loses-trim-page"),
        (Self::LostTrimPage, "lost-trim-page"),
        (Self::StaleTranslationPage, "stale-translation-page"),
        (Self::LostBadBlockTable, "lost-bad-block-table"),
        (Self::RecoveredBlockProgrammed, "recovered-block-programmed"),
        (Self::LeakedByRecovery, "leaked-by-recovery"),
        (Self::UnreadTwin, "unread-twin"),
        (Self::UnflushedPage, "unflushed-page"),
        (Self::UndeclaredBuffer, "undeclared-buffer"),
        (Self::UnderstatedBuffer, "understated-buffer"),
    ];

    /// Whether it does harm only in idle time that is offered often, to a canary that has room to
    /// collect in.
    pub fn needs_idle_time(self) -> bool {
        matches!(self, Self::IdleLosesPage | Self::IdleOverruns)
    }

    /// Whether it does harm only to a host that tells of its files.
    pub fn needs_to_be_told(self) -> bool {
        self == Self::DeletedAsTrimmed
    }

    /// Whether it does harm only when the power is cut.
    pub fn needs_a_power_cut(self) -> bool {
        self >= Self::OldestWins
    }

    /// Whether it does harm only when a page decays while the power is off: no part of the fault
    /// model (`docs/correctness.md`), but what becomes of the image under a live device.
    pub fn needs_a_decayed_page(self) -> bool {
        self == Self::UnreadTwin
    }

    /// Whether it is one of a leveller.
    pub(super) fn needs_levelling(self) -> bool {
        matches!(
            self,
            Self::LevellerLosesPage
                | Self::LevellerForgetsErase
                | Self::LevellerMovesOpenBlock
                | Self::LevellerErasesFirst
        )
    }

    /// Whether it is one of a write buffer.
    pub(super) fn needs_a_buffer(self) -> bool {
        self >= Self::UnflushedPage
    }
}

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
