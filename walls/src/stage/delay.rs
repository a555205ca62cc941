//! A link with a delay: two devices, and a process that forwards packets between them.
//!
//! Kernels without netem are common, and scenarios about the round trip and small buffers need a
//! delay. Each direction has a thread that reads and one that writes when a packet is due, so that
//! packets keep their order and do not wait for each other.

#![allow(unsafe_code, reason = "a separate network device")]

use anyhow::{Context, Result, bail};
use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::os::fd::AsRawFd;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

/// Largest packet of the devices, with room.
const PACKET_BYTES: usize = 65_536;

/// A packet and when it arrives.
type Due = (Instant, Vec<u8>);

/// Makes both devices, prints that they are ready, and forwards packets until it is killed.
pub fn run(names: [&str; 2], one_way: Duration, lost: f64) -> Result<()> {
    let [one, other] = [device(names[0])?, device(names[1])?];
    let mut carriers = Vec::new();
    for (from, to) in [(one.try_clone()?, other.try_clone()?), (other, one)] {
        let (sender, receiver) = channel();
        carriers.push(thread::spawn(move || take(from, one_way, lost, &sender)));
        carriers.push(thread::spawn(move || give(&receiver, to)));
    }
    println!("ready");
    for carrier in carriers {
        // A device is removed with its namespace, and then this link is no longer needed.
        let _ = carrier.join();
    }
    Ok(())
}

fn take(mut device: File, one_way: Duration, lost: f64, due: &Sender<Due>) {
    let mut packet = vec![0; PACKET_BYTES];
    let mut chance: u64 = 1;
    // A device that is still down cannot be read yet.
    loop {
        match device.read(&mut packet) {
            Ok(count) => {
                // The generator of Knuth's MMIX; its upper half is random enough to drop packets.
                chance = chance
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1_442_695_040_888_963_407);
                if ((chance >> 32) as f64) < lost * f64::from(u32::MAX) {
                    continue;
                }
                if due.send((Instant::now() + one_way, packet[..count].to_vec())).is_err() {
                    return;
                }
            }
            Err(_) => thread::sleep(Duration::from_millis(5)),
        }
    }
}

fn give(due: &Receiver<Due>, mut device: File) {
    for (at, packet) in due {
        thread::sleep(at.saturating_duration_since(Instant::now()));
        // Packets that a device does not accept are lost, as on any link.
        let _ = device.write(&packet);
    }
}

/// A new TUN device with this name; it exists as long as the file is open.
fn device(name: &str) -> Result<File> {
    let file = OpenOptions::new().read(true).write(true).open("/dev/net/tun");
    let file = file.context("cannot open /dev/net/tun")?;
    if name.len() >= libc::IFNAMSIZ {
        bail!("{name} is too long a name for a device");
    }
    // SAFETY: all zeroes is a valid value of this struct of integers.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    for (place, byte) in request.ifr_name.iter_mut().zip(name.bytes()) {
        *place = byte as libc::c_char;
    }
    request.ifr_ifru.ifru_flags = (libc::IFF_TUN | libc::IFF_NO_PI) as libc::c_short;
    // SAFETY: the kernel reads and writes one `ifreq`, which lives until after the call.
    let result = unsafe { libc::ioctl(file.as_raw_fd(), libc::TUNSETIFF, &raw mut request) };
    if result < 0 {
        return Err(std::io::Error::last_os_error()).context(format!("cannot make {name}"));
    }
    Ok(file)
}
