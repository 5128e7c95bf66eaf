import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { everyCli, judge, onlyFor, summarize } from '../checks.ts'
import { closedPort, connectIfNeeded, type ServerEntry, transportFor, writeConfig } from '../commands.ts'
import { type ConfigurableServer, configurableServer } from '../configurable-server.ts'
import { startFakeModel } from '../fake-model.ts'
import type { ServerBehavior } from '../fixtures/behavior.ts'
import { pause } from '../start-process.ts'
import type { Cli, ProcessResult, ReceivedMessage, Script, Verdict, Workspace } from '../types.ts'

const resultBytes = 5_000_000
/** A line in the second half of the result. */
const middleLine = `line ${resultBytes / 200 + 2} `

const demoServer: ServerBehavior = {
  name: 'demo',
  tools: [
    { name: 'read', behavior: { kind: 'text', text: 'the content of the file' } },
    { name: 'fail', behavior: { kind: 'error', text: 'The tool failed.' } },
    { name: 'hang', behavior: { kind: 'hang' } },
    { name: 'copy', behavior: { kind: 'progress', count: 5, everyMs: 500 } },
    { name: 'print', behavior: { kind: 'lines', bytes: resultBytes } },
  ],
}

/** The arguments of a call of the server `demo` without tool arguments. */
function callArgs(cli: Cli, name: string, file: string): string[] {
  const argv: Record<Cli, string[]> = {
    jackfield: ['call', 'demo', name, '--config', file],
    inspector: ['--config', file, '--server', 'demo', '--method', 'tools/call', '--tool-name', name],
    mcpdo: ['@demo', 'tools/call', name, '{}'],
    mcporter: ['call', `demo.${name}`, '--config', file],
    'mcp-use': ['client', 'demo', 'tools', 'call', name, '{}'],
    wong2: ['--config', file, 'call-tool', `demo:${name}`],
  }
  return argv[cli]
}

/** Creates the server `demo`, connects it if needed, and returns it with its configuration. */
async function connectServer(
  workspace: Workspace,
  cli: Cli,
  behavior = demoServer,
): Promise<{ server: ConfigurableServer; file: string }> {
  const server = await configurableServer(workspace, behavior, transportFor(cli))
  const file = await writeConfig(workspace, { demo: server })
  await connectIfNeeded(workspace, cli, file, { demo: server })
  return { server, file }
}

async function distinguishesFailures(workspace: Workspace, cli: Cli): Promise<Verdict> {
  const { file } = await connectServer(workspace, cli)
  const failingCall = workspace.run(cli, callArgs(cli, 'fail', file))
  // mcpdo allows one connection per name, and the next call uses the same name.
  if (cli === 'mcpdo') await failingCall
  const [failed, unreachable] = await Promise.all([failingCall, callUnreachable(workspace, cli)])
  if (failed.timedOut || unreachable.timedOut) return { kind: 'no', note: 'the command did not exit' }
  if (failed.code === 0) return { kind: 'no', note: 'exit code 0 for a failed tool' }
  if (unreachable.code === 0) return { kind: 'no', note: 'exit code 0 for an unreachable server' }
  return judge([failed.code !== unreachable.code, `exit code ${failed.code} for both`])
}

/** Calls a server that exits at once; for mcp-use, connects to a closed port. */
async function callUnreachable(workspace: Workspace, cli: Cli): Promise<ProcessResult> {
  const exitingServer: ServerEntry = { command: process.execPath, args: ['-e', 'process.exit(7)'] }
  if (cli === 'mcp-use') {
    const url = `http://127.0.0.1:${await closedPort()}/mcp`
    return workspace.run(cli, ['client', 'connect', 'gone', url, '--no-oauth'])
  }
  const file = await workspace.write('gone.json', JSON.stringify({ mcpServers: { demo: exitingServer } }))
  if (cli !== 'mcpdo') return workspace.run(cli, callArgs(cli, 'read', file))
  await workspace.run(cli, ['disconnect', 'demo'])
  return workspace.run(cli, ['connect', 'demo', '--config', file])
}

