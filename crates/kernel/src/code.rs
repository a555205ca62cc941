//! What several programs do: read the kernel's memory, look up, count, put into a histogram.

use crate::asm::{Asm, Helper, Label, Op, Reg, When, Width};
use crate::bpf::Map;
use crate::maps::{Counted, SUM, Timed};

/// Where the number of a histogram or counter is on the stack while it is looked up; eight bytes
/// from here on down the stack belongs to the program.
const INDEX: i16 = -4;

/// A member of a structure of the kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Member {
    /// Where it begins, bytes.
    pub offset: u32,
    /// Its size, bytes.
    pub bytes: u32,
}

impl Member {
    /// Eight bytes, such as a pointer.
    pub fn double(offset: u32) -> Self {
        Self { offset, bytes: 8 }
    }

    /// Four bytes.
    pub fn word(offset: u32) -> Self {
        Self { offset, bytes: 4 }
    }
}

/// A program in the making.
#[derive(Debug, Default)]
pub struct Code {
    /// Its instructions.
    pub asm: Asm,
}

impl Code {
    /// `dst` = the place on the stack.
    pub fn stack(&mut self, dst: Reg, at: i16) {
        self.asm.alu(Op::Move, dst, Reg::R10);
        self.asm.alu_with(Op::Add, dst, i32::from(at));
    }

    /// Copies a member of the structure at `from` to a place on the stack.
    pub fn read(&mut self, at: i16, from: Reg, member: Member) {
        self.asm.alu(Op::Move, Reg::R3, from);
        self.asm.alu_with(Op::Add, Reg::R3, member.offset as i32);
        self.stack(Reg::R1, at);
        self.asm.alu_with(Op::Move, Reg::R2, member.bytes as i32);
        self.asm.call(Helper::ReadKernel);
    }

    /// `R0` = the address of the value whose key is at a place on the stack; goes to `miss` when
    /// there is none.
    pub fn find(&mut self, map: &Map, key_at: i16, miss: Label) {
        self.asm.map(Reg::R1, map.descriptor());
        self.stack(Reg::R2, key_at);
        self.asm.call(Helper::Lookup);
        self.asm.jump_if(When::Equal, Reg::R0, 0, miss);
    }

    /// Puts the value on the stack under the key on the stack.
    pub fn put(&mut self, map: &Map, key_at: i16, value_at: i16) {
        self.asm.map(Reg::R1, map.descriptor());
        self.stack(Reg::R2, key_at);
        self.stack(Reg::R3, value_at);
        self.asm.alu_with(Op::Move, Reg::R4, 0);
        self.asm.call(Helper::Update);
    }

    /// `R0` = now, nanoseconds.
    pub fn now(&mut self) {
        self.asm.call(Helper::Now);
    }

    /// Goes to `miss` unless the current process is one of the server's. Uses the stack at `at`.
    pub fn only_server(&mut self, servers: &Map, at: i16, miss: Label) {
        self.asm.call(Helper::CurrentIds);
        self.asm.alu_with(Op::Right, Reg::R0, 32);
        self.asm.store(Width::Word, Reg::R10, at, Reg::R0);
        self.find(servers, at, miss);
    }

    /// Adds one and `ns` to the pair of a key on the stack. Uses 16 bytes of the stack at `at`; two
    /// CPUs that make the same pair at once lose one of the two.
    pub fn add_pair(&mut self, map: &Map, key_at: i16, ns: Reg, at: i16) {
        let (fresh, end) = (self.asm.label(), self.asm.label());
        self.find(map, key_at, fresh);
        self.asm.alu_with(Op::Move, Reg::R1, 1);
        self.asm.add_atomic(Reg::R0, 0, Reg::R1);
        self.asm.add_atomic(Reg::R0, 8, ns);
        self.asm.jump(end);
        self.asm.place(fresh);
        self.asm.store_with(Width::Double, Reg::R10, at, 1);
        self.asm.store(Width::Double, Reg::R10, at + 8, ns);
        self.put(map, key_at, at);
        self.asm.place(end);
    }

