//! What shells and manual readers know of the command line, made from its arguments.

use std::io::{self, Write};

use clap::{Command, CommandFactory};
use clap_complete::Shell;

use super::arguments::Arguments;
use super::failure::{ExitStatus, Failure};

/// Prints what completes commands and options in a shell.
pub(super) fn completions(shell: Shell) -> Result<ExitStatus, Failure> {
    let mut command = Arguments::command();
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut command, "rowkey", &mut script);
    io::stdout().write_all(&script)?;
    Ok(ExitStatus::Well)
}

/// Prints the manual pages of the program and of its commands, one behind the other.
pub(super) fn pages() -> Result<ExitStatus, Failure> {
    let mut command = Arguments::command();
    command.build();
    let mut text = Vec::new();
    add_pages(&command, &mut text)?;
    io::stdout().write_all(&text)?;
    Ok(ExitStatus::Well)
}

fn add_pages(command: &Command, text: &mut Vec<u8>) -> io::Result<()> {
    clap_mangen::Man::new(command.clone()).render(text)?;
    for below in command.get_subcommands().filter(|below| below.get_name() != "help") {
        add_pages(below, text)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_has_a_page() {
        let mut command = Arguments::command();
        command.build();
        let mut text = Vec::new();
        add_pages(&command, &mut text).unwrap();
        let text = String::from_utf8(text).unwrap();
        for name in ["rowkey", "rowkey-serve", "rowkey-sql", "rowkey-import", "rowkey-account-add"] {
            assert!(text.contains(&format!(".TH {name} ")), "{name}");
        }
    }

    #[test]
    fn shells_complete_the_commands() {
        for shell in [Shell::Bash, Shell::Zsh, Shell::Fish] {
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut Arguments::command(), "rowkey", &mut script);
            let script = String::from_utf8(script).unwrap();
            assert!(script.contains("import") && script.contains("memory-mib"), "{shell}");
        }
    }
}