async function leavesNoProcess(workspace: Workspace, cli: Cli): Promise<Verdict> {
  const pidFile = join(workspace.cwd, 'server.pid')
  const server = await configurableServer(workspace, { ...demoServer, ignoreSignals: pidFile })
  // The shell remains the parent of the server, as with npx.
  const commandLine = [server.command, ...server.args].map((argument) => `'${argument}'`).join(' ')
  const wrapper = await workspace.write('wrapper.sh', `${commandLine}\nexit 0\n`)
  const entry = { command: 'sh', args: [wrapper] }
  const file = await writeConfig(workspace, { demo: entry })
  if (cli === 'mcpdo') await connectIfNeeded(workspace, cli, file, { demo: entry })
  const connect = ['client', 'connect', 'demo', '--stdio', `sh ${wrapper}`]
  const argv = cli === 'mcp-use' ? connect : callArgs(cli, 'read', file)
  const result = await workspace.run(cli, argv, { timeoutMs: 13_000 })
  const expected = cli === 'mcp-use' ? 'Connected' : 'content of the file'
  if (!result.stdout.includes(expected)) return { kind: 'no', note: `no result; ${summarize(result, 80)}` }
  if (result.timedOut) return { kind: 'no', note: 'printed the result, and did not exit within 13 s' }
  if (cli === 'mcpdo' || cli === 'jackfield') await workspace.run(cli, ['daemon', 'stop'])
  const pids = [
    ...new Set([
      ...server.processIds(),
      ...(existsSync(pidFile) ? [Number(readFileSync(pidFile, 'utf8'))] : []),
    ]),
  ]
  if (pids.length === 0) throw new Error('no process of the server is known')
  for (let waited = 0; pids.some(isAlive) && waited < 5000; waited += 100) await pause(100)
  const alive = pids.filter(isAlive)
  return judge([alive.length === 0, 'the server still runs 5 s after the command'])
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    // A zombie has exited, but its parent has not waited for it.
    return !/^\d+ \(.*\) Z/.test(readFileSync(`/proc/${pid}/stat`, 'utf8'))
  } catch {
    return false
  }
}

async function sendsCancellation(workspace: Workspace, cli: Cli): Promise<Verdict> {
  const { server, file } = await connectServer(workspace, cli)
  const running = workspace.start(cli, callArgs(cli, 'hang', file))
  const call = await waitForMessage(server, 'tools/call', 12_000)
  if (call === undefined) return { kind: 'no', note: 'the server did not receive the call' }
  running.signal('SIGINT')
  const cancelled = await waitForMessage(server, 'notifications/cancelled', 3000)
  if (cancelled === undefined) return { kind: 'no', note: 'the server received no cancellation' }
  return judge([cancelled.params?.['requestId'] === call.id, 'another request was cancelled'])
}

async function waitForMessage(
  server: ConfigurableServer,
  method: string,
  timeoutMs: number,
): Promise<ReceivedMessage | undefined> {
  for (let waited = 0; waited <= timeoutMs; waited += 100) {
    const message = (await server.received()).find((one) => one.method === method)
    if (message !== undefined) return message
    await pause(100)
  }
  return undefined
}

async function showsProgress(workspace: Workspace, cli: Cli): Promise<Verdict> {
  const { file } = await connectServer(workspace, cli)
  const terminal = await workspace.terminal(cli, callArgs(cli, 'copy', file))
  try {
    await terminal.until(/file [1-5] is copied|\b[1-4]\/5\b|\b[2468]0 ?%/, {
      withinMs: 13_000,
      anywhere: true,
    })
    return { kind: 'yes' }
  } catch {
    const shown = terminal.history().replace(/\s+/g, ' ').trim()
    const note = shown.includes('all files are copied')
      ? 'only the result is shown'
      : `the screen shows: ${shown.slice(0, 120)}`
    return { kind: 'no', note }
  }
}

