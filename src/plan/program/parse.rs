//! Reads the text of a program.

use super::{MOST_MESSAGES, MOST_PROCESSES, Message, Program, Step};
use crate::units::{Bytes, Rank, Seconds, counted, did_you_mean, nearest, shown};

/// A text that is no program: where and why.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{name}`, line {line}: {reason}")]
pub struct ProgramError {
    /// The file.
    pub name: String,
    /// From 1; the last line where something is missing.
    pub line: usize,
    /// What is wrong with it, and what would be right.
    pub reason: String,
}

/// First words of lines.
const WORDS: [&str; 5] = ["processes", "packet", "step", "work", "message"];

/// What else they are called.
const SYNONYMS: [(&str, &str); 5] =
    [("procs", "processes"), ("superstep", "step"), ("compute", "work"), ("send", "message"), ("unit", "packet")];

/// Bytes of a packet where nothing is said: a word.
const WORD: Bytes = Bytes(4);

/// The program, or the number of a line and what is wrong with it.
pub(super) fn parse(text: &str) -> Result<Program, (usize, String)> {
    let mut reader = Reader { processes: None, packet: None, steps: Vec::new(), messages: 0 };
    let mut last = 1;
    for (number, line) in text.lines().enumerate() {
        last = number + 1;
        let content = line.split_once('#').map_or(line, |(content, _)| content).trim();
        if !content.is_empty() {
            reader.line(content).map_err(|reason| (last, reason))?;
        }
    }
    let Some(processes) = reader.processes else { return Err((last, NO_PROCESSES.to_owned())) };
    if reader.steps.is_empty() {
        return Err((last, "there is no step: write `step` and below it lines `work` and `message`".to_owned()));
    }
    Ok(Program { processes, packet: reader.packet.unwrap_or(WORD), steps: reader.steps })
}

const NO_PROCESSES: &str = "the number of processes is not said: begin with a line such as `processes 4`";

struct Reader {
    processes: Option<usize>,
    packet: Option<Bytes>,
    steps: Vec<Step>,
    /// Of all steps.
    messages: usize,
}

