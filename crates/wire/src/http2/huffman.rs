//! The Huffman code of HPACK (RFC 7541 section 5.2 and appendix B).
//!
//! The code is canonical: among codes of one length the next symbol has the next code. So the
//! lengths of all codes define it, and a code is found by comparing it with the first of each
//! length.
//!
//! Hot: runs for header fields that are not known yet.

/// Length of each symbol's code, bits; the last symbol is the end of the string (EOS).
const LENGTHS: [u8; SYMBOLS] = [
    13, 23, 28, 28, 28, 28, 28, 28, 28, 24, 30, 28, 28, 30, 28, 28, 28, 28, 28, 28, 28, 28, 30, 28,
    28, 28, 28, 28, 28, 28, 28, 28, 6, 10, 10, 12, 13, 6, 8, 11, 10, 10, 8, 11, 8, 6, 6, 6, 5, 5,
    5, 6, 6, 6, 6, 6, 6, 6, 7, 8, 15, 6, 12, 10, 13, 6, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7,
    7, 7, 7, 7, 7, 7, 7, 7, 8, 7, 8, 13, 19, 13, 14, 6, 15, 5, 6, 5, 6, 5, 6, 6, 6, 5, 7, 7, 6, 6,
    6, 5, 6, 7, 6, 5, 5, 6, 7, 7, 7, 7, 7, 15, 11, 14, 13, 28, 20, 22, 20, 20, 22, 22, 22, 23, 22,
    23, 23, 23, 23, 23, 24, 23, 24, 24, 22, 23, 24, 23, 23, 23, 23, 21, 22, 23, 22, 23, 23, 24, 22,
    21, 20, 22, 22, 23, 23, 21, 23, 22, 22, 24, 21, 22, 23, 23, 21, 21, 22, 21, 23, 22, 23, 23, 20,
    22, 22, 22, 23, 22, 22, 23, 26, 26, 20, 19, 22, 23, 22, 25, 26, 26, 26, 27, 27, 26, 24, 25, 19,
    21, 26, 27, 27, 26, 27, 24, 21, 21, 26, 26, 28, 27, 27, 27, 20, 24, 20, 21, 22, 21, 21, 23, 22,
    22, 25, 25, 24, 24, 26, 23, 26, 27, 26, 26, 27, 27, 27, 27, 27, 28, 27, 27, 27, 27, 27, 26, 30,
];

const SYMBOLS: usize = 257;
const EOS: u16 = 256;
const SHORTEST: usize = 5;
const LONGEST: usize = 30;

/// Everything that follows from the lengths.
struct Code {
    /// Code of each symbol.
    codes: [u32; SYMBOLS],
    /// Symbols in the order of their codes.
    symbols: [u16; SYMBOLS],
    /// For each length: the first code that is longer, with its highest bit at bit 31.
    ends: [u64; LONGEST + 1],
    /// For each length: its first code, and the place of that symbol in `symbols`.
    firsts: [(u32, u16); LONGEST + 1],
}

static CODE: Code = canonical();

const fn canonical() -> Code {
    let mut code = Code {
        codes: [0; SYMBOLS],
        symbols: [0; SYMBOLS],
        ends: [0; LONGEST + 1],
        firsts: [(0, 0); LONGEST + 1],
    };
    let (mut next, mut place, mut length) = (0u32, 0, SHORTEST);
    while length <= LONGEST {
        code.firsts[length] = (next, place as u16);
        let mut symbol = 0;
        while symbol < SYMBOLS {
            if LENGTHS[symbol] as usize == length {
                code.codes[symbol] = next;
                code.symbols[place] = symbol as u16;
                next += 1;
                place += 1;
            }
            symbol += 1;
        }
        code.ends[length] = (next as u64) << (32 - length);
        next <<= 1;
        length += 1;
    }
    code
}

/// The string is not one that the code can produce.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct NotHuffman;

