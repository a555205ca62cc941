//! Threads of the server: time off the CPU by what they waited for, time on run queues, and who ran
//! instead.
//!
//! A thread that leaves its CPU gets a stamp, its stack and its state; a thread that is woken a
//! second stamp. When it runs again, the time until it was woken is a wait, and the time since then
//! a delay of the run queue. A thread that was displaced, not asleep, has the delay alone.

use crate::asm::{Helper, Op, Reg, When, Width};
use crate::btf::{Btf, BtfError};
use crate::code::{Code, Member};
use crate::maps::{Counted, Maps, Timed, thread};

/// Waits and delays from here on are told apart by cause, nanoseconds: below lies what the switch
/// itself costs, and all of them together are one sum.
pub const THRESHOLD_NS: i32 = 50_000;
/// The stack's number is by its hash alone: two stacks with one hash are one in 2^32.
const FAST_STACK_COMPARE: i32 = 1 << 9;
/// Bytes of a task's name, with its final zero.
const NAME_BYTES: u32 = 16;

/// Where members of `struct task_struct` are.
#[derive(Debug, Clone, Copy)]
pub struct Tasks {
    pid: u32,
    tgid: u32,
    comm: u32,
}

impl Tasks {
    /// Of this kernel.
    pub fn of(btf: &Btf) -> Result<Self, BtfError> {
        let at = |member| btf.offset("task_struct", member);
        let tasks = Self { pid: at("pid")?, tgid: at("tgid")?, comm: at("comm")? };
        // The programs read both at once.
        let is_pair = tasks.tgid == tasks.pid + 4;
        let missing = || BtfError::Missing("tgid next to pid in struct task_struct".to_string());
        is_pair.then_some(tasks).ok_or_else(missing)
    }

    /// The number of a thread and that of its process.
    fn ids(self) -> Member {
        Member::double(self.pid)
    }
}

/// Places on the stack: the thread's number and that of its process.
const IDS: i16 = -16;
const TGID: i16 = -12;
const PAIR: i16 = -32;
const KEY: i16 = -56;
const VALUE: i16 = -80;

/// `sched_switch(is_preempted, from, to, state of from)`
pub fn switched(maps: &Maps, tasks: Tasks) -> Code {
    let mut code = Code::default();
    let (leaving, end) = (code.asm.label(), code.asm.label());
    code.asm.alu(Op::Move, Reg::R6, Reg::R1);
    code.asm.load(Width::Double, Reg::R8, Reg::R6, 8);
    code.asm.load(Width::Double, Reg::R9, Reg::R6, 16);
    code.read(IDS, Reg::R9, tasks.ids());
    code.find(&maps.servers, TGID, leaving);
    code.find(&maps.threads, IDS, leaving);
    code.asm.alu(Op::Move, Reg::R7, Reg::R0);
    runs_again(&mut code, maps, tasks);
    code.asm.place(leaving);
    code.read(IDS, Reg::R8, tasks.ids());
    code.find(&maps.servers, TGID, end);
    leaves(&mut code, maps);
    code.asm.place(end);
    code.asm.exit();
    code
}

