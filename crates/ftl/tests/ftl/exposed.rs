//! Devices without a capacitor: what a flush and an erase have to wait for, and what a scheme loses
//! that does not wait.

use flash::{
    CellType, ChipOptions, Exposure, FaultPlan, Faulty, FlashError, Lpn, Pbn, Ppn, ProgramOrder, Role, Rule, Tear,
};
use ftl::engines::page_map::machine::PageMap;
use ftl::schemes::page::Page;
use ftl::{
    BrokenInvariant, Cause, ConfigError, Device, Entry, FlashOp, FlashPort, Footprint, FtlError, Label, Layout,
    Mapping, RecoverError, RelocateOutcome, Request, Scheme, Timed, Untimed, Values, WearQuery,
};
use testkit::{TestFlash, values_of};

type PageScheme = PageMap<Page>;
type Port = FlashPort<Timed<Faulty<u64>, Untimed>>;

/// Blocks of 16 pages, of which a cut takes some.
fn exposing(exposure: Option<Exposure>, plan: FaultPlan) -> (Port, Layout) {
    let options = ChipOptions { program_order: ProgramOrder::Strict, exposure, ..ChipOptions::default() };
    let chip = Faulty::new(TestFlash::new(8, 16).chip_with(&options), plan);
    let layout = Layout::of(&chip, 20, 1);
    (FlashPort::new(Timed { chip, timing: Untimed }), layout)
}

/// `page`, but that a flush does nothing: where no page is exposed, every write lasts all the same.
struct Careless(PageScheme);

impl Scheme for Careless {
    const ENTRY: Entry = <PageScheme as Scheme>::ENTRY;

    fn format(layout: &Layout, values: &Values) -> Result<Self, ConfigError> {
        PageScheme::format(layout, values).map(Self)
    }

    fn recover<D: Device>(layout: &Layout, values: &Values, flash: &mut FlashPort<D>) -> Result<Self, RecoverError> {
        PageScheme::recover(layout, values, flash).map(Self)
    }
}

impl<D: Device> Mapping<D> for Careless {
    fn read(&mut self, flash: &mut FlashPort<D>, request: &Request, out: &mut [D::Data]) -> Result<(), FtlError> {
        self.0.read(flash, request, out)
    }

    fn write(&mut self, flash: &mut FlashPort<D>, request: &Request, data: &[D::Data]) -> Result<(), FtlError> {
        self.0.write(flash, request, data)
    }

    fn trim(&mut self, flash: &mut FlashPort<D>, request: &Request) -> Result<(), FtlError> {
        self.0.trim(flash, request)
    }

    fn flush(&mut self, _: &mut FlashPort<D>) -> Result<(), FtlError> {
        Ok(())
    }

    fn relocate_block(&mut self, flash: &mut FlashPort<D>, pbn: Pbn) -> Result<RelocateOutcome, FtlError> {
        self.0.relocate_block(flash, pbn)
    }

    fn with_wear_policy(&mut self, query: WearQuery<'_>) {
        Mapping::<D>::with_wear_policy(&mut self.0, query);
    }

    fn check(&self, flash: &FlashPort<D>) -> Result<(), BrokenInvariant> {
        self.0.check(flash)
    }

    fn footprint(&self) -> Footprint {
        Mapping::<D>::footprint(&self.0)
    }
}

