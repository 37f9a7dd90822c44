//! The place that the commands of the tests run in.

use tollgate_effects::{Context, NoFiles, Programs};

pub(crate) const ROOT: &str = "/home/dev/project";
pub(crate) const HOME: &str = "/home/dev";

pub(crate) fn context() -> Context<'static> {
    Context {
        cwd: ROOT,
        root: Some(ROOT),
        home: Some(HOME),
        env: &[],
        programs: Programs::built_in(),
        files: &NoFiles,
    }
}
