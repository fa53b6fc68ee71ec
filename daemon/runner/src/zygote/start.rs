//! Starting a zygote: the subject is launched, and waited for at its warm point.

use super::{Zygote, ZygoteKey, receive_event};
use crate::binary_layout;
use crate::cores::{Binding, Idle};
use crate::error::{During, Error, Result};
use crate::library_point;
use crate::limits::{CHILDREN_KEPT, END_DEADLINE, WARM_DEADLINE};
use crate::mappings::Mappings;
use crate::memory::Memory;
use crate::revision::Files;
use crate::usage::resident_bytes;
use crate::zygote::WarmPoint;
use hearth_sandbox::{Launch, Launched, Launcher, packet};
use hearth_shim_abi::{
    Config, EARLY_INPUT, EARLY_PID, EARLY_PROCESSES, EARLY_SHARED, EARLY_STDIN, EVENT_MISSED, EVENT_NO_HOOK,
    EVENT_THREADS, EVENT_WARM, PATH_LIMIT, VERSION, WARM_INPUT, WARM_MAIN, WARM_SYMBOL,
};
use std::fs::{self, File};
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::time::Instant;

impl Zygote {
    /// Starts a subject and waits until it is warm.
    ///
    /// # Errors
    /// If it cannot be started or never gets there.
    pub fn start(launcher: &Launcher, key: &ZygoteKey) -> Result<Self> {
        let function = match &key.warm {
            WarmPoint::Symbol(name) => Some(name.as_str()),
            WarmPoint::Main | WarmPoint::Input => None,
        };
        let program = binary_layout::inspect_for_warming(&key.binary, function)?;
        let order = Launch {
            binary: key.binary.clone(),
            arguments: key.arguments.clone(),
            environment: key.environment.clone(),
            directory: key.directory.clone(),
            first_library: program.first_library.clone(),
            processes: key.processes,
            hidden: launcher.hidden.clone(),
            shown: key.shown.clone(),
        };
        let mut launched = Launched::start(launcher, &order, key.sandbox)?;
        let config = config(key, program.function.unwrap_or(0), launched.areas.is_some())?;
        packet::send(&launched.control, &config, &[], &[]).during("configure the shim")?;
        // What a subject that opens its input before the warm point finds there.
        let early_input = key.input_path().and_then(|path| fs::read(path).ok());
        if let Some(name) = function.filter(|_| program.function.is_none()) {
            library_point::tell(&launched, key, &program, name)?;
        }
        let warm = wait_until_warm(&mut launched, &key.warm)?;
        let memory_bytes = launched.process.map_or(0, resident_bytes);
        let mut early_missing = warm.missing();
        let is_input_open = warm.did(EARLY_INPUT);
        let early_output = launched.early_output(&mut early_missing)?;
        if let Some(problem) = &launched.areas_problem {
            early_missing.push(format!(
                "files that all processes of a run see, and the counts of programs that it executes: there are no overlay \
                 mounts ({problem})"
            ));
        }
        if let Some(areas) = &mut launched.areas {
            let (early, mut untold) = areas.remember_early().during("look for the subject's files")?;
            early_missing.append(&mut untold);
            let first = areas.first(early);
            launched.refresh(&first)?;
        }
        Ok(Self {
            launched,
            binary: key.binary.clone(),
            programs: Files::now(warm.mappings.programs()),
            memory: warm.memory,
            mappings: warm.mappings,
            last_library: warm.last_library,
            untold: warm.untold,
            runs: 0,
            settles_at: CHILDREN_KEPT,
            warm: key.warm.clone(),
            early_output,
            early_missing,
            unclear: false,
            input: key.input_path(),
            frozen_input: is_input_open.then(|| early_input.unwrap_or_default()),
            memory_bytes,
            idle: Idle::default(),
            binding: Binding::default(),
            is_to_move: false,
        })
    }
}

fn config(key: &ZygoteKey, symbol: u64, has_areas: bool) -> Result<Config> {
    let mut config: Config = bytemuck::Zeroable::zeroed();
    config.version = VERSION;
    config.warm = match key.warm {
        WarmPoint::Main => WARM_MAIN,
        WarmPoint::Input => WARM_INPUT,
        WarmPoint::Symbol(_) => WARM_SYMBOL,
    };
    config.symbol = symbol;
    config.has_areas = u32::from(has_areas);
    if let Some(path) = key.input_path() {
        let bytes = path.as_os_str().as_bytes();
        if bytes.len() > PATH_LIMIT {
            return Err(Error::TooLarge { what: "the input path", size: bytes.len(), limit: PATH_LIMIT });
        }
        config.input[..bytes.len()].copy_from_slice(bytes);
        config.input_length = bytes.len() as u32;
    }
    Ok(config)
}

/// What a zygote hands over when it is warm.
struct Warm {
    memory: Memory,
    mappings: Mappings,
    last_library: u64,
    untold: u64,
    /// What was done before: a bit for each.
    early: i32,
}

impl Warm {
    fn did(&self, bit: i32) -> bool {
        self.early & bit != 0
    }

    /// What runs lack because of it.
    fn missing(&self) -> Vec<String> {
        let told = [
            (
                EARLY_STDIN,
                "the runs' standard input: the subject has read it before its warm point; choose an earlier one",
            ),
            (
                EARLY_PROCESSES,
                "what processes executed that the subject started before its warm point; choose an earlier one",
            ),
            (
                EARLY_SHARED,
                "what keeps runs apart in pipes, sockets and the like that the subject has opened before its warm point: all \
                 runs share them; choose an earlier one",
            ),
            (
                EARLY_PID,
                "the runs' process numbers: the subject has asked for its own before its warm point, so all have one",
            ),
        ];
        let mut missing: Vec<String> =
            told.iter().filter(|(bit, _)| self.did(*bit)).map(|(_, text)| (*text).to_owned()).collect();
        if self.mappings.shares_memory() {
            missing.push(
                "what keeps runs apart in memory that the subject has shared (MAP_SHARED) before its warm point: all runs \
                 share it; choose an earlier one"
                    .to_owned(),
            );
        }
        missing
    }
}

fn wait_until_warm(launched: &mut Launched, warm: &WarmPoint) -> Result<Warm> {
    let event = receive_event(&launched.control, Instant::now() + WARM_DEADLINE);
    let problem = match event {
        Ok(Some(mut packet)) => match packet.head.kind {
            EVENT_WARM if packet.fds.len() == 3 => {
                let mut file = || packet.fds.remove(0).into();
                let (memory, pages): (File, File) = (file(), file());
                let mut maps_file: File = file();
                let mut maps = String::new();
                maps_file.read_to_string(&mut maps).during("read what the zygote has mapped")?;
                return Ok(Warm {
                    memory: Memory::new(memory, pages),
                    mappings: Mappings::parse(&maps),
                    last_library: packet.head.address,
                    untold: packet.head.untold,
                    early: packet.head.value,
                });
            }
            EVENT_THREADS => {
                return Err(Error::Threads { count: packet.head.value, warm: warm.to_string() });
            }
            EVENT_NO_HOOK => format!("its code cannot be changed (error {})", packet.head.value),
            EVENT_MISSED => format!("main returned {} without it", packet.head.value),
            kind => format!("the shim said {kind}"),
        },
        Ok(None) => format!("it is not there after {} s", WARM_DEADLINE.as_secs()),
        Err(_) => {
            launched.wait_for_end(END_DEADLINE).unwrap_or_else(|| "it closed the control socket".to_owned())
        }
    };
    Err(Error::NotWarm { warm: warm.to_string(), problem, output: launched.output() })
}
