import { McpError } from '@jackfield/sdk'
import { type Client, type ClientTransportFactory, type ConnectOptions, connect } from '@jackfield/sdk/client'
import { reasonOf } from '../../shared/text.ts'
import { everyKind, noLists, refreshLists } from '../connections/lists.ts'
import { Fault, type Finding } from './chart.ts'

/** A connection that was tried, and what was noticed on the way. */
export interface Tried {
  client: Client | undefined
  error: unknown
  warnings: string[]
}

/** Connects, whatever comes of it. */
export async function tryToConnect(target: ClientTransportFactory, options: ConnectOptions): Promise<Tried> {
  const warnings: string[] = []
  try {
    const client = await connect(target, { ...options, onWarning: (message) => warnings.push(message) })
    return { client, error: undefined, warnings }
  } catch (error) {
    return { client: undefined, error, warnings }
  }
}

/** Whether the process runs. */
export function judgeStart({ error }: Tried, said: string): { finding: Finding; found: true } {
  if (!(error instanceof McpError)) return { finding: { message: 'it runs' }, found: true }
  const { code, details, message } = error
  if (code === 'CONNECT_FAILED' && !('exitCode' in details))
    throw new Fault(message, 'Start it by hand in a terminal, where it says more.')
  const ended = /exited with code|was ended by|closed its/.test(message)
  if (!ended) return { finding: { message: 'it runs' }, found: true }
  const last = said.trim().split('\n').at(-1) ?? ''
  const fix =
    last === ''
      ? 'Start it by hand in a terminal, where it says more.'
      : 'Its output on stderr says why. It may want an argument, a variable in "env", or a package.'
  throw new Fault(message, fix)
}

/** Whether it writes messages and nothing else. */
export function judgeOutput({ warnings }: Tried): { finding: Finding; found: true } {
  const noise = warnings.filter((warning) => warning.startsWith('Ignored output that is not a message'))
  const [first] = noise
  if (first === undefined) return { finding: { message: 'nothing but messages' }, found: true }
  const times = noise.length === 1 ? 'Once' : `${noise.length} times`
  throw new Fault(
    `it writes to stdout what is no message. ${times}, first: ${first.replace(/^Ignored output that is not a message /, '')}`,
    'Its logs belong on stderr: look for an option that makes it quiet, or tell its author.',
  )
}

/** Whether both sides agree on a revision. */
export function judgeHandshake({ client, error }: Tried): { finding: Finding; found: Client } {
  if (client !== undefined) {
    const { info, era, revision } = client.server
    const who = info === undefined ? 'the server' : `${info.name} ${info.version}`
    const kind = era === 'stateless' ? 'stateless' : 'with a session'
    return { finding: { message: `${who} speaks ${revision}, ${kind}` }, found: client }
  }
  throw new Fault(reasonOf(error), handshakeAdvice(error))
}

function handshakeAdvice(error: unknown): string {
  if (error instanceof McpError) {
    if (error.code === 'TIMEOUT')
      return 'It runs but says nothing. Is this an MCP server, and does it wait for something, such as a login?'
    if (error.code === 'VERSION_MISMATCH') return 'It speaks no revision that is known here. Update it.'
    if (error.code === 'HTTP') return 'Check the path of its address, and its log.'
    if (error.code === 'UNAUTHORIZED') return 'Sign in, or put a token into "headers".'
  }
  return 'It answers, but not in the words of the protocol. Tell its author what stands above.'
}

/** Whether everything it offers can be listed. */
export async function judgeLists(
  client: Client,
  withinMs: number,
): Promise<{ finding: Finding; found: true }> {
  const { lists, problems } = await refreshLists(client, noLists, everyKind, withinMs)
  const [problem] = problems.values()
  if (problem !== undefined)
    throw new Fault(problem.reason, 'It says that it has this list, but does not give it. Tell its author.')
  const { tools, prompts, resources, templates } = lists
  const message = [
    counted(tools.length, 'tool'),
    counted(prompts.length, 'prompt'),
    counted(resources.length, 'resource'),
    counted(templates.length, 'template'),
  ].join(', ')
  const nothing = tools.length + prompts.length + resources.length + templates.length === 0
  return {
    finding: {
      message,
      ...(nothing && {
        note: true,
        fix: 'It offers nothing at all. Does it want an option that chooses what it offers?',
      }),
    },
    found: true,
  }
}

function counted(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? '' : 's'}`
}
