import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { everyCli, judge, onlyFor, summarize } from '../checks.ts'
import {
  callTool,
  connectMcpdo,
  connectMcpUse,
  listTools,
  type ServerEntry,
  writeConfig,
} from '../commands.ts'
import type {
  Cli,
  FixtureServer,
  ProcessResult,
  ReceivedMessage,
  Script,
  Verdict,
  Workspace,
} from '../types.ts'

const { resolve } = createRequire(import.meta.url)

function officialServer(name: string, ...args: string[]): ServerEntry {
  const folder = dirname(resolve(`@modelcontextprotocol/${name}/package.json`))
  return { command: process.execPath, args: [join(folder, 'dist/index.js'), ...args] }
}

const toolsOfManyServers: Script = {
  id: 'tools-of-many-servers',
  capability: 'C1',
  title: 'List the tools of all configured servers with one command',
  how: 'The configuration has the official everything and filesystem servers and a third one. The output must contain a tool of each.',
  checks: onlyFor(
    {
      jackfield: (workspace) =>
        checkList(workspace, (file) => workspace.run('jackfield', ['tools', '--config', file])),
      mcporter: (workspace) =>
        checkList(workspace, (file) => workspace.run('mcporter', ['list', '--json', '--config', file])),
    },
    'lists the tools of one server at a time',
  ),
}

async function checkList(
  workspace: Workspace,
  list: (file: string) => Promise<ProcessResult>,
): Promise<Verdict> {
  const file = await writeConfig(workspace, {
    everything: officialServer('server-everything', 'stdio'),
    files: officialServer('server-filesystem', workspace.cwd),
    shop: await workspace.fixture('shop'),
  })
  const result = await list(file)
  const missing = ['get-sum', 'read_text_file', 'order'].filter((name) => !result.stdout.includes(name))
  return judge([missing.length === 0, `${missing.join(', ')} missing from the list; ${summarize(result)}`])
}

const expectedArguments = {
  count: 2,
  price: 9.5,
  gift: true,
  code: '007',
  tags: ['a', 'b'],
  to: { city: 'Oslo' },
}
const [tags, to] = [JSON.stringify(expectedArguments.tags), JSON.stringify(expectedArguments.to)]

const typedArguments: Script = {
  id: 'typed-arguments',
  capability: 'C1',
  title: 'Pass tool arguments on the command line with the types of the input schema',
  how: 'An integer, a number, a boolean, a string of digits (007), an array and an object, in the syntax that each help text documents. The server must receive exactly these six values.',
  checks: {
    jackfield: (workspace) =>
      checkArguments(workspace, (file) =>
        workspace.run('jackfield', [
          'call',
          'shop',
          'order',
          ...plainArgs,
          `tags:=${tags}`,
          `to:=${to}`,
          '--config',
          file,
        ]),
      ),
    inspector: (workspace) =>
      checkArguments(workspace, (file) =>
        workspace.run('inspector', [
          ...['--config', file, '--server', 'shop', '--method', 'tools/call', '--tool-name', 'order'],
          ...[...plainArgs, `tags=${tags}`, `to=${to}`].flatMap((pair) => ['--tool-arg', pair]),
        ]),
      ),
    mcpdo: (workspace) =>
      checkArguments(workspace, async (file) => {
        await connectMcpdo(workspace, file)
        const argv = ['count:=2', 'price:=9.5', 'gift:=true', 'code:="007"', `tags:=${tags}`, `to:=${to}`]
        return workspace.run('mcpdo', ['@shop', 'tools/call', 'order', ...argv])
      }),
    mcporter: (workspace) =>
      checkArguments(workspace, (file) =>
        workspace.run('mcporter', [
          'call',
          'shop.order',
          ...plainArgs,
          `tags=${tags}`,
          `to=${to}`,
          '--config',
          file,
        ]),
      ),
    'mcp-use': (workspace) =>
      checkArguments(workspace, async (_file, shop) => {
        await connectMcpUse(workspace, shop)
        const argv = [...plainArgs, `tags:=${tags}`, `to:=${to}`]
        return workspace.run('mcp-use', ['client', 'shop', 'tools', 'call', 'order', ...argv])
      }),
    wong2: (workspace) =>
      checkArguments(workspace, (file) =>
        workspace.run('wong2', [
          '--config',
          file,
          'call-tool',
          'shop:order',
          '--args',
          JSON.stringify(expectedArguments),
        ]),
      ),
  },
}

const plainArgs = ['count=2', 'price=9.5', 'gift=true', 'code=007']

async function checkArguments(
  workspace: Workspace,
  call: (file: string, shop: FixtureServer) => Promise<ProcessResult>,
): Promise<Verdict> {
  const shop = await workspace.fixture('shop')
  const result = await call(await writeConfig(workspace, { shop }), shop)
  const received = lastCallArguments(await shop.received())
  return judge(
    [received !== undefined, `the server was not called; ${summarize(result)}`],
    [hasSameMembers(received, expectedArguments), `the server received ${JSON.stringify(received)}`],
  )
}

function lastCallArguments(messages: readonly ReceivedMessage[]): unknown {
  return messages.findLast(({ method }) => method === 'tools/call')?.params?.['arguments']
}

function hasSameMembers(value: unknown, expected: object): boolean {
  const sorted = (object: object): string =>
    JSON.stringify(Object.entries(object).sort(([a], [b]) => (a < b ? -1 : 1)))
  return typeof value === 'object' && value !== null && sorted(value) === sorted(expected)
}

