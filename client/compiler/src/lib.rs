//! Compilers that are kept warm: what is known of each, and the way from a program to what it does.
//!
//! What differs between compilers stands behind the trait [`Compiler`](compiler::Compiler): a new one is a file that
//! implements it and a line that chooses it. A [`Toolchain`](toolchain::Toolchain) compiles, assembles, links and executes.
//!
//! ```no_run
//! use hearth_client::Connection;
//! use hearth_compiler::compiled::Compiled;
//! use hearth_compiler::toolchain::Toolchain;
//! use std::path::Path;
//!
//! let mut hearth = Connection::open()?;
//! let path = Path::new("program.c");
//! let tools = Toolchain::new(&mut hearth, "gcc-11", path, Path::new("/usr/bin/hearth"))?;
//! match tools.compile_only(&mut hearth, &std::fs::read(path)?, &["-O2".to_owned()])? {
//!     Compiled::Crash(crash) => println!("the compiler crashes: {crash}"),
//!     Compiled::Refused(error) => println!("it refuses the program: {error}"),
//!     Compiled::Code(code) => match tools.link(&mut hearth, code)? {
//!         Some(program) => println!("{}", tools.execute(&mut hearth, &program)?.outcome),
//!         None => println!("the program cannot be linked"),
//!     },
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]

pub mod compiled;
pub mod compiler;
pub mod error;
pub mod function_name;
mod machine;
pub mod options;
pub mod spent;
pub mod stack;
pub mod toolchain;
