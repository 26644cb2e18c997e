//! Runs drawn at random: a scheme, a device, what it can do, and how it is used.

use std::fmt;

use flash::{Geometry, Shape};
use ftl::{Stack, Tally};
use random::SeededRng;

use super::host::{Asked, Host, Keeper, Pace};
use super::rules::{Cells, Rules, Superblocks, Units};

/// Random choices.
struct Draw(SeededRng);

impl Draw {
    fn new(seed: u64) -> Self {
        Self(SeededRng::new(seed))
    }

    fn below(&mut self, limit: u64) -> u64 {
        self.0.below(limit)
    }

    fn between(&mut self, least: u64, most: u64) -> u64 {
        least + self.below(most - least + 1)
    }

    fn one_of<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len() as u64) as usize]
    }

    fn percent(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }
}

/// A run.
pub(crate) struct Case {
    pub(crate) stack: Stack,
    pub(crate) geometry: Geometry,
    pub(crate) logical_pages: u32,
    pub(crate) rules: Rules,
    pub(crate) load: Load,
    pub(crate) write_percent: u64,
    pub(crate) most_pages: u64,
    /// Whether some requests leave out a part of their first page or of their last.
    pub(crate) has_partial_pages: bool,
    pub(crate) requests: usize,
    /// Pages overwritten before, in hundredths of the physical ones.
    pub(crate) overwritten_percent: u64,
    /// Seed of the requests.
    pub(crate) seed: u64,
}

/// How requests come.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Load {
    /// This many are outstanding.
    Outstanding(usize),
    /// This many percent of what the dies and buses could do if each request cost a little more
    /// than itself; above 100 the device falls behind.
    Percent(u64),
    /// This many at that load, then a pause of this many erases.
    Bursts(u64, u64, u64),
}

/// One line.
impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { stack, geometry, logical_pages, rules, load, write_percent, most_pages, requests, .. } = self;
        let partly = if self.has_partial_pages { " partly" } else { "" };
        write!(
            f,
            "stack={stack} geometry={geometry} pages={logical_pages} load={load:?} writes={write_percent}% \
             request_pages=1..={most_pages}{partly} requests={requests} overwritten={}% seed={} {rules:?}",
            self.overwritten_percent, self.seed
        )
    }
}

/// The schemes that are drawn, with the settings that concern time.
fn stack(draw: &mut Draw) -> Stack {
    let cmt = draw.one_of(&["64", "128", "512", "2048"]);
    let delay = draw.one_of(&["0us", "0us", "1us"]);
    let idle = draw.one_of(&["0", "2", "8"]);
    let misses = draw.one_of(&["wait", "background"]);
    let copies = draw.one_of(&["first_done", "idle_channel"]);
    let placement = draw.one_of(&["striped", "single"]);
    let text = match draw.below(10) {
        0 => format!("page:gc_idle={idle}"),
        1 => format!("dftl:cmt={cmt}:gc_idle={idle}:ram_read_delay={delay}:write_misses={misses}"),
        2 => format!("cdftl:cmt={cmt}:ctp=1KiB:write_misses={misses}"),
        3 => format!("rftl:cmt={cmt}:copy_choice={copies}:replicas={}", draw.between(1, 2)),
        4 => format!(
            "waftl:cmt={cmt}:cache_reads={}:migration={}:threshold_rule={}",
            draw.one_of(&["true", "false"]),
            draw.one_of(&["background", "wait"]),
            draw.one_of(&["static", "dynamic"])
        ),
        5 => format!("bdb:cmt={cmt}:register_read_delay={delay}:register_write_delay={delay}"),
        6 if draw.percent(50) => format!("tpftl:cmt={cmt}:write_misses={misses}"),
        6 => format!("s-ftl:cmt={}:placement={placement}:write_misses={misses}", draw.one_of(&["1KiB", "2KiB"])),
        7 => format!("leaftl:ram=16KiB:run_pages=4:error_bound={}:access_delay={delay}", draw.between(0, 4)),
        8 => format!("fast:log_space={}%", draw.between(5, 15)),
        _ => format!("dftl:cmt={cmt}:placement={placement}:gc_idle={idle}"),
    };
    text.parse().expect("a stack")
}

