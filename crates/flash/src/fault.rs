//! The fault injector: a chip whose power fails and whose pages do, at operations told beforehand.
//!
//! Operations are numbered from 0 in the order in which they are asked for (reads, scans, programs
//! and erases alike), so a plan is a list of numbers and replays exactly. A fault that does not fit
//! the operation it meets (a program failure at a read) does nothing. After a power cut every
//! operation fails until [`Faulty::restore_power`].
//!
//! A block at the end of its endurance fails at its next erase. The referee alone would call that a
//! broken rule, which is what a chip that never fails is for: there, only a scheme that erases
//! without end gets so far.
//!
//! A cut also takes pages that are [exposed](crate::Exposure).
//!
//! An operation that fails is an operation: it is counted and takes its time. One that a power cut
//! prevents or breaks off is counted if it reached the chip.

use std::collections::BTreeMap;

use crate::{Chip, FaultableStore, Flash, FlashError, Full, MediaEvent, Page, Pbn, Ppn, Scan, Spoilt, Tag};

/// How far an operation got when the power was cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Tear {
    /// The operation has not begun.
    Before,
    /// Hardly begun: a page still reads as erased but is unstable; a block still reads as before
    /// but must be erased again.
    Unseen,
    /// Half done: the page, or every page of the block, reads as an error.
    Torn,
    /// Done, but nobody was told.
    After,
}

impl Tear {
    /// Every way, in the order of how far the operation got.
    pub const ALL: [Self; 4] = [Self::Before, Self::Unseen, Self::Torn, Self::After];
}

/// Something that goes wrong at one operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Fault {
    /// The power is cut.
    Cut(Tear),
    /// A program fails: the page is lost.
    ProgramFails,
    /// An erase fails: the block's content is gone, and it cannot be programmed.
    EraseFails,
    /// The page read has decayed beyond correction, for good.
    ReadFails,
    /// The page read has wrong bits that can be corrected: counted as a hint to move it.
    ReadCorrected,
}

/// Faults by operation number.
#[derive(Clone, Debug, Default)]
pub struct FaultPlan {
    /// What happens when.
    pub at: BTreeMap<u64, Fault>,
}

impl FaultPlan {
    /// A plan with one power cut, at the operation of this number.
    pub fn cut(operation: u64, tear: Tear) -> Self {
        Self { at: BTreeMap::from([(operation, Fault::Cut(tear))]) }
    }
}

/// A chip that keeps everything in memory, and fails as planned.
pub type Faulty<D> = FaultyChip<Full<D>>;

/// A chip that fails as planned, whatever it keeps its pages in.
#[derive(Clone)]
pub struct FaultyChip<S> {
    chip: Chip<S>,
    plan: FaultPlan,
    operation: u64,
    powered: bool,
    corrected: u64,
    missed: u64,
}

impl<S: FaultableStore> FaultyChip<S> {
    /// Faults to come for a chip.
    pub fn new(chip: Chip<S>, plan: FaultPlan) -> Self {
        Self { chip, plan, operation: 0, powered: true, corrected: 0, missed: 0 }
    }

    /// Turns the power on again, with another plan whose operations count from 0.
    pub fn restore_power(&mut self, plan: FaultPlan) {
        (self.plan, self.operation, self.powered) = (plan, 0, true);
    }

    /// Adds a fault to the plan, at the operation that comes after this many others; one planned
    /// for it already gives way.
    pub fn inject(&mut self, after: u64, fault: Fault) {
        self.plan.at.insert(self.operation.saturating_add(after), fault);
    }

    /// Operations asked for since the power was last turned on.
    pub fn operation(&self) -> u64 {
        self.operation
    }

    /// Whether the power is on.
    pub fn is_powered(&self) -> bool {
        self.powered
    }

    /// Reads that needed correction so far.
    pub fn corrected_reads(&self) -> u64 {
        self.corrected
    }

    /// Faults so far whose operation was of another kind than theirs.
    pub fn missed_faults(&self) -> u64 {
        self.missed
    }

    /// The chip, to look at.
    pub fn chip(&self) -> &Chip<S> {
        &self.chip
    }

    /// The chip, for what is its store's own business.
    pub fn chip_mut(&mut self) -> &mut Chip<S> {
        &mut self.chip
    }

