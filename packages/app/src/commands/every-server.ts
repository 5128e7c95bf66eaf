import { createHost, type Host, type HostConnectOptions } from '@jackfield/host'
import { CliError, ExitCode } from '../cli/exit.ts'
import { readConfig } from '../cli/target.ts'
import { version } from '../cli/version.ts'
import type { Palette } from '../output/palette.ts'
import { oneLine } from '../output/sanitize.ts'
import type { CommandContext } from './context.ts'

/** How a list is shown. */
export interface Look {
  palette: Palette
  columns: number | undefined
}

/** A list every server has one of. */
export interface ServerLists {
  lists: NonNullable<HostConnectOptions['lists']>
  of(host: Host, server: string, look: Look): { result: object; text: string }
}

/** Whether a command line names neither a server nor a command that starts one. */
export function namesNoServer({ words, command }: CommandContext): boolean {
  return words.length === 0 && command === undefined
}

/** Shows a list of every configured server; those that cannot be reached are told of beside it. */
export async function everyServer(context: CommandContext, shown: ServerLists): Promise<ExitCode> {
  const { options, io, output } = context
  const { file, config } = await readConfig(options, io, (text) => output.note(text))
  await using host = createHost({
    servers: config.servers,
    models: [],
    info: { name: 'jackfield', title: 'Jackfield', version },
    connect: { lists: shown.lists, follow: false },
    ...config.limits,
  })
  await host.start()
  io.signal.throwIfAborted()
  const found: [string, { result: object; text: string }][] = []
  for (const [server, connection] of host.connections) {
    if (connection.state === 'ready') found.push([server, shown.of(host, server, output)])
    else if ('reason' in connection) output.note(`${oneLine(server)}: ${oneLine(connection.reason)}`)
  }
  if (found.length === 0) {
    throw new CliError(ExitCode.cannotConnect, `No server of ${file} can be reached.`)
  }
  output.result(Object.fromEntries(found.map(([server, { result }]) => [server, result])), () =>
    found.map(([server, { text }]) => `${output.palette.bold(oneLine(server))}\n${text}`).join('\n\n'),
  )
  return ExitCode.done
}