/// Schemes whose controller takes its time.
fn slow_stack(draw: &mut Draw) -> Stack {
    let cmt = draw.one_of(&["64", "128", "512", "2048"]);
    let mut delay = || draw.one_of(&["1us", "10us", "100us"]);
    let (of_reads, of_writes) = (delay(), delay());
    let text = if draw.percent(50) {
        let (idle, misses) = (draw.one_of(&["0", "2", "8"]), draw.one_of(&["wait", "background"]));
        format!(
            "dftl:cmt={cmt}:gc_idle={idle}:ram_read_delay={of_reads}:ram_write_delay={of_writes}:write_misses={misses}"
        )
    } else {
        format!("bdb:cmt={cmt}:register_read_delay={of_reads}:register_write_delay={of_writes}")
    };
    text.parse().expect("a stack")
}

fn geometry(draw: &mut Draw) -> Geometry {
    let (channels, dies_per_channel) =
        (draw.one_of(&[1, 2, 2, 3, 4, 4, 5, 8, 16]), draw.one_of(&[1, 1, 2, 2, 3, 4, 8]));
    let planes_per_die = draw.one_of(&[1, 1, 2, 2, 3, 4]);
    let pages_per_block = draw.one_of(&[4, 8, 8, 16]);
    // Not much more than there must be, so that dies collect soon.
    let blocks_per_die =
        draw.between(16, 28).max((1024 / (channels * dies_per_channel * pages_per_block)).into()) as u32;
    Geometry::new(Shape {
        channels,
        dies_per_channel,
        planes_per_die,
        blocks_per_plane: blocks_per_die.div_ceil(planes_per_die),
        pages_per_block,
        page_size_bytes: 512,
    })
    .expect("a shape")
}

/// Times, in half of the cases so round that much happens at the same moments.
fn rules(draw: &mut Draw, planes: u32) -> Rules {
    let unit = if draw.percent(50) { 5000 } else { 1 };
    let read_ns = draw.between(5000, 60_000) / unit * unit;
    let some =
        |draw: &mut Draw, of: u64, least: u64, most: u64| of * draw.between(10 * least, 10 * most) / 10 / unit * unit;
    let transfer_ns = if draw.percent(15) { 0 } else { read_ns * draw.between(0, 40) / 10 / unit * unit };
    let program_ns = some(draw, read_ns, 2, 12);
    let erase_ns = some(draw, read_ns, 15, 60);
    let mut rules = Rules { read_ns, program_ns, erase_ns, transfer_ns, ..Rules::default() };
    if draw.percent(4) {
        // What takes no time comes in another round of the same moment.
        match draw.below(3) {
            0 => rules.read_ns = 0,
            1 => rules.program_ns = 0,
            _ => rules.erase_ns = 0,
        }
    }
    if draw.percent(17) {
        return Rules { serial: true, ..rules };
    }
    let alone = draw.below(6);
    let mode = draw.below(4);
    let has = |draw: &mut Draw, option: u64| match mode {
        0 => false,
        1 | 2 => option == alone,
        _ => draw.percent(50),
    };
    rules.copy_back = has(draw, 0);
    rules.multi_plane = has(draw, 1) && planes > 1;
    rules.aligned_planes = rules.multi_plane && draw.percent(40);
    rules.reads_first = has(draw, 2);
    rules.gc_yields = has(draw, 3);
    if has(draw, 4) {
        let which = draw.below(3);
        (rules.suspends_erases, rules.suspends_programs) = (which != 1, which != 0);
        rules.suspend_ns = [draw.one_of(&[0, 1000, 5000, 20_000]); 2];
        rules.resume_ns = [draw.one_of(&[0, 1000, 5000, 50_000]); 2];
    }
    rules.gc_channels = has(draw, 5).then(|| draw.between(1, 3) as u32);
    rules
}