    /// Adds `amount` to a counter.
    pub fn count(&mut self, counters: &Map, counted: Counted, amount: Reg) {
        self.count_at(counters, counted as i16, amount);
    }

    /// Adds `amount` to the counter after it, which is of other connections.
    pub fn count_next(&mut self, counters: &Map, counted: Counted, amount: Reg) {
        self.count_at(counters, counted as i16 + 1, amount);
    }

    fn count_at(&mut self, counters: &Map, word: i16, amount: Reg) {
        let end = self.asm.label();
        self.asm.store_with(Width::Word, Reg::R10, INDEX, 0);
        self.find(counters, INDEX, end);
        self.asm.add_atomic(Reg::R0, 8 * word, amount);
        self.asm.place(end);
    }

    /// Adds nanoseconds to a histogram; `ns` survives calls. Buckets as in [`bucket_end`].
    pub fn record(&mut self, histograms: &Map, timed: Timed, ns: Reg) {
        let (found, end) = (self.asm.label(), self.asm.label());
        self.asm.store_with(Width::Word, Reg::R10, INDEX, timed as i32);
        self.find(histograms, INDEX, end);
        self.asm.add_atomic(Reg::R0, 8 * SUM as i16, ns);
        // R2 = which power of two, by halving the number of bits that are looked at.
        self.asm.alu(Op::Move, Reg::R1, ns);
        self.asm.jump_if(When::Below, Reg::R1, 4, found);
        self.asm.alu_with(Op::Move, Reg::R2, 0);
        for bits in [32, 16, 8, 4, 2, 1] {
            let next = self.asm.label();
            self.asm.alu(Op::Move, Reg::R3, Reg::R1);
            self.asm.alu_with(Op::Right, Reg::R3, bits);
            self.asm.jump_if(When::Equal, Reg::R3, 0, next);
            self.asm.alu(Op::Move, Reg::R1, Reg::R3);
            self.asm.alu_with(Op::Add, Reg::R2, bits);
            self.asm.place(next);
        }
        // R1 = (power - 1) * 4 + the two bits below the highest.
        self.asm.alu_with(Op::Sub, Reg::R2, 2);
        self.asm.alu_with(Op::And, Reg::R2, 63);
        self.asm.alu(Op::Move, Reg::R1, ns);
        self.asm.alu(Op::Right, Reg::R1, Reg::R2);
        self.asm.alu_with(Op::And, Reg::R1, 3);
        self.asm.alu_with(Op::Add, Reg::R2, 1);
        self.asm.alu_with(Op::Left, Reg::R2, 2);
        self.asm.alu(Op::Add, Reg::R1, Reg::R2);
        self.asm.place(found);
        self.asm.alu_with(Op::And, Reg::R1, 255);
        self.asm.alu_with(Op::Left, Reg::R1, 3);
        self.asm.alu(Op::Add, Reg::R0, Reg::R1);
        self.asm.alu_with(Op::Move, Reg::R1, 1);
        self.asm.add_atomic(Reg::R0, 0, Reg::R1);
        self.asm.place(end);
    }
}

/// The first value, nanoseconds, that is above a bucket: buckets are four for each doubling, so a
/// value is known within a quarter.
pub fn bucket_end(bucket: usize) -> u64 {
    let next = bucket as u64 + 1;
    if next <= 4 {
        return next;
    }
    let (power, part) = (next / 4 + 1, next % 4);
    if power > 63 { u64::MAX } else { (4 + part) << (power - 2) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ends_of_buckets_follow_each_other_by_a_quarter() {
        assert_eq!((0..8).map(bucket_end).collect::<Vec<_>>(), [1, 2, 3, 4, 5, 6, 7, 8]);
        assert_eq!((8..13).map(bucket_end).collect::<Vec<_>>(), [10, 12, 14, 16, 20]);
        let ends: Vec<u64> = (4..252).map(bucket_end).collect();
        assert!(ends.windows(2).all(|two| two[0] < two[1] && two[1] / 5 * 4 <= two[0]));
        assert_eq!(bucket_end(251), u64::MAX);
    }
}
