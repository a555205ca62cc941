//! Command lines as lists of words, and the wrappers in front of them.
//!
//! Every prefix ends in `exec`, so the started process becomes the program itself: its CPU time,
//! memory and process id are the program's.

/// A program and its arguments.
pub type Words = Vec<String>;

/// Words from anything that converts to text.
pub fn words<T: AsRef<str>>(parts: &[T]) -> Words {
    parts.iter().map(|part| part.as_ref().to_owned()).collect()
}

/// On one CPU, with all threads.
pub fn pinned(cpu: u32, program: Words) -> Words {
    behind(&["taskset", "-c", &cpu.to_string()], program)
}

/// In a network namespace.
pub fn in_namespace(name: &str, program: Words) -> Words {
    behind(&["ip", "netns", "exec", name], program)
}

/// With this limit of open files, soft and hard.
pub fn with_open_files(count: u32, program: Words) -> Words {
    behind(&["prlimit", &format!("--nofile={count}:{count}"), "--"], program)
}

/// Killed when the harness dies, however it dies.
pub fn bound_to_us(program: Words) -> Words {
    behind(&["setpriv", "--pdeathsig", "KILL", "--"], program)
}

fn behind(prefix: &[&str], program: Words) -> Words {
    words(prefix).into_iter().chain(program).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefixes_stand_before_the_program_in_the_order_of_the_calls() {
        let program = words(&["wrk", "-t1"]);
        let line = bound_to_us(in_namespace("n", with_open_files(9, pinned(1, program))));
        let expected = "setpriv --pdeathsig KILL -- ip netns exec n prlimit --nofile=9:9 -- \
                        taskset -c 1 wrk -t1";
        assert_eq!(line.join(" "), expected);
    }
}