impl Case {
    /// Draws a case that its scheme accepts.
    pub(crate) fn draw(seed: u64, requests: usize) -> Self {
        let mut draw = Draw::new(seed);
        loop {
            let geometry = geometry(&mut draw);
            let mut case = Self {
                stack: stack(&mut draw),
                geometry,
                logical_pages: (u64::from(geometry.pages()) * draw.between(40, 75) / 100) as u32,
                rules: rules(&mut draw, geometry.shape().planes_per_die),
                load: match draw.below(4) {
                    0 | 1 => Load::Outstanding(draw.one_of(&[1, 2, 4, 8, 16, 32, 64])),
                    2 => Load::Percent(draw.one_of(&[5, 20, 50, 80, 100, 150])),
                    _ => Load::Bursts(draw.between(1, 40), draw.one_of(&[50, 100, 400]), draw.between(1, 20)),
                },
                write_percent: draw.one_of(&[0, 10, 30, 50, 80, 100]),
                most_pages: draw.one_of(&[1, 1, 4, 16]),
                has_partial_pages: false,
                requests,
                overwritten_percent: draw.between(30, 60),
                seed: draw.below(1 << 32),
            };
            if case.rules.serial {
                // Controller time and a backlog delay everybody here: they are drawn more often.
                if draw.percent(50) {
                    case.stack = slow_stack(&mut draw);
                }
                if matches!(case.load, Load::Percent(_)) {
                    case.load = Load::Percent(draw.one_of(&[20, 80, 150, 300]));
                }
            }
            case.rules.gc_channels = case.rules.gc_channels.map(|most| most.min(geometry.channels()));
            if case.host(Keeper::referee(&geometry, &case.rules)).is_some() {
                case.add_host_side(Draw::new(!seed));
                case.add_second_registers(Draw::new(seed ^ 1 << 63));
                case.add_cells(Draw::new(seed ^ 1 << 62));
                case.add_units(Draw::new(seed ^ 1 << 61));
                case.add_superblocks(Draw::new(seed ^ 1 << 59));
                case.add_program_buffer(Draw::new(seed ^ 1 << 60));
                case.add_scheduling(Draw::new(seed ^ 1 << 58));
                return case;
            }
        }
    }

    /// Gives half of the devices a link to the host, a controller, or both, and half of the
    /// page-mapped ones a write buffer. Drawn apart from all else, which stays what it is without.
    fn add_host_side(&mut self, mut draw: Draw) {
        if self.stack.to_string().starts_with("page") && draw.percent(50) {
            self.add_write_buffer(&mut draw);
        }
        if draw.percent(50) {
            return;
        }
        let page_bytes = u64::from(self.geometry.page_size_bytes());
        let rules = &mut self.rules;
        let (unit, usual) = (if rules.read_ns.is_multiple_of(5000) { 5000 } else { 1 }, rules.read_ns.max(10_000));
        // As long as a page of flash or so; now and then nearly nothing, or very long.
        let time = |draw: &mut Draw| match draw.below(10) {
            0 => draw.between(0, 100),
            1 => usual * draw.between(5, 50) / unit * unit,
            _ => usual * draw.between(0, 20) / 10 / unit * unit,
        };
        if draw.percent(70) {
            // Rounded up, so that a page takes just this time.
            let page_ns = time(&mut draw).max(1);
            rules.link_bytes_per_s = Some((page_bytes * 1_000_000_000).div_ceil(page_ns));
        }
        if draw.percent(50) {
            rules.link_latency_ns = time(&mut draw);
        }
        if draw.percent(70) {
            rules.controller_ns = time(&mut draw);
        }
        rules.controller_cores = draw.percent(70).then(|| draw.between(1, 8) as u32);
        self.has_partial_pages = draw.percent(30);
    }

