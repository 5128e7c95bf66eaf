import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { forClis, judge, onlyFor, outputOf, summarize } from '../checks.ts'
import { connectIfNeeded } from '../commands.ts'
import { configurableServer } from '../configurable-server.ts'
import type { ServerBehavior } from '../fixtures/behavior.ts'
import type { Cli, ProcessResult, Script, Verdict, Workspace } from '../types.ts'

const token = 'tok-5up3r-pr1vate-9471'

const tokenServer: ServerBehavior = {
  name: 'demo',
  logVariable: 'DEMO_TOKEN',
  saveVariable: 'DEMO_TOKEN',
  tools: [
    { name: 'token', description: 'Returns the token.', behavior: { kind: 'variable', name: 'DEMO_TOKEN' } },
  ],
}

/** The files below a folder that contain the token. */
function filesWithToken(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name))
    .filter((path) => readFileSync(path).includes(token))
    .map((path) => path.slice(folder.length + 1))
}

/** Whether the token was on the command line of a process of the workspace while `body` ran. */
async function wasOnCommandLine(workspace: Workspace, body: () => Promise<unknown>): Promise<boolean> {
  let wasSeen = false
  const inspectProcesses = (): void => {
    for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
      try {
        const commandLine = readFileSync(`/proc/${pid}/cmdline`, 'utf8')
        wasSeen ||= commandLine.includes(token) && commandLine.includes(workspace.cwd)
      } catch {
        // The process has exited.
      }
    }
  }
  const timer = setInterval(inspectProcesses, 100)
  await body().finally(() => clearInterval(timer))
  return wasSeen
}

type ConfigCli = Exclude<Cli, 'mcp-use'>

async function hidesToken(workspace: Workspace, cli: ConfigCli): Promise<Verdict> {
  const server = await configurableServer(workspace, tokenServer)
  const { command, args } = server
  const mcpServers = { demo: { command, args, env: { DEMO_TOKEN: token } } }
  const file = await workspace.write('servers.json', JSON.stringify({ mcpServers }))
  const inspector = ['--config', file, '--server', 'demo', '--method']
  const showArgs: Record<ConfigCli, string[] | undefined> = {
    jackfield: ['config', 'explain', 'demo', '--config', file],
    inspector: [...inspector, 'servers/show'],
    mcpdo: ['servers/show', 'demo', '--config', file],
    mcporter: ['config', 'get', 'demo', '--config', file],
    wong2: undefined,
  }
  const callArgs: Record<ConfigCli, string[]> = {
    jackfield: ['call', 'demo', 'token', '-v', '--config', file],
    inspector: [...inspector, 'tools/call', '--tool-name', 'token'],
    mcpdo: ['@demo', 'tools/call', 'token'],
    mcporter: ['call', 'demo.token', '--log-level', 'debug', '--config', file],
    wong2: ['--config', file, 'call-tool', 'demo:token'],
  }
  const leaks: string[] = []
  const wasListed = await wasOnCommandLine(workspace, async () => {
    const show = showArgs[cli]
    if (show !== undefined && outputOf(await workspace.run(cli, show)).includes(token)) {
      leaks.push(
        `\`${show.filter((argument) => argument !== file && argument !== '--config').join(' ')}\` prints the token`,
      )
    }
    await connectIfNeeded(workspace, cli, file, { demo: server })
    const result = await workspace.run(cli, callArgs[cli])
    if (result.stdout.includes(token)) leaks.push('the result contains the token')
    if (result.stderr.includes(token)) leaks.push('the stderr of the server is printed with the token')
  })
  if (server.savedVariable() !== token) throw new Error('the server did not receive the token')
  if (wasListed) leaks.push('the token is in the process list')
  const files = filesWithToken(workspace.home)
  if (files.length > 0) leaks.push(`the token is stored in ~/${files[0]}`)
  return judge([leaks.length === 0, leaks.join('; ')])
}

async function hidesBearerToken(workspace: Workspace): Promise<Verdict> {
  const server = await configurableServer(workspace, { name: 'demo', tools: [{ name: 'read' }] }, 'http')
  const connect = ['client', 'connect', 'demo', server.url ?? '', '--auth', token]
  const results: ProcessResult[] = []
  const wasListed = await wasOnCommandLine(workspace, async () => {
    for (const argv of [connect, ['client', 'list'], ['client', 'demo', 'tools', 'call', 'read', '{}']]) {
      results.push(await workspace.run('mcp-use', argv))
    }
  })
  if (!(await server.received()).some(({ raw }) => raw.includes('tools/call'))) {
    throw new Error(`the server was not called: ${results.map((result) => summarize(result)).join(' ')}`)
  }
  const leaks = results.some((result) => outputOf(result).includes(token))
    ? ['the output contains the token']
    : []
  if (wasListed) leaks.push('the token is in the process list')
  const files = filesWithToken(workspace.home)
  if (files.length > 0) leaks.push(`the token is stored unencrypted in ~/${files[0]}`)
  return judge([leaks.length === 0, leaks.join('; ')])
}

