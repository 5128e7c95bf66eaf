import { AsyncLocalStorage } from 'node:async_hooks'
import { type Command, InvalidArgumentError, Option } from 'commander'

/** The options of the running command that select its servers and its store, so that suggested commands have them too. */
export const serverSelection = new AsyncLocalStorage<readonly string[]>()

/** These options, with their values, among the words of a command line. */
export function selectionOptionsIn(words: readonly string[]): readonly string[] {
  return words.flatMap((word, n) => {
    const value = words[n + 1]
    if (word === '--discover' || /^--(?:config|profile|store)=/.test(word)) return [word]
    return /^--(?:config|profile|store)$/.test(word) && value !== undefined ? [word, value] : []
  })
}

/** The options that select the configuration. */
export function withConfigOptions(command: Command): Command {
  return command
    .addOption(
      new Option(
        '--config <file>',
        'use only this config file; repeatable. Default: .mcp.json, jackfield.json, .vscode/mcp.json, .cursor/mcp.json, ~/.config/jackfield/config.json',
      ).argParser((file: string, before: string[] = []) => [...before, file]),
    )
    .option('--profile <name>', 'only servers of this profile of the config')
    .option('--discover', 'also use servers of your other applications')
    .option(
      '--start-what-this-folder-names',
      'start servers configured by files of this folder without asking',
    )
    .option('--no-daemon', 'start servers for this command alone, and end them with it')
}

/** The options of most commands that use the configuration and the store. */
export function withStoreOptions(command: Command): Command {
  return withConfigOptions(command).addOption(storeOption()).addOption(jsonOption())
}

/** Where the activity log and grants are stored. */
export function storeOption(): Option {
  return new Option(
    '--store <file>',
    'SQLite file of the activity log and decisions; default in ~/.local/share/jackfield',
  )
}

/** Runs without a store. Must be added after `storeOption`, whose value it sets. */
export function noStoreOption(): Option {
  return new Option(
    '--no-store',
    'run without a store: nothing is recorded and earlier decisions do not apply, including those about changed tools',
  ).preset(':memory:')
}

/** The result as JSON. */
export function jsonOption(): Option {
  return new Option('--json', 'print the result as one JSON document')
}

/** Environment variables for a server started by a command after `--`. */
export function envOption(): Option {
  return new Option(
    '--env <name[=value]>',
    'environment variable for the command after --; without a value, inherited. Repeatable',
  ).argParser(collected)
}

/** The values of a repeatable option. */
function collected(value: string, before: readonly string[] = []): string[] {
  return [...before, value]
}

/** How content is printed, and where its binary data is written. */
export function withContentOptions(command: Command): Command {
  return command
    .addOption(
      new Option(
        '--output <format>',
        'json (same as --json), markdown, or raw (unchanged text or bytes)',
      ).choices(['json', 'markdown', 'raw']),
    )
    .option('--save-media <folder>', 'write images, audio and other binary data to new files in this folder')
}

/** A parser of option values that are numbers. `what` describes valid ones: "a number of days". */
export function numberOf(what: string, isValid = (value: number) => value > 0): (text: string) => number {
  return (text) => {
    const value = Number(text)
    if (text.trim() !== '' && Number.isFinite(value) && isValid(value)) return value
    throw new InvalidArgumentError(`It must be ${what}.`)
  }
}

/** A parser of option values that are whole numbers from 1 to `max`. */
export function wholeNumber(max = Number.POSITIVE_INFINITY): (text: string) => number {
  const range = max === Number.POSITIVE_INFINITY ? 'above 0' : `from 1 to ${max}`
  return numberOf(`a whole number ${range}`, (value) => Number.isInteger(value) && value > 0 && value <= max)
}

/** Adds the options of commands for one server, which parse their words themselves. */
export function withServerOptions(command: Command): Command {
  return withSharedOptions(command).addOption(jsonOption()).argument('[words...]')
}

/** Options of most commands, described by `jackfield help options`. */
export function withSharedOptions(command: Command): Command {
  return withConfigOptions(command)
    .option('--answers <file>', 'file with answers to questions, for unattended runs')
    .addOption(storeOption())
    .addOption(envOption())
    .addOption(noStoreOption())
    .option('--header <header>', "header for a URL target, as 'Name: value'. Repeatable", collected)
    .option('--era <era>', 'auto, modern (2026-07-28) or legacy (earlier revisions)')
    .option('--revision <date>', 'use only this protocol revision')
    .option(
      '--timeout <seconds>',
      'timeout without a response or progress, in seconds',
      numberOf('a number of seconds'),
    )
    .option('-v, --verbose', 'show protocol messages and the stderr of the server')
}

/** The servers that are used, of all configured ones. */
export function serverNamesOption(): Option {
  return new Option('--server <name...>', 'only these servers')
}