    /// Gives half of the dies second registers for reads, and half for programs, apart from all
    /// else.
    fn add_second_registers(&mut self, mut draw: Draw) {
        let (reads, programs) = (draw.percent(50), draw.percent(50));
        self.rules.cache_read = reads && !self.rules.serial;
        self.rules.cache_program = programs && !self.rules.serial;
    }

    /// Gives half of the dies cells of several bits, apart from all else. Upper pages take longer,
    /// or not.
    fn add_cells(&mut self, mut draw: Draw) {
        if draw.percent(50) {
            return;
        }
        self.rules.cells = Some(self.cells(&mut draw));
    }

    fn cells(&self, draw: &mut Draw) -> Cells {
        let Rules { read_ns, program_ns, .. } = self.rules;
        let unit = if read_ns.is_multiple_of(5000) { 5000 } else { 1 };
        let mut more = |ns: u64| [(); 4].map(|()| ns.max(unit) * draw.between(0, 20) / 10 / unit * unit);
        let (more_to_read_ns, more_to_program_ns) = (more(read_ns), more(program_ns));
        let bits = draw.between(2, 4) as usize;
        Cells { bits, more_to_read_ns, more_to_program_ns }
    }

    /// Gives half of the devices units that are no pages of the flash, or word lines that are
    /// programmed at once, if the scheme accepts them. Drawn apart from all else, which stays what
    /// it is, but for the size of blocks.
    fn add_units(&mut self, mut draw: Draw) {
        if draw.percent(50) {
            return;
        }
        let one_shot = draw.percent(50);
        let cells = self.rules.cells.or_else(|| one_shot.then(|| self.cells(&mut draw)));
        let bits = cells.map_or(1, |cells| cells.bits as u32);
        let (in_a_page, pages) = match (draw.percent(30), one_shot) {
            (false, false) => (draw.one_of(&[2, 4]), 1),
            (false, true) => (draw.one_of(&[1, 2, 4]), 1),
            (true, false) => (1, draw.one_of(&[2, 4])),
            (true, true) => (1, draw.one_of(&[bits, 2 * bits, if bits == 4 { 2 } else { 1 }])),
        };
        let mut rules = Rules { units: Some(Units { in_a_page, pages, one_shot }), cells, ..self.rules };
        if one_shot && let Some(cells) = &mut rules.cells {
            cells.more_to_program_ns = [0; 4];
        }
        let at_once = rules.at_once();
        rules.copy_back = rules.copy_back && at_once == 1;
        let shape = self.geometry.shape();
        let pages_per_block = shape.pages_per_block.next_multiple_of(at_once);
        let shape = Shape { pages_per_block, page_size_bytes: 512 * pages, ..shape };
        let geometry = Geometry::new(shape).expect("a shape");
        let logical_pages =
            u64::from(self.logical_pages) * u64::from(geometry.pages()) / u64::from(self.geometry.pages());
        let before = (self.geometry, self.logical_pages, self.rules);
        (self.geometry, self.logical_pages, self.rules) = (geometry, logical_pages as u32, rules);
        if self.host(Keeper::referee(&geometry, &rules)).is_none() {
            (self.geometry, self.logical_pages, self.rules) = before;
        }
    }