/// Writes page 0, flushes, and writes others until the power is cut at a program, or after all;
/// what page 0 holds then.
fn left_of_page_0<S: Scheme + Mapping<Timed<Faulty<u64>, Untimed>>>(exposure: Option<Exposure>, cut_at: u64) -> u64 {
    let (mut flash, layout) = exposing(exposure, FaultPlan::cut(cut_at, Tear::Torn));
    let values = values_of::<PageScheme>(&[]).expect("defaults");
    let mut scheme = S::format(&layout, &values).expect("room");
    let page = |lpn| Request::new(Lpn::new(lpn), 1);
    let flushed = scheme.write(&mut flash, &page(0), &[7]).and_then(|()| scheme.flush(&mut flash));
    let is_flushed = flushed.is_ok();
    let _ = flushed.and_then(|()| (1..20).try_for_each(|lpn| scheme.write(&mut flash, &page(lpn), &[1])));
    let mut device = flash.into_device();
    device.chip.cut_power();
    device.chip.restore_power(FaultPlan::default());
    let mut flash = FlashPort::new(device);
    let mut scheme = S::recover(&layout, &values, &mut flash).expect("recovered");
    let mut out = [0];
    let result = scheme.read(&mut flash, &page(0), &mut out);
    if !is_flushed || result.is_ok() && out == [7] { 7 } else { out[0] }
}

#[test]
fn only_what_is_filled_up_outlives_a_cut_after_a_flush() {
    let gathered = || Exposure::gathered(4, 16);
    let paired = || Exposure::paired(CellType::Mlc, 1, 16);
    let loses = |left: fn(Option<Exposure>, u64) -> u64, exposure: &dyn Fn() -> Option<Exposure>| -> Vec<u64> {
        (0..20).filter(|&cut_at| left(exposure(), cut_at) != 7).collect()
    };
    let careless = left_of_page_0::<Careless>;
    assert_eq!(loses(careless, &|| None), [0; 0], "a capacitor guards it");
    assert_eq!(loses(careless, &gathered), [1, 2, 3], "three pages have to come");
    assert_eq!(loses(careless, &paired), [6], "page 6 is on the word line of page 0");
    for exposure in [&gathered as &dyn Fn() -> _, &paired] {
        assert_eq!(loses(left_of_page_0::<PageScheme>, exposure), [0; 0]);
    }
}

#[test]
fn each_flush_fills_up_what_the_host_has_begun() {
    for (exposure, padding) in [(Exposure::gathered(4, 16), [3, 6, 9, 9]), (None, [0; 4])] {
        let (mut flash, layout) = exposing(exposure, FaultPlan::default());
        let mut scheme = PageScheme::format(&layout, &values_of::<PageScheme>(&[]).expect("defaults")).expect("room");
        for ((lpn, pages), expected) in (0..).zip([1, 1, 1, 4]).zip(padding) {
            scheme.write(&mut flash, &Request::new(Lpn::new(lpn), pages), &[7; 4]).expect("room");
            scheme.flush(&mut flash).expect("room");
            assert_eq!(flash.tally().count(Cause::UnitPadding, FlashOp::Program), expected);
            assert!(flash.to_fill().is_empty());
        }
        scheme.flush(&mut flash).expect("nothing to do");
        assert_eq!(flash.tally().total(FlashOp::Program), 7 + padding[3]);
    }
}

#[test]
fn a_block_is_not_erased_before_what_replaces_its_pages_is_safe() {
    let (mut flash, _) = exposing(Exposure::gathered(4, 16), FaultPlan::default());
    for page in 0..4 {
        flash.program(Ppn::new(page), Label::new(page, Role::Data), 0).expect("erased");
    }
    flash.program(Ppn::new(16), Label::new(2, Role::Data), 0).expect("erased");
    assert_eq!(flash.to_fill_before_erase(Pbn::new(0)), [(Pbn::new(1), 4)]);
    let refused = flash.erase(Pbn::new(0)).expect_err("page 2 may be lost");
    let FtlError::Flash { error: FlashError::Violation(violation), .. } = &refused else { panic!("{refused}") };
    assert_eq!((violation.rule, violation.block), (Rule::EraseWhatIsReplaced, Pbn::new(0)));
    assert!(refused.to_string().contains("filled up to page 4"), "{refused}");
    for page in 17..20 {
        flash.program_padding(Ppn::new(page)).expect("erased");
    }
    flash.erase(Pbn::new(0)).expect("page 2 is safe");
    assert_eq!(flash.tally().count(Cause::UnitPadding, FlashOp::Program), 3);
}
