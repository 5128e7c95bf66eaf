import { createHash } from 'node:crypto'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { dirname, join } from 'node:path'
import { openTerminal } from '../../scripts/terminal/terminal.ts'
import { absentIn, everyCli, forClis, judge, onlyFor, outputOf, summarize } from '../checks.ts'
import { commandOf } from '../clis.ts'
import { closedPort, type ServerEntry } from '../commands.ts'
import { type ConfigurableServer, configurableServer } from '../configurable-server.ts'
import { addressOf } from '../fixtures/base/serve.ts'
import type { ServerBehavior } from '../fixtures/behavior.ts'
import { pause } from '../start-process.ts'
import type { Cli, Script, Verdict, Workspace } from '../types.ts'

const regionServer: ServerBehavior = { name: 'demo', saveVariable: 'REGION', tools: [{ name: 'read' }] }

/** Writes a file below the home folder. */
async function writeInHome(workspace: Workspace, name: string, text: string): Promise<string> {
  const path = join(workspace.home, name)
  await mkdir(dirname(path), { recursive: true })
  await writeFile(path, text)
  return path
}

const json = (value: unknown): string => `${JSON.stringify(value, null, 2)}\n`

/** Writes the files of four applications on Linux, each with one server. */
async function writeApplicationFiles(
  workspace: Workspace,
): Promise<{ server: ConfigurableServer; files: Record<string, string> }> {
  const server = await configurableServer(workspace, regionServer)
  const entry = { command: server.command, args: server.args }
  const toml = `[mcp_servers.from-codex]\ncommand = ${JSON.stringify(server.command)}\nargs = ${JSON.stringify(server.args)}\n`
  const inputs = [{ type: 'promptString', id: 'region', description: 'Which region' }]
  const codeEntry = { type: 'stdio', ...entry, env: { REGION: `\${input:region}` } }
  return {
    server,
    files: {
      'from-codex': await writeInHome(workspace, '.codex/config.toml', `model = "x"\n\n${toml}`),
      'from-code': await writeInHome(
        workspace,
        '.config/Code/User/mcp.json',
        json({ inputs, servers: { 'from-code': codeEntry } }),
      ),
      'from-cursor': await writeInHome(
        workspace,
        '.cursor/mcp.json',
        json({ mcpServers: { 'from-cursor': entry } }),
      ),
      'from-claude': await writeInHome(
        workspace,
        '.config/Claude/claude_desktop_config.json',
        json({ mcpServers: { 'from-claude': entry } }),
      ),
    },
  }
}

async function readsApplicationFiles(workspace: Workspace, cli: Exclude<Cli, 'mcp-use'>): Promise<Verdict> {
  const { files } = await writeApplicationFiles(workspace)
  const checksumBefore = await checksums(files)
  const listArgs = {
    jackfield: ['config', 'list', '--discover'],
    mcporter: ['config', 'list', '--source', 'import'],
  }
  const found: string[] = []
  if (cli === 'jackfield' || cli === 'mcporter') {
    const { stdout } = await workspace.run(cli, listArgs[cli])
    found.push(...Object.keys(files).filter((name) => stdout.includes(name)))
  } else {
    // These clients have no discovery, so they are given each file.
    const runs = Object.entries(files).map(async ([name, file]) => {
      const argv = {
        inspector: ['--config', file, '--method', 'servers/list'],
        mcpdo: ['servers/list', '--config', file],
        wong2: ['--config', file, 'call-tool', `${name}:read`],
      }
      const result = await workspace.run(cli, argv[cli])
      if (result.code === 0) found.push(name)
    })
    await Promise.all(runs)
  }
  if ((await checksums(files)) !== checksumBefore)
    return { kind: 'no', note: 'a file of another application was changed' }
  const missing = Object.keys(files).filter((name) => !found.includes(name))
  return judge([missing.length === 0, `${found.length} of 4 files are read; missing: ${missing.join(', ')}`])
}

async function checksums(files: Record<string, string>): Promise<string> {
  const all = await Promise.all(
    Object.values(files).map(async (file) =>
      createHash('sha256')
        .update(await readFile(file))
        .digest('hex'),
    ),
  )
  return all.join()
}

async function promptsForInput(workspace: Workspace): Promise<Verdict> {
  const { server } = await writeApplicationFiles(workspace)
  // The typed value is stored encrypted, and a workspace has no keychain.
  const env = { HOME: workspace.home, JACKFIELD_KEY_FILE: join(workspace.home, 'key') }
  const command = commandOf('jackfield', ['call', 'from-code', 'read', '--discover'])
  await using terminal = openTerminal(command, { cwd: workspace.cwd, env })
  await terminal.until(/Which region/, { withinMs: 10_000, anywhere: true })
  terminal.type('north')
  terminal.press('enter')
  await Promise.race([terminal.exited, pause(8000)])
  return judge([server.savedVariable() === 'north', `the server received ${server.savedVariable()}`])
}

