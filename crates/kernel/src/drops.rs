//! Packets that the kernel dropped, by its own reason, and segments sent again and resets.

use crate::asm::{Label, Op, Reg, When, Width};
use crate::btf::{Btf, BtfError};
use crate::code::{Code, Member};
use crate::maps::{Counted, Maps};
use crate::sockets::Sockets;

/// The value of `transport_header` before one is known.
const NO_TRANSPORT: i32 = 0xffff;

/// The class of a packet whose ports are the server's; the other class is 0.
pub const OF_SERVER: u32 = 1;

/// Where members of `struct sk_buff` are.
#[derive(Debug, Clone, Copy)]
pub struct Packets {
    head: u32,
    transport: u32,
}

impl Packets {
    /// Of this kernel.
    pub fn of(btf: &Btf) -> Result<Self, BtfError> {
        let at = |member| btf.offset("sk_buff", member);
        Ok(Self { head: at("head")?, transport: at("transport_header")? })
    }

    /// Goes to `yes` if either port of the packet at `R7` is the server's. A packet that was
    /// dropped before its ports were looked at has none.
    fn either_port(self, code: &mut Code, sockets: &Sockets, yes: Label) {
        let no = code.asm.label();
        code.read(PACKET, Reg::R7, Member::double(self.head));
        code.read(TRANSPORT, Reg::R7, Member { offset: self.transport, bytes: 2 });
        code.asm.load(Width::Half, Reg::R1, Reg::R10, TRANSPORT);
        code.asm.jump_if(When::Equal, Reg::R1, NO_TRANSPORT, no);
        code.asm.load(Width::Double, Reg::R8, Reg::R10, PACKET);
        code.asm.alu(Op::Add, Reg::R8, Reg::R1);
        code.read(PACKET, Reg::R8, Member::word(0));
        sockets.either_port(code, PACKET, yes);
        code.asm.place(no);
    }
}

/// Places on the stack.
const KEY: i16 = -16;
const PACKET: i16 = -48;
const TRANSPORT: i16 = -56;
const ONE: i16 = -64;

/// `kfree_skb(packet, place, reason)`
pub fn dropped(maps: &Maps, sockets: &Sockets, packets: Packets) -> Code {
    let mut code = Code::default();
    let (of_server, of_others, fresh, end) =
        (code.asm.label(), code.asm.label(), code.asm.label(), code.asm.label());
    code.asm.load(Width::Double, Reg::R7, Reg::R1, 0);
    code.asm.load(Width::Double, Reg::R9, Reg::R1, 16);
    code.asm.store(Width::Word, Reg::R10, KEY, Reg::R9);
    code.asm.store_with(Width::Word, Reg::R10, KEY + 4, 0);
    packets.either_port(&mut code, sockets, of_server);
    code.asm.jump(of_others);
    code.asm.place(of_server);
    code.asm.store_with(Width::Word, Reg::R10, KEY + 4, OF_SERVER as i32);
    code.asm.place(of_others);
    code.find(&maps.drops, KEY, fresh);
    code.asm.alu_with(Op::Move, Reg::R1, 1);
    code.asm.add_atomic(Reg::R0, 0, Reg::R1);
    code.asm.jump(end);
    code.asm.place(fresh);
    code.asm.store_with(Width::Double, Reg::R10, ONE, 1);
    code.put(&maps.drops, KEY, ONE);
    code.asm.place(end);
    code.asm.exit();
    code
}

/// Adds one to a counter, or from `others` on to that of other connections, and ends.
fn count(code: &mut Code, maps: &Maps, (server, others): (Counted, Label), yes: Label) {
    let end = code.asm.label();
    code.asm.jump(others);
    code.asm.place(yes);
    code.asm.alu_with(Op::Move, Reg::R9, 1);
    code.count(&maps.counters, server, Reg::R9);
    code.asm.jump(end);
    code.asm.place(others);
    code.asm.alu_with(Op::Move, Reg::R9, 1);
    code.count_next(&maps.counters, server, Reg::R9);
    code.asm.place(end);
    code.asm.exit();
}

/// `tcp_retransmit_skb(socket, ..)` and `tcp_receive_reset(socket)`
pub fn of_socket(maps: &Maps, sockets: &Sockets, counted: Counted) -> Code {
    let mut code = Code::default();
    let (yes, others) = (code.asm.label(), code.asm.label());
    code.asm.load(Width::Double, Reg::R7, Reg::R1, 0);
    sockets.either_end(&mut code, yes);
    count(&mut code, maps, (counted, others), yes);
    code
}

/// `tcp_send_reset(socket or none, packet that it answers or none, ..)`
pub fn reset_sent(maps: &Maps, sockets: &Sockets, packets: Packets) -> Code {
    let mut code = Code::default();
    let (yes, others, by_socket) = (code.asm.label(), code.asm.label(), code.asm.label());
    code.asm.load(Width::Double, Reg::R6, Reg::R1, 0);
    code.asm.load(Width::Double, Reg::R7, Reg::R1, 8);
    code.asm.jump_if(When::Equal, Reg::R7, 0, by_socket);
    packets.either_port(&mut code, sockets, yes);
    code.asm.jump(others);
    code.asm.place(by_socket);
    code.asm.jump_if(When::Equal, Reg::R6, 0, others);
    code.asm.alu(Op::Move, Reg::R7, Reg::R6);
    sockets.either_end(&mut code, yes);
    count(&mut code, maps, (Counted::ResetsSent, others), yes);
    code
}
