//! A terminal backend with ANSI escape sequences. Ratatui's own backends bring an event loop and a
//! key reader, which are not needed here.

use model::printable::controls;
use ratatui_core::backend::{Backend, ClearType, WindowSize};
use ratatui_core::buffer::Cell;
use ratatui_core::layout::{Position, Size};
use ratatui_core::style::{Color, Modifier};
use rustix::termios::tcgetwinsize;
use std::fmt::Write as _;
use std::io::{self, Write as _, stderr};

/// Collects the output until it is flushed.
#[derive(Debug, Default)]
pub(super) struct Ansi {
    text: String,
}

impl Ansi {
    fn style(&mut self, cell: &Cell) {
        self.text.push_str("\x1b[0");
        let modifiers = [(Modifier::BOLD, ";1"), (Modifier::DIM, ";2"), (Modifier::REVERSED, ";7")];
        for (modifier, code) in modifiers {
            if cell.modifier.contains(modifier) {
                self.text.push_str(code);
            }
        }
        self.text.push_str(match cell.fg {
            Color::Red => ";31",
            Color::Green => ";32",
            Color::Yellow => ";33",
            Color::Blue => ";34",
            Color::Cyan => ";36",
            _ => "",
        });
        self.text.push('m');
    }

    /// One cell, without what controls the terminal: marks of direction have no width, so that they
    /// get into the cell of the letter before them.
    fn symbol(&mut self, symbol: &str) {
        let before = self.text.len();
        self.text.extend(symbol.chars().filter(|letter| !controls(*letter)));
        if self.text.len() == before {
            self.text.push(' ');
        }
    }
}

impl Backend for Ansi {
    type Error = io::Error;

    fn draw<'a, I>(&mut self, content: I) -> io::Result<()>
    where
        I: Iterator<Item = (u16, u16, &'a Cell)>,
    {
        let (mut next, mut last) = (None, None);
        for (x, y, cell) in content {
            if next != Some((x, y)) {
                let _ = write!(self.text, "\x1b[{};{}H", y + 1, x + 1);
            }
            let style = (cell.fg, cell.modifier);
            if last != Some(style) {
                self.style(cell);
                last = Some(style);
            }
            self.symbol(cell.symbol());
            next = Some((x + 1, y));
        }
        Ok(())
    }

    fn hide_cursor(&mut self) -> io::Result<()> {
        self.text.push_str("\x1b[?25l");
        Ok(())
    }

    /// Does nothing: the cursor is shown again when the terminal is restored.
    fn show_cursor(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn get_cursor_position(&mut self) -> io::Result<Position> {
        Ok(Position::ORIGIN)
    }

    fn set_cursor_position<P: Into<Position>>(&mut self, _: P) -> io::Result<()> {
        Ok(())
    }

    fn clear(&mut self) -> io::Result<()> {
        self.text.push_str("\x1b[0m\x1b[2J");
        Ok(())
    }

    fn clear_region(&mut self, _: ClearType) -> io::Result<()> {
        self.clear()
    }

    fn size(&self) -> io::Result<Size> {
        let size = tcgetwinsize(stderr())?;
        let or = |value: u16, usual: u16| if value == 0 { usual } else { value };
        Ok(Size::new(or(size.ws_col, 80), or(size.ws_row, 24)))
    }

    fn window_size(&mut self) -> io::Result<WindowSize> {
        Ok(WindowSize { columns_rows: self.size()?, pixels: Size::ZERO })
    }

    fn flush(&mut self) -> io::Result<()> {
        let text = std::mem::take(&mut self.text);
        stderr().write_all(text.as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_that_follow_each_other_are_one_text() {
        let mut bold = Cell::new("b");
        bold.modifier = Modifier::BOLD;
        let plain = Cell::new("a");
        let mut ansi = Ansi::default();
        let cells = [(0, 0, &plain), (1, 0, &plain), (2, 0, &bold), (5, 1, &bold)];
        ansi.draw(cells.into_iter()).unwrap();
        assert_eq!(ansi.text, "\x1b[1;1H\x1b[0maa\x1b[0;1mb\x1b[2;6Hb");
    }

    #[test]
    fn what_controls_a_terminal_is_not_drawn() {
        let mut ansi = Ansi::default();
        let cells = ["q\u{202e}", "\u{9b}", "\u{1b}[2J", "\u{e0041}z"].map(Cell::new);
        let cells = cells.iter().zip(0..).map(|(cell, x)| (x, 0, cell));
        ansi.draw(cells).unwrap();
        assert_eq!(ansi.text, "\x1b[1;1H\x1b[0mq [2Jz");
    }
}
