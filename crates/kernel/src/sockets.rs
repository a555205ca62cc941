//! The split of a request at the server, by connection: bytes arrive in the socket, a thread reads
//! them, writes the first byte of a response, and that is acknowledged.
//!
//! A connection has one state and the instants of its present request. What is read before anything
//! is written belongs to one request, so several that are read at once (pipelining) count as one,
//! and what a server writes unasked counts as none.

use crate::asm::{Label, Op, Reg, When, Width};
use crate::btf::{Btf, BtfError};
use crate::code::{Code, Member};
use crate::maps::{Maps, Timed, socket};

const FAMILY_INET: i32 = 2;
const FAMILY_INET6: i32 = 10;
/// States of a TCP connection that has requests: established, and closed by the client alone.
const ESTABLISHED: i32 = 1;
const CLOSE_WAIT: i32 = 8;
/// A read that leaves the bytes where they are.
const PEEK: i32 = 2;

/// Where members of sockets are.
#[derive(Debug, Clone, Copy)]
pub struct Sockets {
    num: u32,
    dport: u32,
    family: u32,
    state: u32,
    write_seq: u32,
    snd_una: u32,
    cb: u32,
    ack_seq: u32,
    /// The port that the server listens on.
    port: u16,
}

/// Places on the stack.
const SK: i16 = -16;
const HEAD: i16 = -32;
const HEAD_BYTES: u32 = 16;
const VALUE: i16 = -72;
const SEQUENCES: i16 = -80;
const OWNER: i16 = -84;

impl Sockets {
    /// Of this kernel, for connections to a port of this host.
    pub fn of(btf: &Btf, port: u16) -> Result<Self, BtfError> {
        let common = |member: &str| btf.offset("sock", &format!("__sk_common.{member}"));
        let tcp = |member| btf.offset("tcp_sock", member);
        let sockets = Self {
            num: common("skc_num")?,
            dport: common("skc_dport")?,
            family: common("skc_family")?,
            state: common("skc_state")?,
            write_seq: tcp("write_seq")?,
            snd_una: tcp("snd_una")?,
            cb: btf.offset("sk_buff", "cb")?,
            ack_seq: btf.offset("tcp_skb_cb", "ack_seq")?,
            port,
        };
        let missing = || BtfError::Missing("port, family and state together in sock".to_string());
        let last = [sockets.num + 2, sockets.dport + 2, sockets.family + 2, sockets.state + 1];
        let fits = last.iter().all(|end| end - sockets.begin() <= HEAD_BYTES);
        fits.then_some(sockets).ok_or_else(missing)
    }

    /// Where the members that are read together begin.
    fn begin(&self) -> u32 {
        self.num.min(self.dport).min(self.family).min(self.state)
    }

    fn at(&self, member: u32) -> i16 {
        HEAD + (member - self.begin()) as i16
    }

    /// A port as the network has it, in a load of two bytes.
    fn network_port(&self) -> i32 {
        i32::from(u16::from_ne_bytes(self.port.to_be_bytes()))
    }

    /// Reads ports, family and state of the socket at a register.
    fn read_head(&self, code: &mut Code, sk: Reg) {
        code.read(HEAD, sk, Member { offset: self.begin(), bytes: HEAD_BYTES });
    }

    /// Goes to `miss` unless the socket at `R7` is a connection of the server.
    fn only_connections(&self, code: &mut Code, miss: Label) {
        let (is_inet, is_open) = (code.asm.label(), code.asm.label());
        self.read_head(code, Reg::R7);
        code.asm.load(Width::Half, Reg::R1, Reg::R10, self.at(self.num));
        code.asm.jump_if(When::Differs, Reg::R1, i32::from(self.port), miss);
        code.asm.load(Width::Half, Reg::R1, Reg::R10, self.at(self.family));
        code.asm.jump_if(When::Equal, Reg::R1, FAMILY_INET, is_inet);
        code.asm.jump_if(When::Differs, Reg::R1, FAMILY_INET6, miss);
        code.asm.place(is_inet);
        code.asm.load(Width::Byte, Reg::R1, Reg::R10, self.at(self.state));
        code.asm.jump_if(When::Equal, Reg::R1, ESTABLISHED, is_open);
        code.asm.jump_if(When::Differs, Reg::R1, CLOSE_WAIT, miss);
        code.asm.place(is_open);
        code.asm.store(Width::Double, Reg::R10, SK, Reg::R7);
    }

    /// Goes to `yes` if the socket at `R7` is at either end of one of the server's connections.
    pub fn either_end(&self, code: &mut Code, yes: Label) {
        self.read_head(code, Reg::R7);
        code.asm.load(Width::Half, Reg::R1, Reg::R10, self.at(self.num));
        code.asm.jump_if(When::Equal, Reg::R1, i32::from(self.port), yes);
        code.asm.load(Width::Half, Reg::R1, Reg::R10, self.at(self.dport));
        code.asm.jump_if(When::Equal, Reg::R1, self.network_port(), yes);
    }

