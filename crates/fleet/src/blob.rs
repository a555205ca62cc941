//! Data that is too long for one message: compressed, cut into pieces, and reassembled.

use crate::ITEM_BYTES_MAX;
use crate::message::BlobHead;
use std::io::Read;

/// Size limit of the compressed data in bytes.
pub const PACKED_BYTES_MAX: u64 = 16 << 20;
/// Size limit of the uncompressed data in bytes.
pub const WHOLE_BYTES_MAX: u64 = 128 << 20;
/// Bytes of a piece: small, because on a slow link each one that arrives shows progress.
const PIECE_BYTES: usize = ITEM_BYTES_MAX / 12;
/// Compression level of zstd.
const LEVEL: i32 = 3;

/// Why the data cannot be sent or reassembled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BlobError {
    /// It is longer than allowed.
    #[error("it is too large")]
    Size,
    /// The pieces do not match the announced sizes.
    #[error("the pieces do not fit together")]
    Pieces,
}

/// Compresses data and cuts it into pieces.
///
/// # Errors
///
/// It is too large.
pub fn cut(whole: &[u8]) -> Result<(BlobHead, Vec<Vec<u8>>), BlobError> {
    let packed = zstd::bulk::compress(whole, LEVEL).map_err(|_| BlobError::Size)?;
    let head = BlobHead { packed_bytes: packed.len() as u64, bytes: whole.len() as u64 };
    Assembly::new(head)?;
    Ok((head, packed.chunks(PIECE_BYTES).map(<[u8]>::to_vec).collect()))
}

/// Collects pieces as they arrive.
#[derive(Debug)]
pub struct Assembly {
    head: BlobHead,
    packed: Vec<u8>,
}

impl Assembly {
    /// An empty assembly.
    ///
    /// # Errors
    ///
    /// The announced data is too large.
    pub fn new(head: BlobHead) -> Result<Self, BlobError> {
        let fits = head.packed_bytes <= PACKED_BYTES_MAX && head.bytes <= WHOLE_BYTES_MAX;
        if fits { Ok(Self { head, packed: Vec::new() }) } else { Err(BlobError::Size) }
    }

    /// Adds a piece; returns the whole data after the last piece.
    ///
    /// # Errors
    ///
    /// The pieces are longer than announced, or do not unpack to what was announced.
    pub fn add(&mut self, piece: &[u8]) -> Result<Option<Vec<u8>>, BlobError> {
        self.packed.extend_from_slice(piece);
        match (self.packed.len() as u64).cmp(&self.head.packed_bytes) {
            std::cmp::Ordering::Less => Ok(None),
            std::cmp::Ordering::Equal => self.unpacked().map(Some),
            std::cmp::Ordering::Greater => Err(BlobError::Pieces),
        }
    }

    fn unpacked(&self) -> Result<Vec<u8>, BlobError> {
        let decoder = zstd::stream::read::Decoder::new(&*self.packed);
        let mut whole = Vec::new();
        let mut limited = decoder.map_err(|_| BlobError::Pieces)?.take(self.head.bytes + 1);
        limited.read_to_end(&mut whole).map_err(|_| BlobError::Pieces)?;
        if whole.len() as u64 == self.head.bytes { Ok(whole) } else { Err(BlobError::Pieces) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::random::Random;

    #[test]
    fn a_whole_is_put_together_from_its_pieces() {
        let mut random = Random::new(1, 2);
        let whole: Vec<u8> = (0..ITEM_BYTES_MAX).map(|_| random.draw() as u8).collect();
        let (head, pieces) = cut(&whole).unwrap();
        assert!(pieces.len() > 1);
        let mut assembly = Assembly::new(head).unwrap();
        let mut got = None;
        for piece in &pieces {
            assert_eq!(got, None);
            got = assembly.add(piece).unwrap();
        }
        assert_eq!(got, Some(whole));
        assert_eq!(assembly.add(b"x"), Err(BlobError::Pieces));
    }

    #[test]
    fn a_small_piece_does_not_become_a_large_whole() {
        let (head, pieces) = cut(&vec![0; 1 << 20]).unwrap();
        assert!(head.packed_bytes < 1 << 10);
        let mut assembly = Assembly::new(BlobHead { bytes: 1 << 10, ..head }).unwrap();
        assert_eq!(assembly.add(&pieces[0]), Err(BlobError::Pieces));
        let head = BlobHead { bytes: WHOLE_BYTES_MAX + 1, ..head };
        assert!(matches!(Assembly::new(head), Err(BlobError::Size)));
        let mut noise = Assembly::new(BlobHead { packed_bytes: 4, bytes: 4 }).unwrap();
        assert_eq!(noise.add(b"abcd"), Err(BlobError::Pieces));
    }
}
