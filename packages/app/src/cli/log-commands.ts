import type { Command } from 'commander'
import type { ExportOptions, LogOptions, RecordOptions } from '../commands/log.ts'
import { usageError } from './exit.ts'
import type { Invocation } from './invocation.ts'
import { jsonOption, storeOption, wholeNumber, withServerOptions } from './options.ts'

const filterHelp = `
A filter is a list of these conditions, all of which must hold; a - before a condition negates it:
  server:NAME kind:call,wire,… status:error method:tools/call tool:read_* direction:sent connection:ID
  dur:>500 dur:1s..2s bytes:>10kb since:1h until:2027-01-31 id:12 row:7 cause:12 text:"not found" or only words`

/** Adds `log`, `record`, `serve-recording` and `replay`. */
export function addLogCommands(program: Command, invocation: Invocation): void {
  const load = () => import('../commands/log.ts')
  const log = program
    .command('log')
    .description('Show recorded events: messages, calls, questions, HTTP, stderr')
  log.addHelpText('after', filterHelp)
  // A filter may start with `-`, as options do, but a word with `--` is a misspelled option.
  const filtered = (command: Command): Command =>
    command
      .argument('[filter...]')
      .allowUnknownOption()
      .addHelpText('after', filterHelp)
      .hook('preAction', async (_, { args }) => {
        const word = args.find((one) => one.startsWith('--'))
        if (word === undefined) return
        const { oneLine } = await import('../output/sanitize.ts')
        throw usageError(
          `There is no option "${oneLine(word)}". Filters are written without --, such as server:shop or since:1h; --help lists them.`,
        )
      })
  filtered(log.command('show', { isDefault: true }).usage('[options] [filter...] | <id>'))
    .description('Show the newest events, or one event in full')
    .option('--tree', 'group events under their cause')
    .option('--raw', 'show full messages with their responses')
    .option('--timeline', 'one column per server')
    .option('--stats', 'show counts, errors, durations and tokens')
    .option('--follow', 'follow new events until Ctrl+C')
    .option('--limit <count>', 'maximum number of events', wholeNumber())
    .addOption(storeOption())
    .addOption(jsonOption())
    .action((words: string[], options: LogOptions) =>
      invocation.run(options, async (io, output) => (await load()).log(words, options, io, output)),
    )
  filtered(log.command('export').usage('[options] <jsonl|har|otlp> [filter...]'))
    .description('Export events as JSON lines, an HTTP archive (HAR) or OpenTelemetry traces')
    .option('--output <file>', 'write to a file')
    .addOption(storeOption())
    .action(([format, ...words]: string[], options: ExportOptions) =>
      invocation.run({}, async (io, output) => (await load()).exportLog(format, words, options, io, output)),
    )
  log
    .command('diff')
    .usage('[options] <a> <b>')
    .description('Compare two recordings, ignoring order')
    .argument('[a]', 'a file that jackfield record wrote')
    .argument('[b]', 'another one')
    .addOption(jsonOption())
    .action((a: string | undefined, b: string | undefined, options: { json?: boolean }) =>
      invocation.run(options, async (io, output) => (await load()).diff(a, b, io, output)),
    )
  filtered(program.command('record').usage('[options] <file> [filter...]').argument('[file]'))
    .description('Record responses of servers, to serve them again without the servers')
    .addOption(storeOption())
    .addOption(jsonOption())
    .action((file: string | undefined, words: string[], options: RecordOptions) =>
      invocation.run(options, async (io, output) => (await load()).record(file, words, options, io, output)),
    )
  program
    .command('serve-recording')
    .usage('[options] <file> [server]')
    .description('Serve a recording over stdio')
    .argument('[file]', 'a file that jackfield record wrote')
    .argument('[server]', 'server to serve, if the recording has several')
    .action((file: string | undefined, server: string | undefined) =>
      invocation.run({}, async (io, output) =>
        (await import('../commands/serve-recording.ts')).serveRecording(file, server, io, output),
      ),
    )
  withServerOptions(
    program
      .command('replay')
      .usage('[options] <id|file> [key=value...]')
      .description('Repeat a request of the log and compare the results')
      .option('--edit', 'edit its arguments first')
      .option('--save <file>', 'save it with its result, to run it as a test'),
  ).action(invocation.serverAction(async () => (await import('../commands/replay.ts')).replay))
}