/// The thread whose value is at `R7` runs again; the task at `R8` ran before it.
fn runs_again(code: &mut Code, maps: &Maps, tasks: Tasks) {
    let (slept, delayed, short, end) =
        (code.asm.label(), code.asm.label(), code.asm.label(), code.asm.label());
    let clear = code.asm.label();
    code.now();
    code.asm.alu(Op::Move, Reg::R9, Reg::R0);
    code.asm.load(Width::Double, Reg::R1, Reg::R7, thread::OUT);
    code.asm.jump_if(When::Equal, Reg::R1, 0, end);
    code.asm.load(Width::Word, Reg::R2, Reg::R7, thread::STATE);
    code.asm.jump_if(When::Differs, Reg::R2, 0, slept);
    code.asm.alu(Op::Sub, Reg::R9, Reg::R1);
    code.asm.jump(delayed);
    // R9 = the delay, and on the stack the wait. A wake-up that no program saw ends the wait at an
    // unknown instant: it is left out.
    code.asm.place(slept);
    code.asm.load(Width::Double, Reg::R2, Reg::R7, thread::WOKEN);
    code.asm.jump_if(When::Equal, Reg::R2, 0, clear);
    code.asm.alu(Op::Sub, Reg::R9, Reg::R2);
    code.asm.alu(Op::Sub, Reg::R2, Reg::R1);
    // The delay gives up its register while the wait is counted.
    code.asm.store(Width::Double, Reg::R10, VALUE, Reg::R9);
    code.asm.alu(Op::Move, Reg::R9, Reg::R2);
    let counted = code.asm.label();
    code.asm.jump_if(When::Below, Reg::R9, THRESHOLD_NS, short);
    code.asm.load(Width::Double, Reg::R1, Reg::R7, thread::STACK);
    code.asm.store(Width::Double, Reg::R10, KEY, Reg::R1);
    code.add_pair(&maps.waits, KEY, Reg::R9, PAIR);
    code.asm.jump(counted);
    code.asm.place(short);
    code.count(&maps.counters, Counted::ShortWaitsNs, Reg::R9);
    code.asm.alu_with(Op::Move, Reg::R9, 1);
    code.count(&maps.counters, Counted::ShortWaits, Reg::R9);
    code.asm.place(counted);
    code.asm.load(Width::Double, Reg::R9, Reg::R10, VALUE);
    code.asm.place(delayed);
    code.record(&maps.histograms, Timed::RunQueue, Reg::R9);
    code.asm.jump_if(When::Below, Reg::R9, THRESHOLD_NS, clear);
    code.read(KEY, Reg::R8, Member::word(tasks.tgid));
    code.read(KEY + 4, Reg::R8, Member { offset: tasks.comm, bytes: NAME_BYTES });
    code.add_pair(&maps.ran_instead, KEY, Reg::R9, PAIR);
    code.asm.place(clear);
    code.asm.store_with(Width::Double, Reg::R7, thread::OUT, 0);
    code.asm.place(end);
}

/// The current thread, whose numbers are on the stack, leaves its CPU.
fn leaves(code: &mut Code, maps: &Maps) {
    let (asleep, done) = (code.asm.label(), code.asm.label());
    code.asm.store_with(Width::Double, Reg::R10, VALUE + thread::WOKEN, 0);
    code.asm.store_with(Width::Word, Reg::R10, VALUE + thread::STACK, -1);
    code.asm.store_with(Width::Word, Reg::R10, VALUE + thread::STATE, 0);
    // One that was displaced could go on, whatever its state says.
    code.asm.load(Width::Double, Reg::R1, Reg::R6, 0);
    code.asm.alu_with(Op::And, Reg::R1, 1);
    code.asm.load(Width::Double, Reg::R9, Reg::R6, 24);
    code.asm.jump_if(When::Differs, Reg::R1, 0, done);
    code.asm.jump_if(When::Differs, Reg::R9, 0, asleep);
    code.asm.jump(done);
    code.asm.place(asleep);
    code.asm.store(Width::Word, Reg::R10, VALUE + thread::STATE, Reg::R9);
    code.asm.alu(Op::Move, Reg::R1, Reg::R6);
    code.asm.map(Reg::R2, maps.stacks.descriptor());
    code.asm.alu_with(Op::Move, Reg::R3, FAST_STACK_COMPARE);
    code.asm.call(Helper::StackId);
    code.asm.store(Width::Word, Reg::R10, VALUE + thread::STACK, Reg::R0);
    code.asm.place(done);
    code.now();
    code.asm.store(Width::Double, Reg::R10, VALUE + thread::OUT, Reg::R0);
    code.put(&maps.threads, IDS, VALUE);
}

/// `sched_wakeup(task)`
pub fn woken(maps: &Maps, tasks: Tasks) -> Code {
    let mut code = Code::default();
    let end = code.asm.label();
    code.asm.load(Width::Double, Reg::R6, Reg::R1, 0);
    code.read(IDS, Reg::R6, tasks.ids());
    code.find(&maps.servers, TGID, end);
    code.find(&maps.threads, IDS, end);
    code.asm.load(Width::Word, Reg::R1, Reg::R0, thread::STATE);
    code.asm.jump_if(When::Equal, Reg::R1, 0, end);
    code.asm.load(Width::Double, Reg::R1, Reg::R0, thread::WOKEN);
    code.asm.jump_if(When::Differs, Reg::R1, 0, end);
    code.asm.alu(Op::Move, Reg::R6, Reg::R0);
    code.now();
    code.asm.store(Width::Double, Reg::R6, thread::WOKEN, Reg::R0);
    code.asm.place(end);
    code.asm.exit();
    code
}