    /// The fault planned for this operation, which one of `kinds` fits; fails when the power is
    /// off.
    fn next(&mut self, kinds: &[Fault]) -> Result<Option<Fault>, FlashError> {
        if !self.powered {
            return Err(FlashError::Media(MediaEvent::PowerCut));
        }
        let fault = self.plan.at.get(&self.operation).copied();
        self.operation += 1;
        let fits = |fault: &Fault| matches!(fault, Fault::Cut(_)) || kinds.contains(fault);
        self.missed += u64::from(fault.as_ref().is_some_and(|fault| !fits(fault)));
        Ok(fault)
    }

    fn fail_erase(&mut self, pbn: Pbn) -> Result<(), FlashError> {
        self.chip.fail_erase(pbn)?;
        Err(FlashError::Media(MediaEvent::EraseFailed(pbn)))
    }

    /// Cuts the power between two operations.
    pub fn cut_power(&mut self) {
        self.powered = false;
        self.chip.drop_waiting_pages();
    }

    fn cut<T>(&mut self) -> Result<T, FlashError> {
        self.cut_power();
        Err(FlashError::Media(MediaEvent::PowerCut))
    }
}

impl<S: FaultableStore> Flash for FaultyChip<S> {
    type Data = S::Data;

    crate::pass_on_flash!(chip);

    fn mark_bad(&mut self, pbn: Pbn) {
        self.chip.mark_bad(pbn);
    }

    fn read(&mut self, ppn: Ppn) -> Result<Page<S::Data>, FlashError> {
        match self.next(&[Fault::ReadFails, Fault::ReadCorrected])? {
            Some(Fault::Cut(_)) => return self.cut(),
            Some(Fault::ReadFails) if self.chip.peek(ppn).is_some() => self.chip.lose_page(ppn),
            Some(Fault::ReadCorrected) => self.corrected += 1,
            _ => {}
        }
        self.chip.read(ppn)
    }

    fn program(&mut self, ppn: Ppn, tag: &Tag, data: S::Data) -> Result<(), FlashError> {
        let fault = self.next(&[Fault::ProgramFails])?;
        let tear = match fault {
            Some(Fault::Cut(tear)) => Some(tear),
            _ => None,
        };
        if tear == Some(Tear::Before) {
            return self.cut();
        }
        // The referee sees the operation first: a torn program is a legal one that was not
        // finished.
        self.chip.program(ppn, tag, data)?;
        match (tear, fault) {
            (Some(Tear::Unseen), _) => self.chip.tear_program(ppn, Spoilt::Unstable),
            (Some(Tear::Torn), _) => self.chip.tear_program(ppn, Spoilt::Torn),
            (None, Some(Fault::ProgramFails)) => {
                self.chip.spoil_page(ppn, Spoilt::Torn);
                return Err(FlashError::Media(MediaEvent::ProgramFailed(ppn)));
            }
            _ => {}
        }
        if tear.is_some() { self.cut() } else { Ok(()) }
    }

    fn erase(&mut self, pbn: Pbn) -> Result<(), FlashError> {
        match self.next(&[Fault::EraseFails])? {
            Some(Fault::Cut(Tear::Before)) => self.cut(),
            Some(Fault::Cut(Tear::After)) if !self.chip.is_worn(pbn) => {
                self.chip.erase(pbn)?;
                self.cut()
            }
            Some(Fault::Cut(tear)) => {
                self.chip.spoil_block(pbn, tear == Tear::Unseen);
                self.cut()
            }
            Some(Fault::EraseFails) => self.fail_erase(pbn),
            _ if self.chip.is_worn(pbn) => self.fail_erase(pbn),
            _ => self.chip.erase(pbn),
        }
    }

