//! Builds the shim, so that it can be a part of the programs that preload it.

use std::env;
use std::path::PathBuf;
use std::process::Command;

fn main() {
    let here = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it"));
    let root = here.ancestors().nth(2).expect("the workspace is above").to_owned();
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it"));
    for path in ["shim", "Cargo.toml", "Cargo.lock"] {
        println!("cargo:rerun-if-changed={}", root.join(path).display());
    }
    // A directory of its own: the one of the build under way is locked.
    let target = out.join("shim-target");
    let mut command = Command::new(env::var_os("CARGO").expect("cargo sets it"));
    command
        .args(["build", "--profile", "shim", "--package", "hearth-shim", "--target-dir"])
        .arg(&target)
        .current_dir(&root);
    // What wraps or instruments the outer compiler (clippy, coverage) is not for code inside subjects.
    for name in [
        "RUSTC_WRAPPER",
        "RUSTC_WORKSPACE_WRAPPER",
        "RUSTFLAGS",
        "CARGO_ENCODED_RUSTFLAGS",
        "CARGO_BUILD_TARGET",
    ] {
        command.env_remove(name);
    }
    let status = command.status().unwrap_or_else(|error| panic!("cannot run cargo: {error}"));
    assert!(status.success(), "the shim did not build: {status}");
    println!("cargo:rustc-env=HEARTH_SHIM={}", target.join("shim/libhearth_shim.so").display());
}