async function usesInputUnprompted(workspace: Workspace): Promise<Verdict> {
  const { server } = await writeApplicationFiles(workspace)
  await workspace.run('mcporter', ['call', 'from-code.read'])
  const regionValue = server.savedVariable()
  return judge([
    regionValue === undefined,
    `the server was started with "${regionValue}", without asking for the value`,
  ])
}

async function explainsOrigin(workspace: Workspace, cli: 'jackfield' | 'mcporter'): Promise<Verdict> {
  const server = await configurableServer(workspace, regionServer)
  const file = json({ mcpServers: { shop: { command: server.command, args: server.args } } })
  const files = {
    jackfield: { effective: '.mcp.json', shadowed: '.config/jackfield/config.json' },
    mcporter: { effective: 'config/mcporter.json', shadowed: '.mcporter/mcporter.json' },
  }
  const { effective, shadowed } = files[cli]
  await workspace.write(effective, file)
  await writeInHome(workspace, shadowed, file)
  const argv = { jackfield: ['config', 'explain', 'shop'], mcporter: ['list', 'shop', '--verbose'] }
  const result = await workspace.run(cli, argv[cli])
  const isExplained = result.stdout
    .split('\n')
    .some((line) => line.includes(shadowed) && /not used|shadow/.test(line))
  return judge([
    result.stdout.includes(effective) && isExplained,
    `the output does not contain both; ${summarize(result)}`,
  ])
}

/** Unreachable servers, and what the output must say about each. */
const brokenServers = (
  closedPort: number,
): Record<string, { entry: ServerEntry; pattern: RegExp; meaning: string }> => ({
  port: {
    entry: { command: '', args: [], url: `http://127.0.0.1:${closedPort}/mcp` },
    pattern: /refused|nothing listens/i,
    meaning: 'the closed port',
  },
  host: {
    entry: { command: '', args: [], url: 'http://no-such-host.invalid/mcp' },
    pattern: /ENOTFOUND|EAI_AGAIN|\bdns\b|resolv|no such host|not (be )?found.*host/i,
    meaning: 'the unknown host name',
  },
  crash: {
    entry: {
      command: process.execPath,
      args: ['-e', 'console.error("LICENSE_KEY is not set"); process.exit(7)'],
    },
    pattern: /LICENSE_KEY is not set/,
    meaning: 'the message of the crashed program',
  },
})

async function diagnoses(workspace: Workspace, cli: Cli): Promise<Verdict> {
  const servers = Object.entries(brokenServers(await closedPort()))
  const mcpServers = Object.fromEntries(
    servers.map(([name, { entry }]) => [
      name,
      entry.url === undefined
        ? { command: entry.command, args: entry.args }
        : { type: 'streamable-http', url: entry.url },
    ]),
  )
  const file = await workspace.write('servers.json', json({ mcpServers }))
  const notes = await Promise.all(
    servers.map(async ([name, { entry, pattern, meaning }]) => {
      const target =
        entry.url === undefined
          ? ['--stdio', `sh ${await writeCrashScript(workspace, entry)}`]
          : [entry.url, '--no-oauth']
      const argv: Record<Cli, string[]> = {
        jackfield: ['doctor', name, '--config', file],
        inspector: ['--config', file, '--server', name, '--method', 'tools/list'],
        mcpdo: ['connect', name, '--config', file],
        mcporter: ['list', name, '--config', file],
        'mcp-use': ['client', 'connect', name, ...target],
        wong2:
          entry.url === undefined ? ['--config', file, 'call-tool', `${name}:read`] : ['--url', entry.url],
      }
      const result = await workspace.run(cli, argv[cli])
      return pattern.test(outputOf(result)) ? [] : [`${meaning} (${name}: ${summarize(result, 90)})`]
    }),
  )
  const missing = notes.flat()
  return judge([missing.length === 0, `the output does not name ${missing.join(', nor ')}`])
}

/** The step of the diagnosis that fails for each of them. */
const failingSteps: Record<string, string> = { port: 'tcp', host: 'dns', crash: 'start' }

async function reportsStep(workspace: Workspace): Promise<Verdict> {
  const servers = Object.entries(brokenServers(await closedPort()))
  const mcpServers = Object.fromEntries(
    servers.map(
      ([
        name,
        {
          entry: { url, ...program },
        },
      ]) => [name, url === undefined ? program : { url }],
    ),
  )
  const file = await workspace.write('servers.json', json({ mcpServers }))
  const missing: string[] = []
  await Promise.all(
    servers.map(async ([name]) => {
      const result = await workspace.run('jackfield', ['doctor', name, '--config', file])
      const failed = result.stdout.split('\n').findIndex((line) => line.includes(`✗ ${failingSteps[name]}`))
      const advice = result.stdout.split('\n')[failed + 1] ?? ''
      if (failed === -1 || !advice.includes('→')) missing.push(`${name}: ${summarize(result)}`)
    }),
  )
  return judge([missing.length === 0, missing.join('; ')])
}

