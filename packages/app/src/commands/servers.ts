import { createHost, type Host } from '@jackfield/host'
import { ExitCode } from '../cli/exit.ts'
import { followConfig } from '../cli/follow.ts'
import type { Io, Output } from '../cli/io.ts'
import { onlookerAt, startQuestions } from '../cli/session.ts'
import { hostSettings } from '../cli/settings.ts'
import { storeFile } from '../cli/store.ts'
import { type ConfigChoice, readConfig, waysToServers } from '../cli/target.ts'
import { standing, whyStanding } from '../output/connection.ts'
import { oneLine } from '../output/sanitize.ts'
import { table } from '../output/table.ts'
import { wrap } from '../output/width.ts'
import { outOfUse, outOfUseLines } from './trust.ts'

/** Columns of a terminal that has room for reasons beside the rest. Below, they stand under the table. */
const roomForReasons = 100
const indent = '  '

export interface ServersOptions extends ConfigChoice {
  store?: string
  json?: boolean
  watch?: boolean
}

/** `jackfield servers`: connects every configured server and says how each stands. */
export async function servers(options: ServersOptions, io: Io, output: Output): Promise<ExitCode> {
  const { file, config } = await readConfig(options, io, (text) => output.note(text))
  const person = onlookerAt(io)
  await using host = createHost({
    ...hostSettings(config, options, io, person?.askInput),
    servers: config.servers,
    models: [],
    store: storeFile(options.store, io),
    ...(person !== undefined && { surface: person }),
  })
  const close = (): void => void host.close()
  io.signal.addEventListener('abort', close, { once: true })
  await host.start()
  await startQuestions(host, person, io.signal)
  io.signal.removeEventListener('abort', close)
  io.signal.throwIfAborted()
  const list = [...host.connections].map(([name, connection]) => ({
    name,
    ...connection,
    tools: host.tools().filter((tool) => tool.server === name).length,
    resources: host.resources().filter((entry) => entry.server === name).length,
    templates: host.templates().filter((entry) => entry.server === name).length,
    prompts: host.prompts().filter((entry) => entry.server === name).length,
    outOfUse: outOfUse(host.trust.server(name)),
  }))
  const failed = list.some((entry) => 'fix' in entry)
  // Begins before the first word, so that nothing that changes after it is missed.
  const stop = options.watch === true ? follow(host, options, io, output) : undefined
  output.result({ config: file, servers: list }, () => {
    const { palette } = output
    const rows = list.map((entry) => [
      oneLine(entry.name),
      standing(entry, palette),
      'revision' in entry ? entry.revision : '',
      `${entry.tools}`,
      `${entry.resources}+${entry.templates}`,
      `${entry.prompts}`,
    ])
    const reasons = list.map(whyStanding)
    const headings = ['SERVER', 'STATE', 'REVISION', 'TOOLS', 'RESOURCES', 'PROMPTS']
    const heading = palette.dim(file)
    if (rows.length === 0) return `${heading}\nIt names no servers.\n${waysToServers}`
    if (reasons.every((reason) => reason === '')) return `${heading}\n${table(headings, rows, output)}`
    if ((output.columns ?? roomForReasons) >= roomForReasons) {
      const whole = rows.map((row, n) => [...row, reasons[n] ?? ''])
      return `${heading}\n${table([...headings, 'REASON'], whole, output)}`
    }
    const below = list.flatMap(({ name }, n) => {
      const lines = wrap(reasons[n] ?? '', (output.columns ?? roomForReasons) - indent.length)
      return reasons[n] === '' ? [] : ['', palette.bold(oneLine(name)), ...lines.map((line) => indent + line)]
    })
    return [heading, table(headings, rows, output), ...below].join('\n')
  })
  for (const { name } of list) {
    for (const line of outOfUseLines(host.trust.server(name))) output.note(line)
  }
  if (stop === undefined) return failed ? ExitCode.cannotConnect : ExitCode.done
  await new Promise<void>((resolve) => io.signal.addEventListener('abort', () => resolve(), { once: true }))
  stop()
  return ExitCode.done
}

/** Tells of every change of the files and of the connections until the function it gives is called. */
function follow(host: Host, options: ServersOptions, io: Io, output: Output): () => void {
  const stop = followConfig(host, options, io, (event) => {
    if ('problem' in event) return output.row({ problem: event.problem }, oneLine(event.problem))
    for (const [what, names] of Object.entries(event.done)) {
      for (const name of names) output.row({ server: name, config: what }, `${oneLine(name)} ${what}`)
    }
    if (event.policy) {
      const rules = event.config.rules.length
      output.row({ policy: 'changed', rules }, `the rules changed: there are ${rules} now`)
    }
  })
  const off = host.on((event) => {
    if (event.type !== 'connection') return
    const { server, state } = event
    const reason = 'reason' in state ? `: ${oneLine(state.reason)}` : ''
    output.row({ server, ...state }, `${oneLine(server)} is ${state.state}${reason}`)
  })
  return () => {
    off()
    stop()
  }
}