/** A workspace has no keychain: the clients use the stores that they document for machines without one. */
async function keepsSecretInStore(
  workspace: Workspace,
  cli: 'jackfield' | 'inspector' | 'mcpdo',
): Promise<Verdict> {
  const { logVariable: _, ...behavior } = tokenServer
  const server = await configurableServer(workspace, behavior)
  const { command, args } = server
  let file: string
  let result: ProcessResult
  let note: string | undefined
  if (cli === 'jackfield') {
    const env = { JACKFIELD_KEY_FILE: join(workspace.home, 'key') }
    const stored = await workspace.run(cli, ['secret', 'set', 'demo-token'], { input: `${token}\n`, env })
    if (stored.code !== 0) return { kind: 'no', note: `the token is not stored; ${summarize(stored)}` }
    const mcpServers = { demo: { command, args, env: { DEMO_TOKEN: `\${secret:demo-token}` } } }
    file = await workspace.write('servers.json', JSON.stringify({ mcpServers }))
    result = await workspace.run(cli, ['call', 'demo', 'token', '--config', file], { env })
  } else {
    file = await workspace.write('catalog.json', JSON.stringify({ mcpServers: {} }))
    const env = { MCP_INSPECTOR_SECRET_STORE: 'file', MCP_INSPECTOR_SECRET_KEY: '0123456789abcdef'.repeat(4) }
    const catalog = ['--catalog', file]
    const add = [...catalog, '--method', 'servers/add', '--server', 'demo', '-e', `DEMO_TOKEN=${token}`]
    const added = await workspace.run('inspector', [...add, command, ...args], { env })
    if (added.code !== 0) return { kind: 'no', note: `the token is not stored; ${summarize(added)}` }
    const call = [...catalog, '--server', 'demo', '--method', 'tools/call', '--tool-name', 'token']
    if (cli === 'mcpdo') await workspace.run(cli, [...catalog, 'connect', 'demo'], { env })
    result = await workspace.run(cli, cli === 'mcpdo' ? ['@demo', 'tools/call', 'token'] : call, { env })
    note = 'the token is passed on a command line once (`servers/add -e`)'
  }
  if (server.savedVariable() !== token)
    return { kind: 'no', note: `the server did not receive the token; ${summarize(result)}` }
  const files = [
    ...filesWithToken(workspace.home),
    ...(readFileSync(file, 'utf8').includes(token) ? [file] : []),
  ]
  if (files.length > 0) return { kind: 'no', note: `the token is stored unencrypted in ${files[0]}` }
  return { kind: 'yes', ...(note !== undefined && { note }) }
}

async function asksBeforeDataLeaves(workspace: Workspace): Promise<Verdict> {
  const mail = await configurableServer(workspace, {
    name: 'mail',
    tools: [{ name: 'read', behavior: { kind: 'text', text: 'The diagnosis is confidential.' } }],
  })
  const web = await configurableServer(workspace, {
    name: 'web',
    tools: [
      { name: 'post', annotations: { openWorldHint: true }, behavior: { kind: 'text', text: 'Posted.' } },
    ],
  })
  const turns = [
    { call: [{ name: 'mail__read', arguments: {} }] },
    { call: [{ name: 'web__post', arguments: {} }] },
  ]
  const model = await workspace.write('model.json', JSON.stringify({ turns: [...turns, { say: 'Done.' }] }))
  const converse = async (labels: string[]): Promise<ProcessResult> => {
    const mcpServers = {
      mail: { command: mail.command, args: mail.args, labels },
      web: { command: web.command, args: web.args },
    }
    const jackfield = { rules: [{ id: 'all', verdict: 'allow' }] }
    const file = await workspace.write('servers.json', JSON.stringify({ mcpServers, jackfield }))
    const argv = ['chat', '--json', '--model', `script:${model}`, '--config', file]
    return workspace.run('jackfield', argv, { input: 'Read my mail and post it.\n/quit\n' })
  }
  const posts = async (): Promise<number> =>
    (await web.received()).filter(({ method }) => method === 'tools/call').length
  const unlabelled = await converse([])
  if ((await posts()) !== 1) throw new Error(`not called without a label either: ${summarize(unlabelled)}`)
  const labelled = await converse(['private'])
  if ((await posts()) !== 1)
    return { kind: 'no', note: 'the call to the outside service was sent without a question' }
  return judge([/label/.test(outputOf(labelled)), `no reason is given; ${summarize(labelled)}`])
}

export const scripts: Script[] = [
  {
    id: 'secret-stays-unseen',
    capability: 'C11',
    title: 'Keep a token of the configuration out of output, files and process lists',
    how: 'The configuration is printed, and a tool is called whose server writes its token to stderr and returns it. The token must not be in the output, in a file below the home folder or on a command line. For mcp-use, which has no configuration of programs, it is a bearer token.',
    checks: {
      ...forClis(
        ['jackfield', 'inspector', 'mcpdo', 'mcporter', 'wong2'],
        hidesToken,
        'no configuration of servers',
      ),
      'mcp-use': hidesBearerToken,
    },
  },
  {
    id: 'secret-by-reference',
    capability: 'C11',
    title: 'Store a token outside of the configuration, encrypted',
    how: 'The token is put into the secret store of the client. The server must receive it, and neither the configuration nor a file below the home folder may contain it unencrypted.',
    checks: {
      ...forClis(['jackfield', 'inspector', 'mcpdo'], keepsSecretInStore, 'no secret store'),
      mcporter: {
        kind: 'absent',
        source:
          'README.md of mcporter: values come from environment variables; `vault` stores OAuth tokens only',
      },
    },
  },
  {
    id: 'private-data-leaves-asked',
    capability: 'C11',
    title: 'Be asked before private data is sent to an outside service',
    how: 'A model reads from one server and then calls a tool of another that reaches outside. A rule allows both. If the first server is labelled as private, the second call must not be sent without a question; without the label it must be sent.',
    checks: onlyFor({ jackfield: asksBeforeDataLeaves }, 'no conversations and no labels for servers'),
  },
]
