//! Counts that add up and travel, each declared once.

/// Shows every number of some counts, always in the same order.
pub trait Tally {
    /// Calls `show` with each of them. What is no count of 64 bits is left out.
    fn each_number(&mut self, show: &mut dyn FnMut(&mut u64));
}

impl Tally for u64 {
    fn each_number(&mut self, show: &mut dyn FnMut(&mut u64)) {
        show(self);
    }
}

impl Tally for u16 {
    fn each_number(&mut self, _: &mut dyn FnMut(&mut u64)) {}
}

impl Tally for u128 {
    fn each_number(&mut self, _: &mut dyn FnMut(&mut u64)) {}
}

impl Tally for (u64, u64) {
    fn each_number(&mut self, show: &mut dyn FnMut(&mut u64)) {
        show(&mut self.0);
        show(&mut self.1);
    }
}

impl<const N: usize> Tally for [u64; N] {
    fn each_number(&mut self, show: &mut dyn FnMut(&mut u64)) {
        self.iter_mut().for_each(show);
    }
}

/// Declares a struct of counts, which is a [`Tally`] of its fields in order. With `add` in front,
/// `+=` adds up its fields; of those that are marked `= largest` it keeps the larger one, and of
/// arrays, marked `= each`, it adds up every element.
#[macro_export]
macro_rules! tally {
    (
        $(#[$of_struct:meta])*
        pub struct $Struct:ident {
            $($(#[$of_field:meta])* pub $field:ident: $Type:ty $(= $how:ident)?,)+
        }
    ) => {
        $(#[$of_struct])*
        #[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
        pub struct $Struct {
            $($(#[$of_field])* pub $field: $Type,)+
        }

        impl $crate::tally::Tally for $Struct {
            fn each_number(&mut self, show: &mut dyn FnMut(&mut u64)) {
                $($crate::tally::Tally::each_number(&mut self.$field, show);)+
            }
        }
    };
    (add
        $(#[$of_struct:meta])*
        pub struct $Struct:ident {
            $($(#[$of_field:meta])* pub $field:ident: $Type:ty $(= $how:ident)?,)+
        }
    ) => {
        $crate::tally! {
            $(#[$of_struct])*
            pub struct $Struct {
                $($(#[$of_field])* pub $field: $Type,)+
            }
        }

        impl std::ops::AddAssign<&$Struct> for $Struct {
            fn add_assign(&mut self, other: &$Struct) {
                $($crate::tally!(@add self, other, $field $(, $how)?);)+
            }
        }
    };
    (@add $mine:ident, $other:ident, $field:ident) => {
        $mine.$field += &$other.$field;
    };
    (@add $mine:ident, $other:ident, $field:ident, each) => {
        $mine.$field.iter_mut().zip($other.$field).for_each(|(sum, part)| *sum += part);
    };
    (@add $mine:ident, $other:ident, $field:ident, largest) => {
        $mine.$field = $mine.$field.max($other.$field);
    };
}

/// Declares a count for each variant of an enum, which adds up and is a [`Tally`].
#[macro_export]
macro_rules! tally_by {
    ($(#[$of_struct:meta])* pub struct $Struct:ident of $Enum:ident;) => {
        $(#[$of_struct])*
        #[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
        pub struct $Struct([u64; $Enum::ALL.len()]);

        impl $Struct {
            /// Adds `count` to those of a kind.
            pub fn add(&mut self, kind: $Enum, count: u64) {
                self.0[kind as usize] += count;
            }

            /// Those of a kind.
            pub fn get(&self, kind: $Enum) -> u64 {
                self.0[kind as usize]
            }

            /// Those of all kinds.
            pub fn sum(&self) -> u64 {
                self.0.iter().sum()
            }
        }

        impl $crate::tally::Tally for $Struct {
            fn each_number(&mut self, show: &mut dyn FnMut(&mut u64)) {
                $crate::tally::Tally::each_number(&mut self.0, show);
            }
        }

        impl std::ops::AddAssign<&$Struct> for $Struct {
            fn add_assign(&mut self, other: &$Struct) {
                self.0.iter_mut().zip(other.0).for_each(|(sum, part)| *sum += part);
            }
        }
    };
}
