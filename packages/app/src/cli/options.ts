import { type Command, Option } from 'commander'

/** The options that choose which configuration is used. */
export function withConfigOptions(command: Command): Command {
  return command
    .addOption(
      new Option(
        '--config <file>',
        'this config file and no other; may be given again. Default: .mcp.json, jackfield.json, .vscode/mcp.json, .cursor/mcp.json, ~/.config/jackfield/config.json',
      ).argParser((file: string, before: string[] = []) => [...before, file]),
    )
    .option('--profile <name>', 'only the servers of this profile of the config')
    .option('--discover', 'also the servers of your other applications')
    .option('--start-what-this-folder-names', 'start servers that files of this folder name, without asking')
}

/** Where the activity log and remembered decisions are stored. */
export function storeOption(): Option {
  return new Option(
    '--store <file>',
    'SQLite file of the activity log and remembered decisions; default in ~/.local/share/jackfield',
  )
}

/** Runs without a store. Goes after `storeOption`, whose value it sets. */
export function noStoreOption(): Option {
  return new Option(
    '--no-store',
    'run without a store: nothing is recorded, and no earlier decision applies, also about changed tools',
  ).preset(':memory:')
}

/** The result as JSON. */
export function jsonOption(): Option {
  return new Option('--json', 'print the result as one JSON document and nothing else')
}

/** Variables for a server that is started by a command after `--`. */
export function envOption(): Option {
  return new Option(
    '--env <name[=value]>',
    'a variable for the command after --; without a value, the one it has here. May be given again',
  ).argParser((variable: string, before: string[] = []) => [...before, variable])
}

/** How content is printed, and where its binary data is written. */
export function withContentOptions(command: Command): Command {
  return command
    .addOption(
      new Option(
        '--output <format>',
        'json, as with --json; markdown; or raw: the text or bytes, unchanged',
      ).choices(['json', 'markdown', 'raw']),
    )
    .option('--save-media <folder>', 'write images, audio and other binary data to new files there')
}