    /// Gives a third of the devices an order of classes, and half of those that let any pass
    /// bounds: of overtaking, of suspensions, or other times of erases. Apart from all else.
    fn add_scheduling(&mut self, mut draw: Draw) {
        let mut classes = vec!["host_read", "host_write", "collection", "erase"];
        let named: Vec<_> =
            (0..draw.between(1, 4)).map(|_| classes.remove(draw.below(classes.len() as u64) as usize)).collect();
        let (has_order, rules) = (draw.percent(33), &mut self.rules);
        if rules.serial {
            return;
        }
        if has_order {
            (rules.reads_first, rules.gc_yields) = (false, false);
            let mut order = named;
            if rules.suspends_erases || rules.suspends_programs {
                order.retain(|&class| class != "host_read");
                order.insert(0, "host_read");
            }
            rules.die_order[..order.len()].copy_from_slice(&order);
        }
        if rules.has_precedence() {
            rules.overtakes = draw.percent(50).then(|| draw.one_of(&[1, 2, 5, 20]));
            rules.suspensions = draw.percent(50).then(|| draw.one_of(&[1, 2, 5]));
        }
        if draw.percent(50) && rules.suspends_erases && rules.suspends_programs {
            (rules.suspend_ns[1], rules.resume_ns[1]) = (draw.between(0, 5) * 5000, draw.between(0, 5) * 5000);
        }
        if !rules.suspends_erases && !rules.suspends_programs {
            rules.suspensions = None;
        }
    }

    /// Gives devices that program several units at once a program buffer, and some of the others,
    /// from the smallest to one that is seldom full.
    fn add_program_buffer(&mut self, mut draw: Draw) {
        let least = self.rules.least_buffered(&self.geometry);
        let (share, is_drawn) = (draw.one_of(&[100, 100, 130, 200, 400, 1600]), draw.percent(40));
        if !self.rules.serial && (self.rules.at_once() > 1 || is_drawn) {
            self.rules.buffered = Some(least * share / 100);
        }
    }

    /// Gives half of the devices that can have them superblocks, if the scheme accepts them. Drawn
    /// apart from all else, which stays what it is, but for the number and the size of blocks.
    fn add_superblocks(&mut self, mut draw: Draw) {
        let shape = self.geometry.shape();
        let is_group = draw.percent(40) && shape.channels <= 4 && self.rules.gc_channels.is_none();
        let planes = shape.planes_per_die;
        let superblocks = Superblocks { planes, dies: if is_group { shape.channels } else { 1 } };
        let blocks = superblocks.planes * superblocks.dies;
        if blocks == 1 || self.rules.serial || draw.percent(50) {
            return;
        }
        let rules = Rules { superblocks, copy_back: false, ..self.rules };
        let row = rules.at_once() / if rules.multi_plane { planes } else { 1 } * blocks;
        let pages_per_block = row * draw.between(1, 3) as u32 * if row < 8 { 2 } else { 1 };
        let shape = Shape {
            channels: shape.channels / superblocks.dies,
            planes_per_die: 1,
            blocks_per_plane: shape.blocks_per_plane * planes,
            pages_per_block,
            ..shape
        };
        let geometry = Geometry::new(shape).expect("a shape");
        let logical_pages =
            u64::from(self.logical_pages) * u64::from(geometry.pages()) / u64::from(self.geometry.pages());
        let before = (self.geometry, self.logical_pages, self.rules);
        (self.geometry, self.logical_pages, self.rules) = (geometry, logical_pages as u32, rules);
        if self.host(Keeper::referee(&geometry, &rules)).is_none() {
            (self.geometry, self.logical_pages, self.rules) = before;
        }
    }

    /// Whether requests pass a link to the host, or a controller, that takes its time.
    pub(crate) fn has_host_side(&self) -> bool {
        let Rules { link_bytes_per_s, link_latency_ns, controller_ns, .. } = self.rules;
        link_bytes_per_s.is_some() || link_latency_ns > 0 || controller_ns > 0
    }

    fn add_write_buffer(&mut self, draw: &mut Draw) {
        let (ram, delay) = (draw.one_of(&["512B", "2KiB", "8KiB", "32KiB"]), draw.one_of(&["0us", "1us", "20us"]));
        let buffer = draw.one_of(&["fifo", "lru", "fab", "bplru"]);
        let text = format!("{}+{buffer}:ram={ram}:access_delay={delay}", self.stack);
        self.stack = text.parse().expect("a stack");
    }

    fn host(&self, keeper: Keeper) -> Option<Host> {
        Host::new(&self.stack, (self.geometry, &self.rules), self.logical_pages, keeper)
    }