impl Reader {
    fn line(&mut self, line: &str) -> Result<(), String> {
        let (word, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        let rest = rest.trim();
        match word {
            "processes" => self.set_processes(rest),
            "packet" => self.set_packet(rest),
            "step" => self.begin_step(rest),
            "work" => self.add_work(rest),
            "message" => self.add_messages(rest),
            other => {
                let meant = did_you_mean(nearest(other, WORDS, &SYNONYMS));
                Err(format!("`{}` begins no line{meant}; lines begin with {}", short(other), WORDS.join(", ")))
            }
        }
    }

    fn set_processes(&mut self, text: &str) -> Result<(), String> {
        if self.processes.is_some() {
            return Err("the number of processes has been said already".to_owned());
        }
        let number = text.parse().ok().filter(|number| (1..=MOST_PROCESSES).contains(number));
        let wrong = || format!("`{}` is no number of processes: write one from 1 to {MOST_PROCESSES}", short(text));
        self.processes = Some(number.ok_or_else(wrong)?);
        Ok(())
    }

    fn set_packet(&mut self, text: &str) -> Result<(), String> {
        if self.packet.is_some() || !self.steps.is_empty() {
            return Err("the length of a packet is said once, before the first step".to_owned());
        }
        let packet = text.parse::<Bytes>().map_err(|error| error.to_string())?;
        if packet.0 == 0 {
            return Err("a packet has at least one byte".to_owned());
        }
        self.packet = Some(packet);
        Ok(())
    }

    fn begin_step(&mut self, name: &str) -> Result<(), String> {
        let processes = self.processes.ok_or(NO_PROCESSES)?;
        if (self.steps.len() + 1).saturating_mul(processes) > MOST_MESSAGES {
            return Err(format!("the steps of {} are too many", counted(processes, "process")));
        }
        self.steps.push(Step::new(shown(name), processes));
        Ok(())
    }

    fn add_work(&mut self, text: &str) -> Result<(), String> {
        let form =
            || format!("`work {}` is not understood: write `work RANKS TIME`, such as `work 0,2-3 4s`", short(text));
        let (ranks, time) = text.split_once(char::is_whitespace).ok_or_else(form)?;
        let ranks = self.ranks(ranks)?;
        let seconds = time.parse::<Seconds>().map_err(|error| error.to_string())?.0;
        if seconds < 0.0 {
            return Err(format!("work takes no time below 0: `{}`", short(time)));
        }
        let step = self.steps.last_mut().ok_or(NO_STEP)?;
        ranks.into_iter().for_each(|rank| step.work[rank] += seconds);
        Ok(())
    }

    fn add_messages(&mut self, text: &str) -> Result<(), String> {
        let form = || {
            let example =
                "write `message RANKS -> RANKS PACKETS`, such as `message 0 -> 1-3 1000`, or `<->` for both ways";
            format!("`message {}` is not understood: {example}", short(text))
        };
        let (left, right, both) = match (text.split_once("<->"), text.split_once("->")) {
            (Some((left, right)), _) => (left, right.trim(), true),
            (None, Some((left, right))) => (left, right.trim(), false),
            (None, None) => return Err(form()),
        };
        let (right, packets) = right.split_once(char::is_whitespace).ok_or_else(form)?;
        let (sources, destinations) = (self.ranks(left.trim())?, self.ranks(right)?);
        let packets = packets.trim().parse::<u64>().ok().filter(|packets| (1..=1 << 48).contains(packets));
        let packets =
            packets.ok_or("the number of packets is a whole number from 1 on: leave out what sends nothing")?;
        let step = self.steps.last_mut().ok_or(NO_STEP)?;
        if sources == destinations && sources.len() == 1 {
            return Err(format!("process {} would send to itself", sources[0]));
        }
        let count = sources.len() * destinations.len() * if both { 2 } else { 1 };
        self.messages = self.messages.saturating_add(count);
        if self.messages > MOST_MESSAGES {
            return Err(format!("these are more than {MOST_MESSAGES} messages"));
        }
        for &source in &sources {
            for &destination in destinations.iter().filter(|destination| **destination != source) {
                step.messages.push(Message { source, destination, packets });
                if both {
                    step.messages.push(Message { source: destination, destination: source, packets });
                }
            }
        }
        Ok(())
    }

    /// `all`, or numbers and ranges: `0,4-7`. Ascending, each once.
    fn ranks(&self, text: &str) -> Result<Vec<Rank>, String> {
        let processes = self.processes.ok_or(NO_PROCESSES)?;
        if text == "all" {
            return Ok((0..processes).collect());
        }
        let wrong = || format!("`{}` are no processes: write `all`, a number, or `0,4-7`", short(text));
        let mut ranks = Vec::new();
        for part in text.split(',') {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            let number = |text: &str| text.trim().parse::<usize>().map_err(|_| wrong());
            let (first, last) = (number(first)?, number(last)?);
            if last >= processes {
                let most = processes - 1;
                return Err(format!("there is no process {last}: with `processes {processes}` the last one is {most}"));
            }
            if first > last {
                return Err(wrong());
            }
            ranks.extend(first..=last);
        }
        ranks.sort_unstable();
        ranks.dedup();
        Ok(ranks)
    }
}

const NO_STEP: &str = "this belongs to a step: write a line `step` above it";

/// The beginning of a text, to be shown in an error.
fn short(text: &str) -> String {
    let begin: String = text.chars().take(40).collect();
    shown(&begin).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reason(text: &str) -> String {
        Program::parse("a.txt", text).unwrap_err().to_string()
    }

    #[test]
    fn a_text_says_who_works_and_who_sends_to_whom() {
        let text = "# two\nprocesses 4\npacket 8\n\nstep one half\nwork 0,2-3 2ms # all but 1\nwork 0 1ms\n\
                    message 0 <-> 1 7\nstep\nmessage 0,1 -> 1-2 3\nmessage all -> 3 1\n";
        let program = Program::parse("a.txt", text).unwrap();
        assert_eq!((program.processes, program.packet, program.steps.len()), (4, Bytes(8), 2));
        assert_eq!(program.steps[0].name, "one half");
        assert_eq!(program.steps[0].work, [0.003, 0.0, 0.002, 0.002]);
        let pairs = |step: usize| {
            let messages = program.steps[step].messages.iter();
            messages.map(|message| (message.source, message.destination, message.packets)).collect::<Vec<_>>()
        };
        assert_eq!(pairs(0), [(0, 1, 7), (1, 0, 7)]);
        assert_eq!(pairs(1), [(0, 1, 3), (0, 2, 3), (1, 2, 3), (0, 3, 1), (1, 3, 1), (2, 3, 1)]);
        assert_eq!(program.steps[1].packets(), (vec![0, 3, 6, 3], vec![7, 4, 1, 0]));
    }

    #[test]
    fn errors_name_the_line_and_what_would_be_right() {
        for (text, part) in [
            ("", "line 1: the number of processes is not said"),
            ("processes 2\n", "there is no step"),
            ("step\n", "line 1: the number of processes is not said"),
            ("processes 0", "`0` is no number of processes"),
            ("processes 2\nprocesses 3", "line 2: the number of processes has been said"),
            ("processes 2\nwork 0 1s", "line 2: this belongs to a step"),
            ("processes 2\nstep\nwrok 0 1s", "line 3: `wrok` begins no line; did you mean `work`?"),
            ("processes 2\nstep\nwork 2 1s", "there is no process 2: with `processes 2` the last one is 1"),
            ("processes 2\nstep\nwork 0 -1s", "no time below 0"),
            ("processes 2\nstep\nwork 0 long", "is not a time"),
            ("processes 2\nstep\nwork 1-0 1s", "`1-0` are no processes"),
            ("processes 2\nstep\nmessage 0 1 5", "write `message RANKS -> RANKS PACKETS`"),
            ("processes 2\nstep\nmessage 0 -> 0 5", "process 0 would send to itself"),
            ("processes 2\nstep\nmessage 0 -> 1 0", "the number of packets is a whole number from 1 on"),
            ("processes 2\npacket 0", "at least one byte"),
            ("processes 2\nstep\npacket 4", "before the first step"),
            ("processes 60000\nstep\nmessage all -> all 1", "more than 4194304 messages"),
        ] {
            let reason = reason(text);
            assert!(reason.starts_with("`a.txt`, line ") && reason.contains(part), "{text:?}: {reason}");
        }
    }
}
