//! An assembler for the instructions of the kernel's virtual machine.
//!
//! `Documentation/bpf/standardization/instruction-set.rst`. An instruction is eight bytes: what it
//! does, its two registers, an offset for memory and jumps, and a constant. Jumps go to labels,
//! which become offsets in [`Asm::finish`].

/// A register. `R0` has the result of a call, `R1` to `R5` its arguments (a call destroys them),
/// `R6` to `R9` survive calls, `R10` is the end of the stack of 512 bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reg {
    /// The result of a call.
    R0,
    /// The first argument of a call; at the start, the arguments of the hook.
    R1,
    /// The second argument.
    R2,
    /// The third argument.
    R3,
    /// The fourth argument.
    R4,
    /// Survives calls.
    R6 = 6,
    /// Survives calls.
    R7,
    /// Survives calls.
    R8,
    /// Survives calls.
    R9,
    /// The end of the stack; read only.
    R10,
}

/// How many bytes are loaded or stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Width {
    /// One.
    Byte = 0x10,
    /// Two.
    Half = 0x08,
    /// Four.
    Word = 0x00,
    /// Eight.
    Double = 0x18,
}

/// An operation on 64 bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Op {
    /// Addition.
    Add = 0x00,
    /// Subtraction.
    Sub = 0x10,
    /// Bits that both have.
    And = 0x50,
    /// Shift to higher bits.
    Left = 0x60,
    /// Shift to lower bits; zeros follow.
    Right = 0x70,
    /// Copy.
    Move = 0xb0,
    /// Shift to lower bits; the sign follows.
    SignedRight = 0xc0,
}

/// When a jump is taken; of 64 bits without a sign, where no other is named.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum When {
    /// Equal.
    Equal = 0x10,
    /// Not equal.
    Differs = 0x50,
    /// Less or equal, with a sign.
    AtMostSigned = 0xd0,
    /// Less.
    Below = 0xa0,
}

/// A function of the kernel that programs may call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Helper {
    /// `(map, key) -> value or 0`
    Lookup = 1,
    /// `(map, key, value, flags)`
    Update = 2,
    /// `(map, key)`
    Delete = 3,
    /// `() -> ns`, monotonic.
    Now = 5,
    /// `() -> process << 32 | thread`
    CurrentIds = 14,
    /// `(context, map, flags) -> id or error`
    StackId = 27,
    /// `(to, bytes, from)`: reads what is there, or zeros.
    ReadKernel = 113,
}

/// A place that jumps go to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub struct Label(usize);

/// Instructions in the making.
#[derive(Debug, Default)]
pub struct Asm {
    code: Vec<[u8; 8]>,
    /// Where each label is, in instructions.
    labels: Vec<Option<usize>>,
    /// Jumps, and the labels they go to.
    jumps: Vec<(usize, Label)>,
}

const CLASS_LOAD_CONSTANT: u8 = 0x18;
const CLASS_LOAD: u8 = 0x61;
const CLASS_STORE_CONSTANT: u8 = 0x62;
const CLASS_STORE: u8 = 0x63;
const ATOMIC_ADD_64: u8 = 0xdb;
const CLASS_JUMP: u8 = 0x05;
const CLASS_ALU64: u8 = 0x07;
const FROM_REGISTER: u8 = 0x08;
const CALL: u8 = 0x85;
const EXIT: u8 = 0x95;
/// The constant of a load is the descriptor of a map.
const IS_MAP: u8 = 1;

impl Asm {
    fn push(&mut self, op: u8, dst: Reg, src: u8, offset: i16, constant: i32) {
        let [low, high] = offset.to_le_bytes();
        let [a, b, c, d] = constant.to_le_bytes();
        self.code.push([op, dst as u8 | src << 4, low, high, a, b, c, d]);
    }

    /// `dst = dst op src`
    pub fn alu(&mut self, op: Op, dst: Reg, src: Reg) {
        self.push(CLASS_ALU64 | FROM_REGISTER | op as u8, dst, src as u8, 0, 0);
    }

    /// `dst = dst op constant`
    pub fn alu_with(&mut self, op: Op, dst: Reg, constant: i32) {
        self.push(CLASS_ALU64 | op as u8, dst, 0, 0, constant);
    }

    /// `dst = *(from + offset)`, the other bits zero.
    pub fn load(&mut self, width: Width, dst: Reg, from: Reg, offset: i16) {
        self.push(CLASS_LOAD | width as u8, dst, from as u8, offset, 0);
    }

    /// `*(to + offset) = src`
    pub fn store(&mut self, width: Width, to: Reg, offset: i16, src: Reg) {
        self.push(CLASS_STORE | width as u8, to, src as u8, offset, 0);
    }

    /// `*(to + offset) = constant`
    pub fn store_with(&mut self, width: Width, to: Reg, offset: i16, constant: i32) {
        self.push(CLASS_STORE_CONSTANT | width as u8, to, 0, offset, constant);
    }

