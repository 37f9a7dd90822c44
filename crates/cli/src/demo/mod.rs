//! `tollgate demo`: three scenes, each with real tools in a workspace of its own and a real ledger.
//!
//! The policies are those of `examples/`, the models follow the scripts beside them. Everything that
//! a scene reports is read back afterwards from the files, the ledger and the messages; a value that
//! cannot be read back is an error, not a guess.

mod book;
mod data;
mod limits;
mod report;
mod stage;
mod workspace;

use crate::args::DemoArguments;
use crate::exit::{Exit, Failure};
use crate::output::{Style, answer};
use report::Scene;
use std::path::Path;

/// Runs the scenes and prints what came of them.
pub(crate) fn run(arguments: &DemoArguments) -> Result<Exit, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(Failure::internal)?;
    let scenes = match &arguments.keep {
        Some(folder) => {
            make_new(folder)?;
            runtime.block_on(scenes(folder))?
        }
        None => {
            let folder = tempfile::tempdir().map_err(|error| {
                Failure::internal(format!("cannot make a temporary folder: {error}"))
            })?;
            runtime.block_on(scenes(folder.path()))?
        }
    };
    let mut text = if arguments.json {
        format!("{}\n", report::json(&scenes))
    } else {
        report::transcript(&scenes, Style::of_stdout())
    };
    if let Some(folder) = arguments.keep.as_ref().filter(|_| !arguments.json) {
        text += &format!("The workspaces, ledgers and traces are in {}.\n", folder.display());
    }
    answer(&text)?;
    // A demo that did not show what it is there to show has failed.
    Ok(if scenes.iter().all(Scene::is_as_it_should_be) { Exit::Done } else { Exit::No })
}

async fn scenes(folder: &Path) -> Result<Vec<Scene>, Failure> {
    // A workspace has an absolute path: a policy's paths are judged from there.
    let folder = folder.canonicalize().map_err(Failure::internal)?;
    Ok(vec![
        workspace::play(&folder.join("scene-1")).await?,
        data::play(&folder.join("scene-2")).await?,
        limits::play(&folder.join("scene-3")).await?,
    ])
}

/// Makes the folder, or takes one that is empty: nothing of anyone's is written over.
fn make_new(folder: &Path) -> Result<(), Failure> {
    std::fs::create_dir_all(folder).map_err(|error| {
        Failure::usage(
            format!("cannot make the folder {}: {error}", folder.display()),
            "name a folder that can be made, as in `tollgate demo --keep demo-files`",
        )
    })?;
    let mut entries = std::fs::read_dir(folder).map_err(Failure::internal)?;
    if entries.next().is_some() {
        return Err(Failure::usage(
            format!("the folder {} is not empty", folder.display()),
            "name a new folder; the demo writes over nothing",
        ));
    }
    Ok(())
}