    /// Writes that fill the device, and overwrite it.
    pub(crate) fn preparation(&self) -> impl Iterator<Item = Asked> + use<> {
        let (pages, mut draw) = (u64::from(self.logical_pages), Draw::new(self.seed));
        let overwritten = u64::from(self.geometry.pages()) * self.overwritten_percent / 100;
        let lpns = (0..pages).chain((0..overwritten).map(move |_| draw.below(pages)));
        lpns.map(|lpn| Asked::fill(lpn as u32))
    }

    /// A device full of data on which time begins.
    pub(crate) fn prepared(&self, keeper: Keeper) -> Host {
        let mut host = self.host(keeper).expect("accepted before");
        host.prepare(self.preparation());
        host
    }

    /// The requests.
    pub(crate) fn requests(&self) -> Vec<Asked> {
        let (pages, mut draw) = (u64::from(self.logical_pages), Draw::new(self.seed + 1));
        let (page_size, mut parts) = (u64::from(self.geometry.page_size_bytes()), Draw::new(self.seed + 3));
        let mut part =
            || if self.has_partial_pages && parts.percent(40) { parts.below(page_size / 2) as u32 } else { 0 };
        let asked = |_| {
            let (writes, count) = (draw.below(100) < self.write_percent, draw.between(1, self.most_pages).min(pages));
            // Half of them fall on a tenth of the pages.
            let span = if draw.percent(50) { pages.div_ceil(10) } else { pages };
            let lpn = draw.below(span).min(pages - count);
            Asked { lpn: lpn as u32, pages: count as u32, writes, left_out: [part(), part()] }
        };
        (0..self.requests).map(asked).collect()
    }

    /// What its scheme does, the preparation left out, and how many operations of that the host
    /// does not wait for.
    pub(crate) fn done(&self) -> (Tally, u64) {
        let mut host = self.prepared(Keeper::simulation(&self.geometry, &self.rules));
        let before = *host.tally();
        host.run(&self.requests(), &self.pace());
        (host.tally().since(&before), host.background())
    }

    /// When they begin.
    pub(crate) fn pace(&self) -> Pace {
        let (count, load, pause) = match self.load {
            Load::Outstanding(depth) => return Pace::Closed(depth),
            Load::Percent(load) => (u64::MAX, load, 0),
            Load::Bursts(count, load, pause) => (count, load, pause * self.rules.erase_ns.max(10_000)),
        };
        let Rules { read_ns, program_ns, transfer_ns, .. } = self.rules;
        let (writes, pages) = (self.write_percent, self.most_pages.div_ceil(2));
        let on_dies = (3 * writes * (program_ns + transfer_ns) + 2 * (100 - writes) * (read_ns + transfer_ns)) / 100;
        let on_bus = transfer_ns * (200 + 2 * writes) / 100;
        let (dies, channels) = (u64::from(self.geometry.dies()), u64::from(self.geometry.channels()));
        let on_flash = if self.rules.serial { on_dies } else { (on_dies / dies).max(on_bus / channels) };
        let on_link = self.rules.link_ns(self.geometry.page_size_bytes().into()) * writes.max(100 - writes) / 100;
        let cores = self.rules.controller_cores.unwrap_or(u32::MAX);
        let needs = on_flash.max(on_link).max(self.rules.controller_ns / u64::from(cores) / pages);
        let (mut draw, mut now) = (Draw::new(self.seed + 2), 0);
        // Some come at the same moment.
        let together = draw.one_of(&[0, 0, 20]);
        let mut gap = |number: u64| {
            let pause = if number > 0 && number.is_multiple_of(count) { pause } else { 0 };
            let gap = if draw.percent(together) { 0 } else { draw.below(2 * needs * pages * 100 / load + 2) };
            gap + pause
        };
        Pace::Open(
            (0..self.requests as u64)
                .map(|number| {
                    now += gap(number);
                    now
                })
                .collect(),
        )
    }
}