    /// Goes to `yes` if either port of the two that are on the stack is the server's.
    pub fn either_port(&self, code: &mut Code, ports_at: i16, yes: Label) {
        for at in [ports_at, ports_at + 2] {
            code.asm.load(Width::Half, Reg::R1, Reg::R10, at);
            code.asm.jump_if(When::Equal, Reg::R1, self.network_port(), yes);
        }
    }
}

/// `sk_data_ready(socket)`
pub fn ready(maps: &Maps, sockets: &Sockets) -> Code {
    let mut code = Code::default();
    let (fresh, again, end) = (code.asm.label(), code.asm.label(), code.asm.label());
    code.asm.load(Width::Double, Reg::R7, Reg::R1, 0);
    sockets.only_connections(&mut code, end);
    code.now();
    code.asm.alu(Op::Move, Reg::R9, Reg::R0);
    code.find(&maps.sockets, SK, fresh);
    code.asm.load(Width::Word, Reg::R1, Reg::R0, socket::STATE);
    code.asm.jump_if(When::Equal, Reg::R1, socket::IS_READY, end);
    code.asm.jump_if(When::Differs, Reg::R1, socket::IS_READ, again);
    // More of the same request, or the next one: the next read or write tells.
    code.asm.load(Width::Double, Reg::R1, Reg::R0, socket::NEXT);
    code.asm.jump_if(When::Differs, Reg::R1, 0, end);
    code.asm.store(Width::Double, Reg::R0, socket::NEXT, Reg::R9);
    code.asm.jump(end);
    code.asm.place(again);
    code.asm.store(Width::Double, Reg::R0, socket::READY, Reg::R9);
    code.asm.store_with(Width::Word, Reg::R0, socket::STATE, socket::IS_READY);
    code.asm.jump(end);
    code.asm.place(fresh);
    for at in (0..socket::BYTES as i16).step_by(8) {
        code.asm.store_with(Width::Double, Reg::R10, VALUE + at, 0);
    }
    code.asm.store_with(Width::Word, Reg::R10, VALUE + socket::STATE, socket::IS_READY);
    code.asm.store(Width::Double, Reg::R10, VALUE + socket::READY, Reg::R9);
    code.put(&maps.sockets, SK, VALUE);
    code.asm.place(end);
    code.asm.exit();
    code
}

/// The begin of a program about a read or a write: goes to `end` unless it moved bytes of a
/// connection, by a thread of the server. `R8` = the value of the connection.
fn moved(code: &mut Code, maps: &Maps, sockets: &Sockets, end: Label) {
    code.asm.alu(Op::Move, Reg::R6, Reg::R1);
    code.asm.load(Width::Double, Reg::R1, Reg::R6, 8);
    // The result has 32 bits and a sign.
    code.asm.alu_with(Op::Left, Reg::R1, 32);
    code.asm.alu_with(Op::SignedRight, Reg::R1, 32);
    code.asm.jump_if(When::AtMostSigned, Reg::R1, 0, end);
    code.asm.load(Width::Double, Reg::R7, Reg::R6, 0);
    sockets.only_connections(code, end);
    code.only_server(&maps.servers, OWNER, end);
    code.find(&maps.sockets, SK, end);
    code.asm.alu(Op::Move, Reg::R8, Reg::R0);
}

/// `sock_recv_length(socket, result, flags)`
pub fn read(maps: &Maps, sockets: &Sockets) -> Code {
    let mut code = Code::default();
    let (more, unread, end) = (code.asm.label(), code.asm.label(), code.asm.label());
    code.asm.load(Width::Double, Reg::R2, Reg::R1, 16);
    code.asm.alu_with(Op::And, Reg::R2, PEEK);
    code.asm.jump_if(When::Differs, Reg::R2, 0, end);
    moved(&mut code, maps, sockets, end);
    code.now();
    code.asm.alu(Op::Move, Reg::R9, Reg::R0);
    code.asm.load(Width::Word, Reg::R1, Reg::R8, socket::STATE);
    code.asm.jump_if(When::Equal, Reg::R1, socket::IS_READY, unread);
    code.asm.jump_if(When::Equal, Reg::R1, socket::IS_READ, more);
    code.asm.jump(end);
    code.asm.place(unread);
    code.asm.store_with(Width::Word, Reg::R8, socket::STATE, socket::IS_READ);
    code.asm.place(more);
    // Only the first read of a request ends its time in the socket.
    code.asm.load(Width::Double, Reg::R2, Reg::R8, socket::READY);
    code.asm.store(Width::Double, Reg::R8, socket::READ, Reg::R9);
    code.asm.store_with(Width::Double, Reg::R8, socket::NEXT, 0);
    code.asm.jump_if(When::Equal, Reg::R2, 0, end);
    code.asm.store_with(Width::Double, Reg::R8, socket::READY, 0);
    code.asm.alu(Op::Sub, Reg::R9, Reg::R2);
    code.record(&maps.histograms, Timed::Unread, Reg::R9);
    code.asm.place(end);
    code.asm.exit();
    code
}