function writeCrashScript(workspace: Workspace, { command, args }: ServerEntry): Promise<string> {
  return workspace.write(
    'crash.sh',
    `exec ${[command, ...args].map((argument) => `'${argument}'`).join(' ')}\n`,
  )
}

async function installsFromRegistry(workspace: Workspace): Promise<Verdict> {
  const server = await configurableServer(workspace, { ...regionServer, name: 'weather' }, 'http')
  const published = {
    name: 'io.github.ann/weather',
    description: 'Current weather',
    version: '1.4.0',
    remotes: [{ type: 'streamable-http', url: server.url }],
  }
  const registryMeta = { status: 'active', publishedAt: '2026-01-02T03:04:05Z', isLatest: true }
  const entry = { server: published, _meta: { 'io.modelcontextprotocol.registry/official': registryMeta } }
  const registry = createServer((request, response) => {
    const { pathname } = new URL(request.url ?? '/', 'http://registry')
    const isOne = /^\/v0\.1\/servers\/[^/]+\/versions\/latest$/.test(pathname)
    const isList = pathname === '/v0.1/servers'
    response.writeHead(isOne || isList ? 200 : 404, { 'content-type': 'application/json' })
    response.end(JSON.stringify(isOne ? entry : { servers: [entry], metadata: { count: 1 } }))
  })
  await new Promise<void>((resolve) => registry.listen(0, '127.0.0.1', resolve))
  try {
    const url = addressOf(registry.address(), '')
    const searchResult = await workspace.run('jackfield', [
      'registry',
      'search',
      'weather',
      '--registry',
      url,
    ])
    if (!searchResult.stdout.includes(published.name))
      return { kind: 'no', note: `the server is not found; ${summarize(searchResult)}` }
    const result = await workspace.run('jackfield', ['install', published.name, '--yes', '--registry', url])
    const isListed = (await server.received()).some(({ method }) => method === 'tools/list')
    if (result.code !== 0 || !isListed)
      return { kind: 'no', note: `the server was not connected; ${summarize(result)}` }
    const tools = await workspace.run('jackfield', ['tools', 'weather'])
    return judge([
      tools.stdout.includes('read'),
      `the server is not in the configuration; ${summarize(tools)}`,
    ])
  } finally {
    registry.closeAllConnections()
    registry.close()
  }
}

export const scripts: Script[] = [
  {
    id: 'files-of-other-applications',
    capability: 'C14',
    title: 'Use the servers in the files of Codex, VS Code, Cursor and Claude Desktop, unchanged',
    how: 'Four files below the home folder have one server each. All must be read (if the client has no discovery, when it is given the file), and no file may change.',
    checks: forClis(
      ['jackfield', 'inspector', 'mcpdo', 'mcporter', 'wong2'],
      readsApplicationFiles,
      'uses only its own saved servers',
    ),
  },
  {
    id: 'inputs-of-vs-code',
    capability: 'C14',
    title: 'Be asked for the input variables of a VS Code file',
    how: 'The file has an input "region", which an environment variable of the server uses. The server must receive the typed value, or must not be started.',
    checks: onlyFor(
      { jackfield: promptsForInput, mcporter: usesInputUnprompted },
      'does not read files of VS Code',
    ),
  },
  {
    id: 'where-settings-come-from',
    capability: 'C14',
    title: 'See which file defines a server and which definitions it overrides',
    how: 'Two files define the same server. The output must contain both, and say which one is not used.',
    checks: {
      ...forClis(['jackfield', 'mcporter'], explainsOrigin, 'reads one file, so nothing is overridden'),
      'mcp-use': absentIn('mcp-use', 'uses only its own saved servers'),
    },
  },
  {
    id: 'what-is-wrong',
    capability: 'C14',
    title: 'Learn why a server cannot be reached',
    how: 'A closed port, an unknown host name, and a program that crashes with a message on stderr. The output must name each cause. Jackfield runs `doctor`, the others list tools or connect.',
    checks: everyCli(diagnoses),
  },
  {
    id: 'failing-step',
    capability: 'C14',
    title: 'Diagnose a server step by step, with a suggested fix',
    how: 'For the same three servers, the output must name the failing step (TCP, DNS, start), followed by a suggestion.',
    checks: onlyFor(
      {
        jackfield: reportsStep,
        mcporter: {
          kind: 'absent',
          source:
            '`mcporter config doctor --help`: "Validates config files, warns about missing token caches"',
        },
      },
      'no diagnosis of servers',
    ),
  },
  {
    id: 'registry-to-running',
    capability: 'C14',
    title: 'Install a server from a registry with one command',
    how: 'A registry on this machine has one server. A search must find it, and one `install` must add it to the configuration and connect to it.',
    checks: onlyFor({ jackfield: installsFromRegistry }, 'no registry support'),
  },
]