    fn scan(&mut self, ppn: Ppn) -> Result<Scan, FlashError> {
        if let Some(Fault::Cut(_)) = self.next(&[])? {
            return self.cut();
        }
        self.chip.scan(ppn)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{CellType, ChipOptions, Exposure, Geometry, ProgramOrder, Role, Rule, Shape};

    fn faulty(plan: FaultPlan) -> Faulty<u64> {
        let shape = Shape {
            channels: 1,
            dies_per_channel: 1,
            planes_per_die: 1,
            blocks_per_plane: 2,
            pages_per_block: 4,
            page_size_bytes: 512,
        };
        Faulty::new(Chip::new(Geometry::new(shape).expect("valid"), &ChipOptions::default()), plan)
    }

    fn tag(logical: u32) -> Tag {
        Tag { logical, extent: 1, role: Role::Data, owner: None, seq: 1, version: 1, hint: 0 }
    }

    /// Page 0 is programmed; the power is cut while page 1 is.
    fn cut_at_second_program(tear: Tear) -> Faulty<u64> {
        let mut flash = faulty(FaultPlan::cut(1, tear));
        flash.program(Ppn::new(0), &tag(7), 70).expect("powered");
        assert_eq!(flash.program(Ppn::new(1), &tag(8), 80), Err(FlashError::Media(MediaEvent::PowerCut)));
        assert_eq!(flash.read(Ppn::new(0)), Err(FlashError::Media(MediaEvent::PowerCut)));
        flash.restore_power(FaultPlan::default());
        assert_eq!(flash.read(Ppn::new(0)).expect("untouched").data, 70);
        flash
    }

    #[test]
    fn a_torn_program_leaves_what_the_tear_says() {
        for (tear, expected) in [
            (Tear::Before, Scan::Erased),
            (Tear::Unseen, Scan::Erased),
            (Tear::Torn, Scan::Unreadable),
            (Tear::After, Scan::Programmed(tag(8))),
        ] {
            let mut flash = cut_at_second_program(tear);
            assert_eq!(flash.scan(Ppn::new(1)), Ok(expected), "{tear:?}");
            let again = flash.program(Ppn::new(1), &tag(9), 90);
            assert_eq!(again.is_ok(), tear == Tear::Before, "{tear:?}: a touched page needs an erase first");
            flash.erase(Pbn::new(0)).expect("powered");
            flash.program(Ppn::new(1), &tag(9), 90).expect("erased again");
        }
    }

    /// What six programs leave on blocks of eight pages, of which the last is cut off.
    fn cut_at_sixth_program(exposure: Option<Exposure>, tear: Tear) -> String {
        let shape = Shape {
            channels: 1,
            dies_per_channel: 1,
            planes_per_die: 1,
            blocks_per_plane: 2,
            pages_per_block: 8,
            page_size_bytes: 512,
        };
        let options = ChipOptions { program_order: ProgramOrder::Strict, exposure, ..ChipOptions::default() };
        let geometry = Geometry::new(shape).expect("valid");
        let mut flash: Faulty<u64> = Faulty::new(Chip::new(geometry, &options), FaultPlan::cut(6, tear));
        flash.program(Ppn::new(8), &tag(0), 0).expect("powered");
        for page in 0..6 {
            let result = flash.program(Ppn::new(page), &tag(page), 0);
            assert_eq!(result.is_ok(), page < 5, "{tear:?}: {page}");
        }
        flash.restore_power(FaultPlan::default());
        let scans = [8, 0, 1, 2, 3, 4, 5].map(|page| match flash.scan(Ppn::new(page)).expect("powered") {
            Scan::Erased => '.',
            Scan::Programmed(_) => 'p',
            Scan::Unreadable => 'x',
        });
        scans.iter().collect()
    }

    #[test]
    fn faults_at_operations_of_another_kind_are_counted_as_missed() {
        let faults =
            [Fault::EraseFails, Fault::ReadFails, Fault::ReadCorrected, Fault::ProgramFails, Fault::EraseFails];
        let mut flash = faulty(FaultPlan { at: (0..).zip(faults).collect() });
        flash.program(Ppn::new(0), &tag(7), 70).expect("an erase was to fail");
        flash.erase(Pbn::new(1)).expect("a read was to fail");
        flash.scan(Ppn::new(0)).expect("a read was to be corrected");
        assert_eq!(flash.missed_faults(), 3);
        flash.program(Ppn::new(1), &tag(8), 80).expect_err("as planned");
        flash.erase(Pbn::new(1)).expect_err("as planned");
        flash.erase(Pbn::new(0)).expect("nothing was planned");
        assert_eq!(flash.missed_faults(), 3);
    }

    #[test]
    fn a_cut_takes_pages_that_wait_for_others_or_are_programmed_with_them() {
        let at_once = |pages| Exposure::gathered(pages, 8);
        let leaves = |exposure: Option<Exposure>| Tear::ALL.map(|tear| cut_at_sixth_program(exposure.clone(), tear));
        // First the page of the other block, then those before the cut, and the one at it.
        assert_eq!(leaves(None), ["pppppp.", "pppppp.", "ppppppx", "ppppppp"]);
        assert_eq!(leaves(at_once(4)), [".pppp..", ".pppp..", ".pppp..", ".pppp.."], "it waits, too");
        assert_eq!(leaves(at_once(2)), [".pppp..", ".pppp..", ".ppppxx", ".pppppp"], "it is programmed with one");
    }

    #[test]
    fn a_torn_program_destroys_the_earlier_pages_of_its_word_line() {
        let shape = Shape {
            channels: 1,
            dies_per_channel: 1,
            planes_per_die: 1,
            blocks_per_plane: 1,
            pages_per_block: 16,
            page_size_bytes: 512,
        };
        for (tear, is_readable) in [(Tear::Unseen, true), (Tear::Torn, false), (Tear::After, true)] {
            let exposure = Exposure::paired(CellType::Mlc, 1, 16);
            let options = ChipOptions { program_order: ProgramOrder::Strict, exposure, ..ChipOptions::default() };
            let geometry = Geometry::new(shape).expect("valid");
            let mut flash: Faulty<u64> = Faulty::new(Chip::new(geometry, &options), FaultPlan::cut(9, tear));
            (0..9).for_each(|page| flash.program(Ppn::new(page), &tag(page), 0).expect("powered"));
            flash.program(Ppn::new(9), &tag(9), 0).expect_err("cut");
            flash.restore_power(FaultPlan::default());
            let readable = (0..9).filter(|&page| flash.read(Ppn::new(page)).is_ok());
            let others = (0..9).filter(|&page| page != 1 || is_readable);
            assert!(readable.eq(others), "{tear:?}: page 1 is on the word line of page 9");
        }
    }

    #[test]
    fn bytes_are_there_with_their_page_or_not_at_all() {
        for (tear, expected) in [(Tear::Before, None), (Tear::Unseen, None), (Tear::Torn, None), (Tear::After, Some(2))]
        {
            let mut flash = faulty(FaultPlan::cut(0, tear));
            flash.load(Ppn::new(0), &[1, 2]);
            flash.program(Ppn::new(0), &tag(7), 0).expect_err("cut");
            flash.restore_power(FaultPlan::default());
            assert_eq!(flash.loaded(Ppn::new(0)).map(|bytes| bytes.len()), expected, "{tear:?}");
            flash.erase(Pbn::new(0)).expect("powered");
            flash.program(Ppn::new(0), &tag(7), 0).expect("erased");
            assert_eq!(flash.loaded(Ppn::new(0)), None, "{tear:?}: an erase leaves nothing");
        }
    }

    #[test]
    fn a_torn_erase_asks_for_another_one() {
        for tear in [Tear::Unseen, Tear::Torn] {
            let mut flash = faulty(FaultPlan::cut(1, tear));
            flash.program(Ppn::new(0), &tag(7), 70).expect("powered");
            flash.erase(Pbn::new(0)).expect_err("cut");
            flash.restore_power(FaultPlan::default());
            assert_eq!(flash.read(Ppn::new(0)).is_ok(), tear == Tear::Unseen);
            let FlashError::Violation(violation) = flash.program(Ppn::new(2), &tag(1), 1).expect_err("not erased")
            else {
                panic!("the referee should have refused");
            };
            assert_eq!(violation.rule, Rule::ProgramInOrder);
            flash.erase(Pbn::new(0)).expect("powered");
            flash.program(Ppn::new(2), &tag(1), 1).expect("erased");
        }
    }

    #[test]
    fn failed_operations_say_so_and_lose_what_they_touch() {
        let plan =
            FaultPlan { at: BTreeMap::from([(1, Fault::ProgramFails), (2, Fault::ReadFails), (4, Fault::EraseFails)]) };
        let mut flash = faulty(plan);
        flash.program(Ppn::new(0), &tag(7), 70).expect("no fault");
        assert_eq!(
            flash.program(Ppn::new(1), &tag(8), 80),
            Err(FlashError::Media(MediaEvent::ProgramFailed(Ppn::new(1))))
        );
        assert_eq!(flash.read(Ppn::new(0)), Err(FlashError::Media(MediaEvent::Uncorrectable(Ppn::new(0)))));
        assert_eq!(flash.read(Ppn::new(0)), Err(FlashError::Media(MediaEvent::Uncorrectable(Ppn::new(0)))));
        assert_eq!(flash.erase(Pbn::new(0)), Err(FlashError::Media(MediaEvent::EraseFailed(Pbn::new(0)))));
        flash.mark_bad(Pbn::new(0));
        assert!(flash.is_bad(Pbn::new(0)));
    }
}
