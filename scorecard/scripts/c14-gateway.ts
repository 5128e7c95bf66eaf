import { absentIn, forClis, judge, onlyFor, summarize } from '../checks.ts'
import { commandOf, versionOf } from '../clis.ts'
import { connectMcpdo } from '../commands.ts'
import { type ConfigurableServer, configurableServer } from '../configurable-server.ts'
import type { ServerBehavior } from '../fixtures/behavior.ts'
import { RawClient } from '../raw-client.ts'
import type { ProcessResult, RunningProcess, Script, Verdict, Workspace } from '../types.ts'

const json = (value: unknown): string => `${JSON.stringify(value, null, 2)}\n`

/** Contains characters that incorrect encoding changes. */
const requestState = 'opaque=1&ü"\\ / \u2028 ok'

type Era = 'session' | 'stateless'

const askingServer: ServerBehavior = {
  name: 'demo',
  tools: [{ name: 'book', behavior: { kind: 'elicit', message: 'Which seat?', requestState } }],
}

type GatewayCli = 'jackfield' | 'mcporter'

async function behindGateway(
  workspace: Workspace,
  cli: GatewayCli,
  era: Era = 'stateless',
): Promise<{ server: ConfigurableServer; command: [string, ...string[]] }> {
  const server = await configurableServer(workspace, { ...askingServer, era })
  const entry = {
    command: server.command,
    args: server.args,
    ...(cli === 'mcporter' && { lifecycle: 'keep-alive' }),
  }
  const rules = cli === 'jackfield' ? { jackfield: { rules: [{ id: 'all', verdict: 'allow' }] } } : {}
  const file = await workspace.write('servers.json', json({ mcpServers: { demo: entry }, ...rules }))
  const argv = { jackfield: ['gateway', '--config', file], mcporter: ['serve', '--stdio', '--config', file] }
  return { server, command: commandOf(cli, argv[cli]) }
}

async function relaysQuestion(workspace: Workspace, cli: GatewayCli): Promise<Verdict> {
  const { server, command } = await behindGateway(workspace, cli)
  const gateway: RunningProcess = workspace.start(cli, command.slice(commandOf(cli, []).length))
  const client = new RawClient(gateway)
  const params = { name: 'demo__book', arguments: {} }
  const content = { seat: '12A' }
  if ((await client.requestStateless('server/discover')).error === undefined) {
    const { result, error } = await client.requestStateless('tools/call', params)
    const requests = result?.['inputRequests']
    if (typeof requests !== 'object' || requests === null) {
      return { kind: 'no', note: `no elicitation: ${JSON.stringify(result ?? error)}` }
    }
    const inputResponses = Object.fromEntries(
      Object.keys(requests).map((name) => [name, { action: 'accept', content }]),
    )
    await client.requestStateless('tools/call', {
      ...params,
      inputResponses,
      requestState: result?.['requestState'],
    })
  } else {
    await client.initialize({ elicitation: {} })
    const { error } = await client.request('tools/call', params, { content })
    if (error !== undefined) return { kind: 'no', note: `the call failed: ${error.message.slice(0, 160)}` }
  }
  return judgeAnswer(server)
}

/** Checks that the server received the answer and, on 2026-07-28, its own state. */
async function judgeAnswer(server: ConfigurableServer, era: Era = 'stateless'): Promise<Verdict> {
  if (era === 'session') {
    const response = (await server.received()).find(({ id }) => String(id).startsWith('elicitation-'))
    const output = JSON.stringify(response?.result ?? response?.error ?? 'nothing')
    return judge([
      output.includes('"seat":"12A"'),
      `the server of 2025-11-25 received this answer: ${output}`,
    ])
  }
  const calls = (await server.received()).filter(({ method }) => method === 'tools/call')
  const lastParams = calls.at(-1)?.params ?? {}
  if (calls.length === 0) return { kind: 'no', note: 'the server did not receive the call' }
  if (!JSON.stringify(lastParams['inputResponses'] ?? '').includes('"seat":"12A"')) {
    return { kind: 'no', note: 'the server did not receive the answer' }
  }
  return judge([
    lastParams['requestState'] === requestState,
    `the server received this state: ${JSON.stringify(lastParams['requestState'])}`,
  ])
}

/** Writes a configuration with the gateway as the only server. */
function configureGateway(workspace: Workspace, [command, ...args]: [string, ...string[]]): Promise<string> {
  return workspace.write('gateway.json', json({ mcpServers: { gateway: { command, args } } }))
}

