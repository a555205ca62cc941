//! What a person may type as a value: each kind of value says in one place what it takes, gives an
//! example, and reads itself. Help, errors and the reference page are made from that.

use clap::Arg;
use std::any::TypeId;

/// A kind of value.
pub trait Typed: 'static {
    /// What is accepted, as it stands after "is not": `a time above zero`.
    const TAKES: &'static str;
    /// A value as a user would type it in a shell.
    const EXAMPLE: &'static str;
}

/// A kind of value that is known where errors are explained.
#[derive(Debug, Clone, Copy)]
pub struct Kind {
    id: TypeId,
    takes: &'static str,
    example: &'static str,
}

impl Kind {
    /// The kind of a type.
    pub fn of<T: Typed>() -> Self {
        Self { id: TypeId::of::<T>(), takes: T::TAKES, example: T::EXAMPLE }
    }
}

/// What an argument takes, and an example of its value. Nothing for a flag, nor for a value of an
/// unknown kind.
pub fn hint(argument: &Arg, kinds: &[Kind]) -> Option<(String, String)> {
    if !argument.get_action().takes_values() {
        return None;
    }
    let id = argument.get_value_parser().type_id();
    if let Some(kind) = kinds.iter().find(|kind| id == kind.id) {
        return Some((kind.takes.to_string(), kind.example.to_string()));
    }
    let words: Vec<_> =
        argument.get_possible_values().iter().map(|one| one.get_name().to_string()).collect();
    let (last, rest) = words.split_last()?;
    let takes =
        if rest.is_empty() { last.clone() } else { format!("{} or {last}", rest.join(", ")) };
    Some((takes, words[0].clone()))
}

/// Defines kinds of values: `option` reads to an option, so that the error is made from what the
/// kind takes; `result` has an error of its own; `text` takes any text, `file` any path.
#[macro_export]
macro_rules! typed {
    ($($(#[$doc:meta])* $how:ident $name:ident($inner:ty), $takes:literal, $example:literal
        $(, $read:expr)?;)*) => {
        $(
            $(#[$doc])*
            #[derive(Debug, Clone, PartialEq)]
            pub struct $name(pub $inner);

            impl std::ops::Deref for $name {
                type Target = $inner;

                fn deref(&self) -> &$inner {
                    &self.0
                }
            }

            impl $crate::Typed for $name {
                const TAKES: &'static str = $takes;
                const EXAMPLE: &'static str = $example;
            }

            $crate::typed!(@$how $name($inner), $takes $(, $read)?);
        )*

        /// All of these kinds.
        pub fn kinds() -> Vec<$crate::Kind> {
            vec![$($crate::Kind::of::<$name>()),*]
        }
    };
    (@option $name:ident($inner:ty), $takes:literal, $read:expr) => {
        impl std::str::FromStr for $name {
            type Err = String;

            fn from_str(text: &str) -> Result<Self, String> {
                let read: fn(&str) -> Option<$inner> = $read;
                read(text).map(Self).ok_or_else(|| format!("'{text}' is not {}", $takes))
            }
        }
    };
    (@result $name:ident($inner:ty), $takes:literal, $read:expr) => {
        impl std::str::FromStr for $name {
            type Err = String;

            fn from_str(text: &str) -> Result<Self, String> {
                let read: fn(&str) -> Result<$inner, String> = $read;
                read(text).map(Self)
            }
        }
    };
    (@text $name:ident($inner:ty), $takes:literal) => {
        impl From<String> for $name {
            fn from(text: String) -> Self {
                Self(text)
            }
        }
    };
    (@file $name:ident($inner:ty), $takes:literal) => {
        impl clap::builder::ValueParserFactory for $name {
            type Parser = clap::builder::MapValueParser<
                clap::builder::PathBufValueParser,
                fn(std::path::PathBuf) -> Self,
            >;

            fn value_parser() -> Self::Parser {
                clap::builder::TypedValueParser::map(clap::builder::PathBufValueParser::new(), Self)
            }
        }
    };
}
