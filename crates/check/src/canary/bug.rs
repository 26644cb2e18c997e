//! The bugs that can be planted in the canary, with their names, and the canary's settings.

use ftl::{ConfigError, Settings};

use crate::case::named::{named, names, value_of};

named! {
    /// A bug to plant; `set.bug=` in a replay line.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
    pub enum Bug {
        /// None: the healthy canary.
        None = "none",
        /// Overwriting a page whose old version lies in the open block leaves the map as it was.
        StaleRead = "stale-read",
        /// A collection forgets the last page that it should move.
        LostWrite = "lost-write",
        /// The second page of a request is mapped to where the first one lies.
        DoubleMap = "double-map",
        /// A trim of several pages spares the last one.
        ForgottenTrim = "forgotten-trim",
        /// Every fourth block collected does not return to the free blocks.
        LeakedBlock = "leaked-block",
        /// The second and third page of a block are programmed the wrong way round.
        OutOfOrderProgram = "out-of-order-program",
        /// A victim is erased before its pages are moved.
        EarlyErase = "early-erase",
        /// Collections go on although nothing is gained.
        Livelock = "livelock",
        /// Which of two equally good victims is taken depends on the process, not on the seed.
        Unrepeatable = "unrepeatable",
        /// Collected pages are charged to the host.
        MiscountedCollection = "miscounted-collection",
        /// Every third host write is charged to a merge.
        MiscountedHost = "miscounted-host",
        /// The footprint grows with what is written.
        GrowingFootprint = "growing-footprint",
        /// Collected blocks become free before they are erased, which happens when they are opened.
        DirtyFreeBlock = "dirty-free-block",
        /// A block that is to be emptied is said to be so although it is the open one, which stays
        /// as it is.
        RelocationForgetsOpenBlock = "relocation-forgets-open-block",
        /// When a block is emptied, the last page that it held is forgotten.
        RelocationLosesPage = "relocation-loses-page",
        /// A collection in idle time forgets the last page that it should move.
        IdleLosesPage = "idle-loses-page",
        /// A collection in idle time takes as long as it takes.
        IdleOverruns = "idle-overruns",
        /// When wear is levelled, the last page of each block that is moved is forgotten.
        LevellerLosesPage = "leveller-loses-page",
        /// When wear is levelled, erases are not counted.
        LevellerForgetsErase = "leveller-forgets-erase",
        /// Wear is levelled by moving the block that is being written, and then it is written on.
        LevellerMovesOpenBlock = "leveller-moves-open-block",
        /// Overwriting the last logical page reaches beyond the map.
        Panic = "panic",
        /// A request with a stream hint is taken for one that repeats its first page.
        HintedContent = "hinted-content",
        /// A file that was deleted is taken for one that was trimmed.
        DeletedAsTrimmed = "deleted-as-trimmed",
        /// Recovery takes the oldest version of each page.
        OldestWins = "oldest-wins",
        /// Recovery goes by when a page was programmed, not by its version: a copy that a
        /// collection made of an old page passes for new.
        NewestProgramWins = "newest-program-wins",
        /// Recovery takes a page that cannot be read for a new version of the page before it.
        TornTrusted = "torn-trusted",
        /// A victim is erased while the last page that it held is still in RAM.
        EraseBeforeCopy = "erase-before-copy",
        /// A block that is to be emptied is erased while the last page that it held is still in
        /// RAM.
        RelocationErasesFirst = "relocation-erases-first",
        /// When wear is levelled, a block is erased while the last page that it held is still in
        /// RAM.
        LevellerErasesFirst = "leveller-erases-first",
        /// When a block is emptied, the pages in it that say what was trimmed are not moved.
        RelocationLosesTrimPage = "relocation-loses-trim-page",
        /// Recovery overlooks the pages that say what was trimmed: those of the map on flash.
        LostTrimPage = "lost-trim-page",
        /// Recovery believes a translation page although data were written, moved or erased after
        /// it.
        StaleTranslationPage = "stale-translation-page",
        /// Recovery takes the blocks that are marked bad for good ones.
        LostBadBlockTable = "lost-bad-block-table",
        /// Recovery goes on programming the block that was open, where its pages read as erased.
        RecoveredBlockProgrammed = "recovered-block-programmed",
        /// Blocks of which a page cannot be read do not become free again.
        LeakedByRecovery = "leaked-by-recovery",
        /// Of a page that lies twice recovery gives one up without reading the other.
        UnreadTwin = "unread-twin",
    }
}

impl Bug {
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
}

/// The bug, and at every how many writes wear is levelled, as settings ask for it.
pub(super) fn chosen(settings: &Settings) -> Result<(Bug, usize), ConfigError> {
    if let Some(key) = settings.keys().find(|key| !["bug", "level"].contains(&key.as_str())) {
        return Err(ConfigError(format!("canary.{key}: the canary has no parameter {key}; it has bug and level")));
    }
    let name = settings.get("bug").map_or("none", String::as_str);
    let bug = value_of(&Bug::ALL, name)
        .ok_or_else(|| ConfigError(format!("canary.bug = {name}: must be one of {}", names(&Bug::ALL))))?;
    let level = settings.get("level").map_or(Ok(if bug.needs_levelling() { 2 } else { 0 }), |text| {
        let why = format!("canary.level = {text}: must be a number of writes, for example 2");
        text.parse().map_err(|_| ConfigError(why))
    })?;
    Ok((bug, level))
}