/// Decodes a string; `take` gets each byte of it.
pub(super) fn decode(input: &[u8], mut take: impl FnMut(u8)) -> Result<(), NotHuffman> {
    let (mut bits, mut count) = (0u64, 0usize);
    let mut rest = input.iter();
    loop {
        while count <= 56 - 8 {
            let Some(byte) = rest.next() else { break };
            bits |= u64::from(*byte) << (56 - count);
            count += 8;
        }
        // What lies behind the end reads as ones, as the padding does.
        let window = (bits >> 32) as u32 | u32::MAX.checked_shr(count as u32).unwrap_or(0);
        let length = (SHORTEST..LONGEST).find(|length| u64::from(window) < CODE.ends[*length]);
        let length = length.unwrap_or(LONGEST);
        if length > count {
            // Padding is the start of EOS, and shorter than a byte.
            let is_ones = window == u32::MAX;
            return if count < 8 && is_ones { Ok(()) } else { Err(NotHuffman) };
        }
        let (first, place) = CODE.firsts[length];
        let nth = (window >> (32 - length)) - first;
        let symbol = CODE.symbols[place as usize + nth as usize];
        if symbol == EOS {
            return Err(NotHuffman);
        }
        take(symbol as u8);
        bits <<= length;
        count -= length;
    }
}

/// Length of a string when it is encoded, bytes.
pub(super) fn encoded_length(text: &[u8]) -> usize {
    let bits: usize = text.iter().map(|byte| LENGTHS[usize::from(*byte)] as usize).sum();
    bits.div_ceil(8)
}

/// Appends an encoded string.
pub(super) fn encode(text: &[u8], output: &mut Vec<u8>) {
    let (mut bits, mut count) = (0u64, 0);
    for byte in text {
        let length = LENGTHS[usize::from(*byte)];
        bits = bits << length | u64::from(CODE.codes[usize::from(*byte)]);
        count += length;
        while count >= 8 {
            count -= 8;
            output.push((bits >> count) as u8);
        }
    }
    if count > 0 {
        output.push((bits << (8 - count)) as u8 | 0xff >> count);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn decoded(input: &[u8]) -> Result<Vec<u8>, NotHuffman> {
        let mut text = Vec::new();
        decode(input, |byte| text.push(byte)).map(|()| text)
    }

    /// The examples of RFC 7541, appendix C.4.
    #[test]
    fn the_examples_of_the_standard_are_read_and_written() {
        let examples: [(&str, &[u8]); 3] = [
            (
                "www.example.com",
                &[0xf1, 0xe3, 0xc2, 0xe5, 0xf2, 0x3a, 0x6b, 0xa0, 0xab, 0x90, 0xf4, 0xff],
            ),
            ("no-cache", &[0xa8, 0xeb, 0x10, 0x64, 0x9c, 0xbf]),
            ("custom-value", &[0x25, 0xa8, 0x49, 0xe9, 0x5b, 0xb8, 0xe8, 0xb4, 0xbf]),
        ];
        for (text, bytes) in examples {
            let mut output = Vec::new();
            encode(text.as_bytes(), &mut output);
            assert_eq!((&output[..], encoded_length(text.as_bytes())), (bytes, bytes.len()));
            assert_eq!(decoded(bytes), Ok(text.as_bytes().to_vec()));
        }
    }

    #[test]
    fn padding_is_short_and_of_ones_and_the_end_is_no_symbol() {
        assert_eq!(decoded(&[]), Ok(vec![]));
        assert_eq!(decoded(&[0x07]), Ok(vec![b'0']), "five zeros, three ones");
        assert_eq!(decoded(&[0x06]), Err(NotHuffman), "a zero in the padding");
        assert_eq!(decoded(&[0xff]), Err(NotHuffman), "a byte of padding");
        assert_eq!(decoded(&[0x07, 0xff]), Err(NotHuffman), "more than a byte of padding");
        assert_eq!(decoded(&[0xff, 0xff, 0xff, 0xff]), Err(NotHuffman), "EOS");
    }

    proptest! {
        #[test]
        fn what_is_encoded_is_decoded(text in prop::collection::vec(any::<u8>(), 0..200)) {
            let mut output = Vec::new();
            encode(&text, &mut output);
            prop_assert_eq!(output.len(), encoded_length(&text));
            prop_assert_eq!(decoded(&output), Ok(text));
        }
    }
}
