//! Enums whose variants have names.

/// Defines an enum with a name for each variant. The last line is the function that returns the
/// name, with its docs.
///
/// The enum also has `ALL`, its variants in order, and with `fn name, parse;` also `parse`, which
/// finds a variant by its name. What serde writes is not affected: it is what the attributes of the
/// enum say.
///
/// ```text
/// model::named! {
///     /// What a lamp shows.
///     #[derive(Debug, Clone, Copy, PartialEq)]
///     pub enum Lamp {
///         /// Stop.
///         Red = "red",
///         /// Go.
///         DarkGreen = "dark green",
///     }
///     /// The name in tables.
///     fn name, parse;
/// }
/// ```
#[macro_export]
macro_rules! named {
    (
        $(#[$of_enum:meta])*
        $vis:vis enum $Enum:ident {
            $($(#[$of_variant:meta])* $Variant:ident = $name:literal),+ $(,)?
        }
        $(#[$of_function:meta])*
        fn $function:ident $(, $parse:ident)?;
    ) => {
        $(#[$of_enum])*
        $vis enum $Enum {
            $($(#[$of_variant])* $Variant,)+
        }

        impl $Enum {
            /// All variants, in order.
            $vis const ALL: [Self; [$($name),+].len()] = [$(Self::$Variant),+];

            $(#[$of_function])*
            $vis fn $function(self) -> &'static str {
                match self {
                    $(Self::$Variant => $name,)+
                }
            }

            $(
                /// The variant of this name.
                $vis fn $parse(name: &str) -> Option<Self> {
                    Self::ALL.into_iter().find(|variant| variant.$function() == name)
                }
            )?
        }
    };
}

#[cfg(test)]
mod tests {
    crate::named! {
        /// What a lamp shows.
        #[derive(Debug, Clone, Copy, PartialEq)]
        enum Lamp {
            /// Stop.
            Red = "red",
            /// Go.
            DarkGreen = "dark green",
        }
        /// The name in tables.
        fn name, parse;
    }

    #[test]
    fn variants_are_listed_named_and_found() {
        assert_eq!(Lamp::ALL.map(Lamp::name), ["red", "dark green"]);
        assert_eq!(Lamp::parse("dark green"), Some(Lamp::DarkGreen));
        assert_eq!(Lamp::parse("blue"), None);
    }
}