function requireInstalled(cli: 'inspector' | 'mcpdo'): void {
  if (versionOf(cli) === undefined)
    throw new Error(`${cli} is not installed, and this script needs it as the client`)
}

async function servesMcpdo(workspace: Workspace, cli: GatewayCli, era: Era): Promise<Verdict> {
  requireInstalled('mcpdo')
  const { server, command } = await behindGateway(workspace, cli, era)
  const gatewayConfig = await configureGateway(workspace, command)
  const connected = await connectMcpdo(workspace, gatewayConfig, { name: 'gateway' })
  if (connected.code !== 0) return { kind: 'no', note: `mcpdo cannot connect; ${summarize(connected)}` }
  const result = await workspace.run('mcpdo', ['@gateway', 'tools/call', 'demo__book', '{}'])
  const id = /elicitation-[\w-]{20,}/.exec(result.stdout)?.[0]
  if (id !== undefined) await workspace.run('mcpdo', ['elicitation/respond', id, 'seat:=12A'])
  return judgeAnswer(server, era)
}

async function servesInspector(workspace: Workspace): Promise<Verdict> {
  requireInstalled('inspector')
  const { server, command } = await behindGateway(workspace, 'jackfield')
  const gatewayConfig = await configureGateway(workspace, command)
  const params = ['--method', 'tools/call', '--tool-name', 'demo__book', '--tool-args-json', '{}']
  const argv = ['--config', gatewayConfig, '--server', 'gateway', '--protocol-era', 'auto', ...params]
  const client = workspace.start('inspector', argv)
  const respondHint = /jackfield respond (\w+) --accept/
  await client.waitFor(respondHint)
  const id = respondHint.exec(client.stderr)?.[1] ?? ''
  await workspace.run('jackfield', [
    'respond',
    id,
    '--accept',
    'seat=12A',
    '--config',
    `${workspace.cwd}/servers.json`,
  ])
  const result: ProcessResult = await client.exit
  if (result.code !== 0 || !result.stdout.includes('12A')) {
    return { kind: 'no', note: `the inspector printed no result; ${summarize(result)}` }
  }
  const verdict = await judgeAnswer(server)
  const note =
    '`mcp-inspector --cli` declares no elicitation, so the question waited in the inbox of Jackfield, whose hint was printed on stderr'
  return verdict.kind === 'yes' ? { kind: 'yes', note } : verdict
}

const noGateway = 'no gateway for other clients'

export const scripts: Script[] = [
  {
    id: 'gateway-relays-question',
    capability: 'C14',
    title: 'Use all configured servers from another client through a gateway, with elicitation',
    how: 'A minimal client calls a tool of a 2026-07-28 server through the gateway and answers its elicitation. The server must receive the answer, and its own `requestState` unchanged.',
    checks: forClis(['jackfield', 'mcporter'], relaysQuestion, noGateway),
  },
  {
    id: 'gateway-for-mcpdo',
    capability: 'C14',
    title: 'Answer elicitations in mcpdo through the gateway, for a server of 2026-07-28',
    how: '`mcpdo` is the client. It must receive the elicitation, and the server must receive its answer and its own `requestState` unchanged.',
    checks: forClis(
      ['jackfield', 'mcporter'],
      (workspace, cli) => servesMcpdo(workspace, cli, 'stateless'),
      noGateway,
    ),
  },
  {
    id: 'gateway-for-mcpdo-session',
    capability: 'C14',
    title: 'Answer elicitations in mcpdo through the gateway, for a server with sessions',
    how: '`mcpdo` is the client, and the server is of 2025-11-25. The client must receive the elicitation, and the server its answer.',
    checks: forClis(
      ['jackfield', 'mcporter'],
      (workspace, cli) => servesMcpdo(workspace, cli, 'session'),
      noGateway,
    ),
  },
  {
    id: 'gateway-for-inspector',
    capability: 'C14',
    title: 'Answer elicitations in the gateway, for a client that does not support them',
    how: '`mcp-inspector --cli`, which supports no elicitation, calls a tool through the gateway. The elicitation is answered by another command, and the inspector must print the result with the answer.',
    checks: onlyFor(
      {
        jackfield: servesInspector,
        mcporter: absentIn('mcporter', '`serve` has no list of open questions'),
      },
      noGateway,
    ),
  },
]
