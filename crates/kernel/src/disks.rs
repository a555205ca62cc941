//! Block requests of the host: from their issue to the device until their end, by device.
//!
//! They end in interrupts, and what a process writes is often issued by a thread of the kernel, so
//! they are the host's and not the server's alone.

use crate::asm::{Helper, Op, Reg, When, Width};
use crate::btf::{Btf, BtfError};
use crate::code::{Code, Member};
use crate::maps::{Maps, Timed};

/// Where the device of a block request is.
#[derive(Debug, Clone, Copy)]
pub struct Requests {
    part: u32,
    device: u32,
}

impl Requests {
    /// Of this kernel.
    pub fn of(btf: &Btf) -> Result<Self, BtfError> {
        let part = btf.offset("request", "part")?;
        Ok(Self { part, device: btf.offset("block_device", "bd_dev")? })
    }
}

/// Places on the stack.
const REQUEST: i16 = -16;
const NOW: i16 = -24;
const PART: i16 = -32;
const DEVICE: i16 = -36;
const PAIR: i16 = -56;

/// `block_rq_issue(request)`
pub fn issued(maps: &Maps) -> Code {
    let mut code = Code::default();
    code.asm.load(Width::Double, Reg::R6, Reg::R1, 0);
    code.asm.store(Width::Double, Reg::R10, REQUEST, Reg::R6);
    code.now();
    code.asm.store(Width::Double, Reg::R10, NOW, Reg::R0);
    code.put(&maps.requests, REQUEST, NOW);
    code.asm.exit();
    code
}

/// `block_rq_complete(request, error, bytes)`
pub fn completed(maps: &Maps, requests: Requests) -> Code {
    let mut code = Code::default();
    let end = code.asm.label();
    code.asm.load(Width::Double, Reg::R6, Reg::R1, 0);
    code.asm.store(Width::Double, Reg::R10, REQUEST, Reg::R6);
    code.find(&maps.requests, REQUEST, end);
    code.asm.load(Width::Double, Reg::R7, Reg::R0, 0);
    code.now();
    code.asm.alu(Op::Move, Reg::R9, Reg::R0);
    code.asm.alu(Op::Sub, Reg::R9, Reg::R7);
    code.asm.map(Reg::R1, maps.requests.descriptor());
    code.stack(Reg::R2, REQUEST);
    code.asm.call(Helper::Delete);
    code.record(&maps.histograms, Timed::Disk, Reg::R9);
    // A request without a device, such as a command to it, has no part.
    code.read(PART, Reg::R6, Member::double(requests.part));
    code.asm.load(Width::Double, Reg::R8, Reg::R10, PART);
    code.asm.jump_if(When::Equal, Reg::R8, 0, end);
    code.read(DEVICE, Reg::R8, Member::word(requests.device));
    code.add_pair(&maps.devices, DEVICE, Reg::R9, PAIR);
    code.asm.place(end);
    code.asm.exit();
    code
}
