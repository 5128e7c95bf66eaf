import type { HostClient, ServerRow, View } from '@jackfield/host/client'
import { ExitCode } from '../cli/exit.ts'
import { onNotice, openHost } from '../cli/host.ts'
import type { Io, Output } from '../cli/io.ts'
import { observerSurfaceFor, startServers } from '../cli/session.ts'
import { type ConfigChoice, hasErrors, noServersMessage, readConfig } from '../cli/target.ts'
import { stateReason, stateText } from '../output/connection.ts'
import { oneLine } from '../output/sanitize.ts'
import { table } from '../output/table.ts'
import { wrap } from '../output/width.ts'
import { answerQuestions } from '../surface/answer-questions.ts'
import { disabledDefinitions, disabledLines } from './trust.ts'

/** Terminal width from which reasons are a column. Below, they are printed under the table. */
const minReasonColumns = 100
const indent = '  '

export interface ServersOptions extends ConfigChoice {
  store?: string
  json?: boolean
  watch?: boolean
}

/** `jackfield servers`: connects every configured server and shows its state. */
export async function servers(options: ServersOptions, io: Io, output: Output): Promise<ExitCode> {
  const { file, config } = await readConfig(options, io, (text) => output.note(text))
  const person = observerSurfaceFor(io)
  await using open = await openHost(options, 'jackfield servers', io)
  const { client } = open
  const close = (): void => client.close()
  io.signal.addEventListener('abort', close, { once: true })
  const answering =
    person !== undefined
      ? await answerQuestions(client, person, {
          isMine: ({ question }) => question.cause.conversation === undefined,
          note: output.note,
        })
      : undefined
  await startServers(client, undefined, answering, io, output)
  io.signal.removeEventListener('abort', close)
  const rows = await client.call('servers.list', {})
  const trust = await Promise.all(rows.map(({ name }) => client.call('trust.get', { server: name })))
  const list = rows.map(({ name, connection, tools, resources, templates, prompts }, n) => {
    const server = trust[n]
    return {
      name,
      ...connection,
      ...{ tools, resources, templates, prompts },
      outOfUse: server === undefined ? [] : disabledDefinitions(server),
    }
  })
  const failed = list.some((entry) => 'fixes' in entry)
  // Subscribes before the first output, so that no later change is missed.
  const stop = options.watch === true ? follow(client, output) : undefined
  output.result({ config: file, servers: list }, () => {
    const { palette } = output
    const cells = list.map((entry) => [
      oneLine(entry.name),
      stateText(entry, palette),
      'revision' in entry ? entry.revision : '',
      `${entry.tools}`,
      `${entry.resources}+${entry.templates}`,
      `${entry.prompts}`,
    ])
    const reasons = list.map(stateReason)
    const headings = ['SERVER', 'STATE', 'REVISION', 'TOOLS', 'RESOURCES', 'PROMPTS']
    const heading = palette.dim(file)
    if (cells.length === 0) return `${heading}\n${noServersMessage(file, config)}`
    if (reasons.every((reason) => reason === '')) return `${heading}\n${table(headings, cells, output)}`
    if ((output.columns ?? minReasonColumns) >= minReasonColumns) {
      const whole = cells.map((row, n) => [...row, reasons[n] ?? ''])
      return `${heading}\n${table([...headings, 'REASON'], whole, output)}`
    }
    const below = list.flatMap(({ name }, n) => {
      const lines = wrap(reasons[n] ?? '', (output.columns ?? minReasonColumns) - indent.length)
      return reasons[n] === '' ? [] : ['', palette.bold(oneLine(name)), ...lines.map((line) => indent + line)]
    })
    return [heading, table(headings, cells, output), ...below].join('\n')
  })
  for (const server of trust) for (const line of disabledLines(server)) output.note(line)
  if (stop === undefined)
    return failed ? ExitCode.cannotConnect : hasErrors(config) ? ExitCode.usage : ExitCode.done
  await new Promise<void>((resolve) => io.signal.addEventListener('abort', () => resolve(), { once: true }))
  stop()
  return ExitCode.done
}

/** Prints every change of the files and connections until the returned function is called. */
function follow(client: HostClient, output: Output): () => void {
  let before: View<ServerRow> | undefined
  const ends = [
    onNotice(client, (event) => {
      if (event.type !== 'configuration') return
      if ('problem' in event) return output.row({ problem: event.problem }, oneLine(event.problem))
      for (const [what, names] of Object.entries(event.done)) {
        for (const name of names) output.row({ server: name, config: what }, `${oneLine(name)} ${what}`)
      }
      const { rules } = event
      if (rules !== undefined)
        output.row({ policy: 'changed', rules }, `the rules changed: there are ${rules} now`)
    }),
    client.subscribe('servers', {
      rows(view) {
        for (const [server, { connection }] of view) {
          const known = before?.get(server)?.connection
          if (before === undefined || JSON.stringify(known) === JSON.stringify(connection)) continue
          const reason = 'reason' in connection ? `: ${oneLine(connection.reason)}` : ''
          output.row({ server, ...connection }, `${oneLine(server)} is ${connection.state}${reason}`)
        }
        before = view
      },
    }),
  ]
  return () => {
    for (const end of ends) end()
  }
}