    /// `*(to + offset) += src` of eight bytes, at once for all CPUs.
    pub fn add_atomic(&mut self, to: Reg, offset: i16, src: Reg) {
        self.push(ATOMIC_ADD_64, to, src as u8, offset, 0);
    }

    /// `dst` = the map with this descriptor.
    pub fn map(&mut self, dst: Reg, descriptor: i32) {
        self.push(CLASS_LOAD_CONSTANT, dst, IS_MAP, 0, descriptor);
        self.code.push([0; 8]);
    }

    /// Calls a function of the kernel.
    pub fn call(&mut self, helper: Helper) {
        self.push(CALL, Reg::R0, 0, 0, helper as i32);
    }

    /// A label, to be placed once.
    pub fn label(&mut self) -> Label {
        self.labels.push(None);
        Label(self.labels.len() - 1)
    }

    /// Places a label before the next instruction.
    pub fn place(&mut self, label: Label) {
        self.labels[label.0] = Some(self.code.len());
    }

    /// Jumps.
    pub fn jump(&mut self, to: Label) {
        self.jumps.push((self.code.len(), to));
        self.push(CLASS_JUMP, Reg::R0, 0, 0, 0);
    }

    /// Jumps when `left` compares so with a constant, of which the sign fills 64 bits.
    pub fn jump_if(&mut self, when: When, left: Reg, constant: i32, to: Label) {
        self.jumps.push((self.code.len(), to));
        self.push(CLASS_JUMP | when as u8, left, 0, 0, constant);
    }

    /// Jumps when `left` compares so with `right`.
    pub fn jump_if_reg(&mut self, when: When, left: Reg, right: Reg, to: Label) {
        self.jumps.push((self.code.len(), to));
        self.push(CLASS_JUMP | FROM_REGISTER | when as u8, left, right as u8, 0, 0);
    }

    /// The program's end, with 0 for its result.
    pub fn exit(&mut self) {
        self.alu_with(Op::Move, Reg::R0, 0);
        self.push(EXIT, Reg::R0, 0, 0, 0);
    }

    /// The instructions. None when a label was not placed, or a jump is too far: that is a mistake
    /// in a program here, and a test assembles each.
    pub fn finish(mut self) -> Option<Vec<[u8; 8]>> {
        for (at, Label(label)) in self.jumps {
            let to = self.labels[label]?;
            let distance = i16::try_from(to as i64 - at as i64 - 1).ok()?;
            let [low, high] = distance.to_le_bytes();
            (self.code[at][2], self.code[at][3]) = (low, high);
        }
        Some(self.code)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instructions_have_the_bytes_of_the_specification() {
        let mut asm = Asm::default();
        asm.alu(Op::Move, Reg::R6, Reg::R1);
        asm.alu_with(Op::Add, Reg::R2, -8);
        asm.load(Width::Double, Reg::R7, Reg::R6, 16);
        asm.store(Width::Word, Reg::R10, -4, Reg::R0);
        asm.store_with(Width::Double, Reg::R10, -16, 1);
        asm.add_atomic(Reg::R0, 8, Reg::R1);
        asm.map(Reg::R1, 5);
        asm.call(Helper::Lookup);
        asm.exit();
        let expected: [[u8; 8]; 11] = [
            [0xbf, 0x16, 0, 0, 0, 0, 0, 0],
            [0x07, 0x02, 0, 0, 0xf8, 0xff, 0xff, 0xff],
            [0x79, 0x67, 16, 0, 0, 0, 0, 0],
            [0x63, 0x0a, 0xfc, 0xff, 0, 0, 0, 0],
            [0x7a, 0x0a, 0xf0, 0xff, 1, 0, 0, 0],
            [0xdb, 0x10, 8, 0, 0, 0, 0, 0],
            [0x18, 0x11, 0, 0, 5, 0, 0, 0],
            [0; 8],
            [0x85, 0, 0, 0, 1, 0, 0, 0],
            [0xb7, 0, 0, 0, 0, 0, 0, 0],
            [0x95, 0, 0, 0, 0, 0, 0, 0],
        ];
        assert_eq!(asm.finish().unwrap(), expected);
    }

    #[test]
    fn jumps_count_instructions_from_the_next_one() {
        let mut asm = Asm::default();
        let (back, end) = (asm.label(), asm.label());
        asm.place(back);
        asm.jump_if(When::Equal, Reg::R1, 7, end);
        asm.map(Reg::R1, 1);
        asm.jump_if_reg(When::Below, Reg::R1, Reg::R2, back);
        asm.place(end);
        asm.exit();
        let code = asm.finish().unwrap();
        assert_eq!((code[0][0], i16::from_le_bytes([code[0][2], code[0][3]])), (0x15, 3));
        assert_eq!((code[3][0], i16::from_le_bytes([code[3][2], code[3][3]])), (0xad, -4));
    }

    #[test]
    fn a_label_that_is_nowhere_is_a_mistake() {
        let mut asm = Asm::default();
        let end = asm.label();
        asm.jump(end);
        assert_eq!(asm.finish(), None);
    }
}
