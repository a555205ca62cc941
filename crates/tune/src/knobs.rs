//! The registry: every knob, one file each, all of one shape.
//!
//! To add one, write its file and its line here. The header of the file says what people need to
//! know, under the same words in each: docs/reference/knobs.md is made of it.

mod t05;
mod t13;
mod t14;
mod t15;
mod t25;
mod t26;
mod t27;
mod t28;
mod t29;
mod t30;
mod t31;
mod t32;
mod t33;
mod t34;
mod t35;
mod t36;
mod t37;
mod t38;
mod t39;
mod t40;
mod t41;
mod t42;
mod t43;
mod t44;
mod t45;
mod t46;
mod t47;
mod t48;
mod t49;
mod t50;
mod t51;
mod t52;
mod t53;
mod t54;
mod t55;
mod t56;
mod t57;
mod t58;
mod t59;
mod t60;
mod t61;
mod t62;
mod t63;
mod t64;

use crate::knob::Knob;

/// Every knob, in the order of the catalogue.
pub const REGISTRY: &[&Knob] = &[
    &t05::KNOB,
    &t13::KNOB,
    &t14::KNOB,
    &t15::KNOB,
    &t25::KNOB,
    &t26::KNOB,
    &t27::KNOB,
    &t28::KNOB,
    &t29::KNOB,
    &t30::KNOB,
    &t31::KNOB,
    &t32::KNOB,
    &t33::KNOB,
    &t34::KNOB,
    &t35::KNOB,
    &t36::KNOB,
    &t37::KNOB,
    &t38::KNOB,
    &t39::KNOB,
    &t40::KNOB,
    &t41::KNOB,
    &t42::KNOB,
    &t43::KNOB,
    &t44::KNOB,
    &t45::KNOB,
    &t46::KNOB,
    &t47::KNOB,
    &t48::KNOB,
    &t49::KNOB,
    &t50::KNOB,
    &t51::KNOB,
    &t52::KNOB,
    &t53::KNOB,
    &t54::KNOB,
    &t55::KNOB,
    &t56::KNOB,
    &t57::KNOB,
    &t58::KNOB,
    &t59::KNOB,
    &t60::KNOB,
    &t61::KNOB,
    &t62::KNOB,
    &t63::KNOB,
    &t64::KNOB,
];