/** Calls `order` of a stdio server and checks that the server was called and the result printed. */
async function checkCall(workspace: Workspace, cli: Cli, name: string, ...argv: string[]): Promise<Verdict> {
  const shop = await workspace.fixture(name, ...argv)
  const result = await callTool(workspace, cli, shop, ['order', {}])
  const isCalled = lastCallArguments(await shop.received()) !== undefined
  return judge(
    [isCalled, `the tool was not called; ${summarize(result)}`],
    [result.stdout.includes('ordered'), `called, but the result is not printed; ${summarize(result)}`],
  )
}

const statelessOnly: Script = {
  id: 'modern-only-server',
  capability: 'C1',
  title: 'Call a tool of a server that supports only revision 2026-07-28',
  how: 'A stdio server that rejects `initialize`. Its tool must be called and the result printed. If the client has an option for the protocol era, it is set to automatic.',
  checks: everyCli((workspace, cli) => checkCall(workspace, cli, 'one-revision', '2026-07-28')),
}

const oldestOnly: Script = {
  id: 'oldest-server',
  capability: 'C1',
  title: 'Call a tool of a server that supports only revision 2024-11-05',
  how: 'A stdio server that rejects every request before `initialize`. Its tool must be called and the result printed.',
  checks: everyCli((workspace, cli) => checkCall(workspace, cli, 'one-revision', '2024-11-05')),
}

const noisy: Script = {
  id: 'noise-on-stdout',
  capability: 'C1',
  title: 'Use a stdio server that prints log lines to stdout',
  how: 'A server that prints text, blank lines and JSON log lines between its messages. The result of its tool must be printed.',
  checks: everyCli((workspace, cli) => checkCall(workspace, cli, 'noisy')),
}

const sse: Script = {
  id: 'http-sse-server',
  capability: 'C1',
  title: 'List the tools of a server that supports only the HTTP+SSE transport',
  how: 'The client is given the URL of the event stream. The server must receive `tools/list`, and the name of its tool must be printed.',
  checks: everyCli(async (workspace, cli) => {
    const shop = await workspace.fixture('shop', 'sse')
    const output =
      cli === 'wong2'
        ? await listInTerminal(workspace, shop)
        : outputWithName(await listTools(workspace, cli, shop))
    const isRequested = (await shop.received()).some(({ method }) => method === 'tools/list')
    return judge([
      isRequested && output.includes('order'),
      isRequested ? `the tool is not printed; ${output}` : `no \`tools/list\` was received; ${output}`,
    ])
  }),
}

function outputWithName(result: ProcessResult): string {
  return `${result.stdout.includes('order') ? 'order ' : ''}${summarize(result)}`
}

async function listInTerminal(workspace: Workspace, { url = '' }: FixtureServer): Promise<string> {
  const terminal = await workspace.terminal('wong2', ['--sse', url])
  await terminal.until('tool(order)', { withinMs: 10_000 }).catch(() => {})
  return terminal.history()
}

const unresponsive: Script = {
  id: 'server-that-never-answers',
  capability: 'C1',
  title: 'Get an error within ten seconds if a server does not respond',
  how: 'A server that reads its input and never responds, with a timeout of five seconds if the client has such an option. The client must exit with a non-zero exit code and report the timeout.',
  checks: everyCli(async (workspace, cli) => {
    const shop = await workspace.fixture('silent')
    const options = { timeoutMs: 10_500, flags: timeoutFlags(cli) }
    const result =
      cli === 'mcpdo'
        ? await connectMcpdo(workspace, await writeConfig(workspace, { shop }), options)
        : await callTool(workspace, cli, shop, ['order', {}], options)
    const isContacted = (await shop.received()).length > 0
    return judge(
      [isContacted, `the server received nothing; ${summarize(result)}`],
      [!result.timedOut, 'still waiting after ten seconds'],
      [result.code !== 0, `exit code 0 without a response; ${summarize(result)}`],
      [
        /time|answer|respon|longer/i.test(result.stderr + result.stdout),
        `no timeout is reported; ${summarize(result)}`,
      ],
    )
  }),
}

/** The option for the timeout, if there is one. */
function timeoutFlags(cli: Cli): string[] {
  if (cli === 'jackfield') return ['--timeout', '5']
  if (cli === 'inspector' || cli === 'mcpdo') return ['--connect-timeout', '5000']
  return cli === 'mcporter' || cli === 'mcp-use' ? ['--timeout', '5000'] : []
}

const declaredCapabilities: Script = {
  id: 'declares-what-it-answers',
  capability: 'C1',
  title: 'Declare only capabilities that work without a terminal',
  how: 'A call without a terminal, of a tool that sends an input request for each capability that the client declared. Each must get a response, or the client must print how to give one.',
  checks: everyCli(async (workspace, cli) => {
    const server = await workspace.fixture('input-requests')
    const result = await callTool(workspace, cli, server, ['everything', {}])
    const isAnswered = result.stdout.includes('client sent')
    const isHintPrinted = /elicitation\/respond|elicitationPending|--answers FILE/.test(
      result.stdout + result.stderr,
    )
    return judge([isAnswered || isHintPrinted, `a declared capability got no response; ${summarize(result)}`])
  }),
}

export const scripts: Script[] = [
  toolsOfManyServers,
  typedArguments,
  statelessOnly,
  oldestOnly,
  sse,
  noisy,
  unresponsive,
  declaredCapabilities,
]
