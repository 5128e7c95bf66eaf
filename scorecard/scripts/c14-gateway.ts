import type { Part } from '../fixtures/part.ts'
import { LinePeer } from '../line-peer.ts'
import { decided, noneHas, type Playing, playing, without } from '../playing.ts'
import { commandOf, versionOf } from '../tools.ts'
import type { Desk, Ran, Running, Script, Verdict } from '../types.ts'
import { saying } from '../with.ts'

const json = (value: unknown): string => `${JSON.stringify(value, null, 2)}\n`

/** Characters that are easily changed on the way. */
const state = 'opaque=1&ü"\\ / \u2028 ok'

type Era = 'session' | 'modern'

const asking: Part = {
  name: 'den',
  tools: [{ name: 'book', does: { kind: 'ask', message: 'Which seat?', state } }],
}

type Gateway = 'jackfield' | 'mcporter'

async function behindGateway(
  desk: Desk,
  tool: Gateway,
  era: Era = 'modern',
): Promise<{ den: Playing; command: [string, ...string[]] }> {
  const den = await playing(desk, { ...asking, era })
  const entry = {
    command: den.command,
    args: den.args,
    ...(tool === 'mcporter' && { lifecycle: 'keep-alive' }),
  }
  const more = tool === 'jackfield' ? { jackfield: { rules: [{ id: 'all', verdict: 'allow' }] } } : {}
  const file = await desk.write('servers.json', json({ mcpServers: { den: entry }, ...more }))
  const words = { jackfield: ['gateway', '--config', file], mcporter: ['serve', '--stdio', '--config', file] }
  return { den, command: commandOf(tool, words[tool]) }
}

async function relays(desk: Desk, tool: Gateway): Promise<Verdict> {
  const { den, command } = await behindGateway(desk, tool)
  const gateway: Running = desk.start(tool, command.slice(commandOf(tool, []).length))
  const peer = new LinePeer(gateway)
  const call = { name: 'den__book', arguments: {} }
  const content = { seat: '12A' }
  if ((await peer.modern('server/discover')).error === undefined) {
    const { result, error } = await peer.modern('tools/call', call)
    const requests = result?.['inputRequests']
    if (typeof requests !== 'object' || requests === null) {
      return { kind: 'no', note: `no question comes: ${JSON.stringify(result ?? error)}` }
    }
    const inputResponses = Object.fromEntries(
      Object.keys(requests).map((name) => [name, { action: 'accept', content }]),
    )
    await peer.modern('tools/call', { ...call, inputResponses, requestState: result?.['requestState'] })
  } else {
    await peer.session()
    const { error } = await peer.request('tools/call', call, content)
    if (error !== undefined) return { kind: 'no', note: `the call fails: ${error.message.slice(0, 160)}` }
  }
  return answered(den)
}

/** Whether the server got its answer, and where it is of 2026-07-28, its own state as it was. */
async function answered(den: Playing, era: Era = 'modern'): Promise<Verdict> {
  if (era === 'session') {
    const answer = (await den.seen()).find(({ id }) => String(id).startsWith('ask-'))
    const said = JSON.stringify(answer?.result ?? answer?.error ?? 'nothing')
    return decided(said.includes('"seat":"12A"'), `the server of 2025-11-25 gets as its answer: ${said}`)
  }
  const calls = (await den.seen()).filter(({ method }) => method === 'tools/call')
  const last = calls.at(-1)?.params ?? {}
  if (calls.length === 0) return { kind: 'no', note: 'the call does not reach the server' }
  if (!JSON.stringify(last['inputResponses'] ?? '').includes('"seat":"12A"')) {
    return { kind: 'no', note: 'the answer does not reach the server' }
  }
  return decided(
    last['requestState'] === state,
    `its state came back as ${JSON.stringify(last['requestState'])}`,
  )
}

/** A configuration in which the gateway is the one server. */
function frontOf(desk: Desk, [command, ...args]: [string, ...string[]]): Promise<string> {
  return desk.write('front.json', json({ mcpServers: { mine: { command, args } } }))
}

function needs(tool: 'inspector' | 'mcpdo'): void {
  if (versionOf(tool) === undefined) throw new Error(`${tool} is not installed, and is the client here`)
}

