import { type Command, InvalidArgumentError } from 'commander'
import type { ExportOptions, LogOptions, RecordOptions } from '../commands/log.ts'
import type { ExitCode } from './exit.ts'
import type { Io, Output } from './io.ts'
import { jsonOption, storeOption } from './options.ts'

const filterHelp = `
A filter is any of these, each of which may have a - before it for its opposite; all of them must hold:
  server:NAME kind:call,wire,… status:error method:tools/call tool:read_* direction:sent connection:ID
  dur:>500 dur:1s..2s bytes:>10kb since:1h until:2027-01-31 id:12 row:7 cause:12 text:"not found" or only words`

/** Adds `log`, `record` and `serve-recording`. `begin` says whether the result is JSON, and gives where it goes. */
export function addLogCommands(
  program: Command,
  io: Io,
  begin: (json: boolean) => { output: Output; end: (code: ExitCode) => void },
): void {
  const load = () => import('../commands/log.ts')
  const log = program
    .command('log')
    .description('look into everything that happened: messages, calls, questions, HTTP, stderr')
  log.addHelpText('after', filterHelp)
  // A condition may begin with -, as options do.
  const filtered = (made: Command): Command =>
    made.argument('[filter...]').allowUnknownOption().addHelpText('after', filterHelp)
  filtered(log.command('show', { isDefault: true }).usage('[options] [filter...] | <id>'))
    .description('the newest events, or one of them whole')
    .option('--tree', 'under what caused them')
    .option('--raw', 'messages whole, with their answers')
    .option('--timeline', 'side by side, server by server')
    .option('--stats', 'counts, failures, times and tokens')
    .option('--follow', 'go on with what happens, until Ctrl+C')
    .option('--limit <count>', 'so many of the newest', whole)
    .addOption(storeOption())
    .addOption(jsonOption())
    .action(async (words: string[], options: LogOptions) => {
      const { output, end } = begin(options.json === true)
      end(await (await load()).log(words, options, io, output))
    })
  filtered(log.command('export').usage('[options] <jsonl|har|otlp> [filter...]'))
    .description('events as JSON lines, as an HTTP archive, or as traces of OpenTelemetry')
    .option('--output <file>', 'write them there')
    .addOption(storeOption())
    .action(async ([format, ...words]: string[], options: ExportOptions) => {
      const { output, end } = begin(false)
      end(await (await load()).exportLog(format, words, options, io, output))
    })
  log
    .command('diff')
    .usage('[options] <a> <b>')
    .description('what two recordings have different, whatever the order')
    .argument('[a]', 'a file that jackfield record wrote')
    .argument('[b]', 'another one')
    .addOption(jsonOption())
    .action(async (a: string | undefined, b: string | undefined, options: { json?: boolean }) => {
      const { output, end } = begin(options.json === true)
      end(await (await load()).diff(a, b, io, output))
    })
  filtered(program.command('record').usage('[options] <file> [filter...]').argument('[file]'))
    .description('write down what servers answered, to be served again without them')
    .addOption(storeOption())
    .addOption(jsonOption())
    .action(async (file: string | undefined, words: string[], options: RecordOptions) => {
      const { output, end } = begin(options.json === true)
      end(await (await load()).record(file, words, options, io, output))
    })
  program
    .command('serve-recording')
    .usage('[options] <file> [server]')
    .description('be the server of a recording, over stdio')
    .argument('[file]', 'a file that jackfield record wrote')
    .argument('[server]', 'which of its servers, where there are several')
    .action(async (file: string | undefined, server: string | undefined) => {
      const { output, end } = begin(false)
      end(await (await import('../commands/serve-recording.ts')).serveRecording(file, server, io, output))
    })
}

function whole(text: string): number {
  const value = Number(text)
  if (Number.isInteger(value) && value > 0) return value
  throw new InvalidArgumentError('It must be a whole number above 0.')
}