async function limitsResult(workspace: Workspace): Promise<Verdict> {
  const server = await configurableServer(workspace, demoServer)
  const mcpServers = { demo: { command: server.command, args: server.args } }
  const jackfield = { rules: [{ id: 'all', verdict: 'allow' }] }
  const file = await workspace.write('servers.json', JSON.stringify({ mcpServers, jackfield }))
  await using model = await startFakeModel(({ role, content }) => {
    if (role !== 'tool') return { call: 'demo__print', arguments: {} }
    const id = /read_result, id \W*([\w-]+)/.exec(content)?.[1]
    if (id === undefined || content.includes(middleLine)) return { say: 'Done.' }
    return { call: 'read_result', arguments: { id, from: resultBytes / 2 } }
  })
  const result = await workspace.run('jackfield', ['chat', '--json', '--config', file], {
    input: 'Print it.\n/quit\n',
    env: model.env,
  })
  const toolMessages = model.received().filter(({ role }) => role === 'tool')
  const lengths = toolMessages.map(({ content }) => content.length)
  if (lengths.length === 0) throw new Error(`the model received no request: ${summarize(result)}`)
  if (Math.max(...lengths) > 100_000) return { kind: 'no', note: `the model received ${lengths} characters` }
  return judge([
    toolMessages.at(-1)?.content.includes(middleLine) ?? false,
    'the model did not receive the line from the middle',
  ])
}

async function printsOnlyJson(workspace: Workspace, cli: Cli): Promise<Verdict> {
  const { file } = await connectServer(workspace, cli, { ...demoServer, logVariable: 'PATH' })
  const json: Record<Cli, string[]> = {
    jackfield: ['--json'],
    inspector: ['--format', 'json'],
    mcpdo: ['--format', 'json'],
    mcporter: ['--output', 'json'],
    'mcp-use': ['--json'],
    wong2: [],
  }
  const result = await workspace.run(cli, [...callArgs(cli, 'copy', file), ...json[cli]])
  try {
    const value: unknown = JSON.parse(result.stdout)
    return judge([
      JSON.stringify(value).includes('all files are copied'),
      `the JSON document does not contain the result; ${summarize(result)}`,
    ])
  } catch {
    return { kind: 'no', note: `stdout is not a JSON document; ${summarize(result)}` }
  }
}

export const scripts: Script[] = [
  {
    id: 'exit-codes',
    capability: 'C13',
    title: 'Distinguish a failed tool from an unreachable server by the exit code',
    how: 'One call returns `isError`, and one goes to a server that exits at once (for mcp-use: to a closed port). Both exit codes must be non-zero, and they must differ.',
    checks: everyCli(distinguishesFailures),
  },
  {
    id: 'nothing-left-running',
    capability: 'C13',
    title: 'Leave no server process running after the command',
    how: 'A server that is started by a shell ignores the end of its input, SIGTERM, SIGINT and SIGHUP. A call (for mcp-use, `client connect`) must succeed, and the server must be gone 5 s after the command (for mcpdo and jackfield: after `daemon stop`).',
    checks: everyCli(leavesNoProcess),
  },
  {
    id: 'interrupt-cancels',
    capability: 'C13',
    title: 'Cancel a call with Ctrl+C so that the server learns of it',
    how: 'The command gets SIGINT during a call. The server must receive `notifications/cancelled` with the id of that request.',
    checks: everyCli(sendsCancellation),
  },
  {
    id: 'progress-shown',
    capability: 'C13',
    title: 'See the progress of a long call',
    how: 'In a terminal, a call of 2.5 s sends five progress notifications with a message. A message, a count or a percentage must be on the screen before the result.',
    checks: everyCli(showsProgress),
  },
  {
    id: 'large-result',
    capability: 'C13',
    title: 'Give a model a part of a result of 5 MB and let it read the rest',
    how: 'The model must receive less than 100,000 characters of the result, and must be able to get a line from the middle.',
    checks: onlyFor({ jackfield: limitsResult }, 'gives no results to a model'),
  },
  {
    id: 'json-alone',
    capability: 'C13',
    title: 'Get the result as a single JSON document on stdout',
    how: 'The server writes to stderr and sends progress. With the option for JSON, stdout must be one JSON document that contains the result.',
    checks: everyCli(printsOnlyJson),
  },
]