async function servesMcpdo(desk: Desk, tool: Gateway, era: Era): Promise<Verdict> {
  needs('mcpdo')
  const { den, command } = await behindGateway(desk, tool, era)
  const front = await frontOf(desk, command)
  const joined = await desk.run('mcpdo', ['connect', 'mine', '--config', front, '--era', 'auto'])
  if (joined.code !== 0) return { kind: 'no', note: `mcpdo cannot connect; ${saying(joined)}` }
  const ran = await desk.run('mcpdo', ['@mine', 'tools/call', 'den__book', '{}'])
  const id = /elicitation-[\w-]{20,}/.exec(ran.stdout)?.[0]
  if (id !== undefined) await desk.run('mcpdo', ['elicitation/respond', id, 'seat:=12A'])
  return answered(den, era)
}

async function servesInspector(desk: Desk): Promise<Verdict> {
  needs('inspector')
  const { den, command } = await behindGateway(desk, 'jackfield')
  const front = await frontOf(desk, command)
  const call = ['--method', 'tools/call', '--tool-name', 'den__book', '--tool-args-json', '{}']
  const words = ['--config', front, '--server', 'mine', '--protocol-era', 'auto', ...call]
  const client = desk.start('inspector', words)
  const asked = /jackfield respond (\w+) --accept/
  await client.until(asked)
  const id = asked.exec(client.stderr)?.[1] ?? ''
  await desk.run('jackfield', ['respond', id, '--accept', 'seat=12A', '--config', `${desk.cwd}/servers.json`])
  const ran: Ran = await client.ended
  if (ran.code !== 0 || !ran.stdout.includes('12A')) {
    return { kind: 'no', note: `the call does not come back; ${saying(ran)}` }
  }
  const verdict = await answered(den)
  const note =
    '`mcp-inspector --cli` cannot be asked itself: it declares no elicitation, so the question waited in Jackfield’s inbox, whose hint it showed on stderr'
  return verdict.kind === 'yes' ? { kind: 'yes', note } : verdict
}

const noGateway = 'serves nothing to other clients'

/** The part of the scripts that is about the gateway. */
export const gatewayScripts: Script[] = [
  {
    id: 'gateway-relays-question',
    capability: 'C14',
    title: 'Show my servers to another client as one, and have it asked what they ask.',
    how: 'A client by hand calls a tool of a 2026-07-28 server through the gateway and answers its question: the server must get the answer, and its own `requestState` back byte for byte.',
    tools: {
      ...noneHas(noGateway),
      jackfield: (desk) => relays(desk, 'jackfield'),
      mcporter: (desk) => relays(desk, 'mcporter'),
    },
  },
  {
    id: 'gateway-for-mcpdo',
    capability: 'C14',
    title: 'Have a client that others wrote asked through the gateway, by a server of 2026-07-28.',
    how: '`mcpdo` is the client: it has to be asked, and what it answers has to reach the server, with the server’s own state byte for byte.',
    tools: {
      ...noneHas(noGateway),
      jackfield: (desk) => servesMcpdo(desk, 'jackfield', 'modern'),
      mcporter: (desk) => servesMcpdo(desk, 'mcporter', 'modern'),
    },
  },
  {
    id: 'gateway-for-mcpdo-session',
    capability: 'C14',
    title: 'Have a client that others wrote asked through the gateway, by a server with sessions.',
    how: '`mcpdo` is the client and the server of 2025-11-25: it has to be asked, and what it answers has to reach the server.',
    tools: {
      ...noneHas(noGateway),
      jackfield: (desk) => servesMcpdo(desk, 'jackfield', 'session'),
      mcporter: (desk) => servesMcpdo(desk, 'mcporter', 'session'),
    },
  },
  {
    id: 'gateway-for-inspector',
    capability: 'C14',
    title: 'Use a client that cannot be asked through the gateway, and answer in its place.',
    how: '`mcp-inspector --cli` calls through the gateway, which leaves the question to the person: answered by another command, the call has to come back to the inspector with the answer.',
    tools: {
      ...noneHas(noGateway),
      mcporter: without('mcporter', '`serve` has no place where questions wait'),
      jackfield: servesInspector,
    },
  },
]