/// `sock_send_length(socket, result, flags)`
pub fn written(maps: &Maps, sockets: &Sockets) -> Code {
    let mut code = Code::default();
    let (acknowledged, waiting, next, end) =
        (code.asm.label(), code.asm.label(), code.asm.label(), code.asm.label());
    moved(&mut code, maps, sockets, end);
    code.asm.load(Width::Word, Reg::R1, Reg::R8, socket::STATE);
    code.asm.jump_if(When::Differs, Reg::R1, socket::IS_READ, end);
    code.now();
    code.asm.store(Width::Double, Reg::R8, socket::WROTE, Reg::R0);
    code.asm.alu(Op::Move, Reg::R9, Reg::R0);
    code.asm.load(Width::Double, Reg::R1, Reg::R8, socket::READ);
    code.asm.alu(Op::Sub, Reg::R9, Reg::R1);
    code.record(&maps.histograms, Timed::Inside, Reg::R9);
    code.read(SEQUENCES, Reg::R7, Member::word(sockets.write_seq));
    code.read(SEQUENCES + 4, Reg::R7, Member::word(sockets.snd_una));
    code.asm.load(Width::Word, Reg::R1, Reg::R10, SEQUENCES);
    code.asm.load(Width::Word, Reg::R2, Reg::R10, SEQUENCES + 4);
    code.asm.jump_if_reg(When::Equal, Reg::R1, Reg::R2, acknowledged);
    code.asm.store(Width::Word, Reg::R8, socket::SEQUENCE, Reg::R1);
    code.asm.store_with(Width::Word, Reg::R8, socket::STATE, socket::IS_WRITTEN);
    code.asm.jump(waiting);
    // Before the call returned, as between two processes of one host.
    code.asm.place(acknowledged);
    code.asm.store_with(Width::Word, Reg::R8, socket::STATE, socket::IS_DONE);
    code.asm.alu_with(Op::Move, Reg::R9, 0);
    code.record(&maps.histograms, Timed::Acknowledged, Reg::R9);
    code.asm.place(waiting);
    code.asm.load(Width::Double, Reg::R1, Reg::R8, socket::NEXT);
    code.asm.jump_if(When::Differs, Reg::R1, 0, next);
    code.asm.jump(end);
    // The next request is there already.
    code.asm.place(next);
    code.asm.store(Width::Double, Reg::R8, socket::READY, Reg::R1);
    code.asm.store_with(Width::Double, Reg::R8, socket::NEXT, 0);
    code.asm.store_with(Width::Word, Reg::R8, socket::STATE, socket::IS_READY);
    code.asm.place(end);
    code.asm.exit();
    code
}

/// `tcp_probe(socket, packet)`: a segment was received.
pub fn received(maps: &Maps, sockets: &Sockets) -> Code {
    let mut code = Code::default();
    let end = code.asm.label();
    code.asm.alu(Op::Move, Reg::R6, Reg::R1);
    code.asm.load(Width::Double, Reg::R7, Reg::R6, 0);
    sockets.only_connections(&mut code, end);
    code.find(&maps.sockets, SK, end);
    code.asm.alu(Op::Move, Reg::R8, Reg::R0);
    code.asm.load(Width::Word, Reg::R1, Reg::R8, socket::STATE);
    code.asm.jump_if(When::Differs, Reg::R1, socket::IS_WRITTEN, end);
    code.asm.load(Width::Double, Reg::R7, Reg::R6, 8);
    code.read(SEQUENCES, Reg::R7, Member::word(sockets.cb + sockets.ack_seq));
    // Acknowledged when the number is not before that of the response, in the circle of 2^32.
    code.asm.load(Width::Word, Reg::R1, Reg::R10, SEQUENCES);
    code.asm.load(Width::Word, Reg::R2, Reg::R8, socket::SEQUENCE);
    code.asm.alu(Op::Sub, Reg::R1, Reg::R2);
    code.asm.alu_with(Op::Left, Reg::R1, 32);
    code.asm.alu_with(Op::SignedRight, Reg::R1, 32);
    code.asm.jump_if(When::AtMostSigned, Reg::R1, -1, end);
    code.now();
    code.asm.alu(Op::Move, Reg::R9, Reg::R0);
    code.asm.load(Width::Double, Reg::R1, Reg::R8, socket::WROTE);
    code.asm.alu(Op::Sub, Reg::R9, Reg::R1);
    code.asm.store_with(Width::Word, Reg::R8, socket::STATE, socket::IS_DONE);
    code.record(&maps.histograms, Timed::Acknowledged, Reg::R9);
    code.asm.place(end);
    code.asm.exit();
    code
}
