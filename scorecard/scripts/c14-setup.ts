import { createHash } from 'node:crypto'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { dirname, join } from 'node:path'
import { openTerminal } from '../../scripts/terminal/terminal.ts'
import { addressOf } from '../fixtures/base/serve.ts'
import type { Part } from '../fixtures/part.ts'
import { allOf, closedPort, decided, noneHas, type Playing, playing, without } from '../playing.ts'
import { commandOf } from '../tools.ts'
import type { Desk, Script, Tool, Verdict } from '../types.ts'
import { type Entry, saying } from '../with.ts'
import { gatewayScripts } from './c14-gateway.ts'

const look: Part = { name: 'den', notes: 'REGION', tools: [{ name: 'look' }] }

/** Writes a file below the home folder. */
async function atHome(desk: Desk, name: string, text: string): Promise<string> {
  const path = join(desk.home, name)
  await mkdir(dirname(path), { recursive: true })
  await writeFile(path, text)
  return path
}

const json = (value: unknown): string => `${JSON.stringify(value, null, 2)}\n`

/** The files of four applications, as they write them on Linux, each with a server of its own. */
async function otherFiles(desk: Desk): Promise<{ den: Playing; files: Record<string, string> }> {
  const den = await playing(desk, look)
  const entry = { command: den.command, args: den.args }
  const toml = `[mcp_servers.from-codex]\ncommand = ${JSON.stringify(den.command)}\nargs = ${JSON.stringify(den.args)}\n`
  const inputs = [{ type: 'promptString', id: 'region', description: 'Which region' }]
  const coded = { type: 'stdio', ...entry, env: { REGION: `\${input:region}` } }
  return {
    den,
    files: {
      'from-codex': await atHome(desk, '.codex/config.toml', `model = "x"\n\n${toml}`),
      'from-code': await atHome(
        desk,
        '.config/Code/User/mcp.json',
        json({ inputs, servers: { 'from-code': coded } }),
      ),
      'from-cursor': await atHome(desk, '.cursor/mcp.json', json({ mcpServers: { 'from-cursor': entry } })),
      'from-claude': await atHome(
        desk,
        '.config/Claude/claude_desktop_config.json',
        json({ mcpServers: { 'from-claude': entry } }),
      ),
    },
  }
}

async function readsOthers(desk: Desk, tool: Exclude<Tool, 'mcp-use'>): Promise<Verdict> {
  const { files } = await otherFiles(desk)
  const before = await sums(files)
  const all = {
    jackfield: ['config', 'list', '--discover'],
    mcporter: ['config', 'list', '--source', 'import'],
  }
  const found: string[] = []
  if (tool === 'jackfield' || tool === 'mcporter') {
    const { stdout } = await desk.run(tool, all[tool])
    found.push(...Object.keys(files).filter((name) => stdout.includes(name)))
  } else {
    // Each file is named, since nothing is looked for.
    const runs = Object.entries(files).map(async ([name, file]) => {
      const words = {
        inspector: ['--config', file, '--method', 'servers/list'],
        mcpdo: ['servers/list', '--config', file],
        wong2: ['--config', file, 'call-tool', `${name}:look`],
      }
      const ran = await desk.run(tool, words[tool])
      if (ran.code === 0) found.push(name)
    })
    await Promise.all(runs)
  }
  if ((await sums(files)) !== before) return { kind: 'no', note: 'a file of another application was changed' }
  const missing = Object.keys(files).filter((name) => !found.includes(name))
  return decided(missing.length === 0, `${found.length} of 4 are read, not those ${missing.join(', ')}`)
}

async function sums(files: Record<string, string>): Promise<string> {
  const all = await Promise.all(
    Object.values(files).map(async (file) =>
      createHash('sha256')
        .update(await readFile(file))
        .digest('hex'),
    ),
  )
  return all.join()
}

async function asksForInput(desk: Desk): Promise<Verdict> {
  const { den } = await otherFiles(desk)
  // What is typed is kept sealed, and there is no keychain at a desk.
  const env = { HOME: desk.home, JACKFIELD_KEY_FILE: join(desk.home, 'key') }
  const command = commandOf('jackfield', ['call', 'from-code', 'look', '--discover'])
  await using terminal = openTerminal(command, { cwd: desk.cwd, env })
  await terminal.until(/Which region/, { withinMs: 10_000, anywhere: true })
  terminal.type('north')
  terminal.press('enter')
  await Promise.race([terminal.exited, pause(8000)])
  return decided(den.noted() === 'north', `the server was given ${den.noted()}`)
}

async function passesInput(desk: Desk): Promise<Verdict> {
  const { den } = await otherFiles(desk)
  await desk.run('mcporter', ['call', 'from-code.look'])
  const given = den.noted()
  return decided(given === undefined, `the server was started with "${given}", which nobody typed`)
}

async function saysWhere(desk: Desk, tool: 'jackfield' | 'mcporter'): Promise<Verdict> {
  const den = await playing(desk, look)
  const file = json({ mcpServers: { shop: { command: den.command, args: den.args } } })
  const places = {
    jackfield: { used: '.mcp.json', other: '.config/jackfield/config.json' },
    mcporter: { used: 'config/mcporter.json', other: '.mcporter/mcporter.json' },
  }
  const { used, other } = places[tool]
  await desk.write(used, file)
  await atHome(desk, other, file)
  const words = { jackfield: ['config', 'explain', 'shop'], mcporter: ['list', 'shop', '--verbose'] }
  const ran = await desk.run(tool, words[tool])
  const told = ran.stdout.split('\n').some((line) => line.includes(other) && /not used|shadow/.test(line))
  return decided(ran.stdout.includes(used) && told, `it does not say both; ${saying(ran)}`)
}

/** Servers that cannot be had, and what has to be said about each. */
const broken = (closedPort: number): Record<string, { entry: Entry; says: RegExp; what: string }> => ({
  port: {
    entry: { command: '', args: [], url: `http://127.0.0.1:${closedPort}/mcp` },
    says: /refused|nothing listens/i,
    what: 'that nothing listens on the port',
  },
  host: {
    entry: { command: '', args: [], url: 'http://no-such-host.invalid/mcp' },
    says: /ENOTFOUND|EAI_AGAIN|\bdns\b|resolv|no such host|not (be )?found.*host/i,
    what: 'that the name has no address',
  },
  crash: {
    entry: {
      command: process.execPath,
      args: ['-e', 'console.error("LICENSE_KEY is not set"); process.exit(7)'],
    },
    says: /LICENSE_KEY is not set/,
    what: 'what the program said before it crashed',
  },
})

async function diagnoses(desk: Desk, tool: Tool): Promise<Verdict> {
  const servers = Object.entries(broken(await closedPort()))
  const mcpServers = Object.fromEntries(
    servers.map(([name, { entry }]) => [
      name,
      entry.url === undefined
        ? { command: entry.command, args: entry.args }
        : { type: 'streamable-http', url: entry.url },
    ]),
  )
  const file = await desk.write('servers.json', json({ mcpServers }))
  const missed: string[] = []
  await Promise.all(
    servers.map(async ([name, { entry, says, what }]) => {
      const target =
        entry.url === undefined ? ['--stdio', `sh ${await crashing(desk, entry)}`] : [entry.url, '--no-oauth']
      const words: Record<Tool, string[]> = {
        jackfield: ['doctor', name, '--config', file],
        inspector: ['--config', file, '--server', name, '--method', 'tools/list'],
        mcpdo: ['connect', name, '--config', file],
        mcporter: ['list', name, '--config', file],
        'mcp-use': ['client', 'connect', name, ...target],
        wong2:
          entry.url === undefined ? ['--config', file, 'call-tool', `${name}:look`] : ['--url', entry.url],
      }
      const ran = await desk.run(tool, words[tool])
      if (!says.test(allOf(ran))) missed.push(`${what} (${name}: ${saying(ran, 90)})`)
    }),
  )
  return decided(missed.length === 0, `it does not say ${missed.join(', nor ')}`)
}

/** Which step of the examination has to be named for each of them. */
const steps: Record<string, string> = { port: 'tcp', host: 'dns', crash: 'start' }

async function namesStep(desk: Desk): Promise<Verdict> {
  const servers = Object.entries(broken(await closedPort()))
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
  const file = await desk.write('servers.json', json({ mcpServers }))
  const missed: string[] = []
  await Promise.all(
    servers.map(async ([name]) => {
      const ran = await desk.run('jackfield', ['doctor', name, '--config', file])
      const failed = ran.stdout.split('\n').findIndex((line) => line.includes(`✗ ${steps[name]}`))
      const advice = ran.stdout.split('\n')[failed + 1] ?? ''
      if (failed === -1 || !advice.includes('→')) missed.push(`${name}: ${saying(ran)}`)
    }),
  )
  return decided(missed.length === 0, missed.join('; '))
}

function crashing(desk: Desk, { command, args }: Entry): Promise<string> {
  return desk.write('crash.sh', `exec ${[command, ...args].map((word) => `'${word}'`).join(' ')}\n`)
}

async function installs(desk: Desk): Promise<Verdict> {
  const den = await playing(desk, { ...look, name: 'weather' }, 'http')
  const published = {
    name: 'io.github.ann/weather',
    description: 'Says how the weather is',
    version: '1.4.0',
    remotes: [{ type: 'streamable-http', url: den.url }],
  }
  const official = { status: 'active', publishedAt: '2026-01-02T03:04:05Z', isLatest: true }
  const entry = { server: published, _meta: { 'io.modelcontextprotocol.registry/official': official } }
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
    const found = await desk.run('jackfield', ['registry', 'search', 'weather', '--registry', url])
    if (!found.stdout.includes(published.name))
      return { kind: 'no', note: `it is not found; ${saying(found)}` }
    const ran = await desk.run('jackfield', ['install', published.name, '--yes', '--registry', url])
    const listed = (await den.seen()).some(({ method }) => method === 'tools/list')
    if (ran.code !== 0 || !listed) return { kind: 'no', note: `it does not run; ${saying(ran)}` }
    const tools = await desk.run('jackfield', ['tools', 'weather'])
    return decided(tools.stdout.includes('look'), `it is not in the configuration; ${saying(tools)}`)
  } finally {
    registry.closeAllConnections()
    registry.close()
  }
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}

const onlyOneFile = 'reads one file, in which nothing is overridden'

export const scripts: Script[] = [
  {
    id: 'files-of-other-applications',
    capability: 'C14',
    title: 'Use the servers of Codex, VS Code, Cursor and Claude Desktop, whose files stay as they are.',
    how: 'Each of the four files below the home folder names one server: all four have to be read (where nothing is looked for, when the file is named), and no file may be another byte for byte.',
    tools: {
      jackfield: (desk) => readsOthers(desk, 'jackfield'),
      inspector: (desk) => readsOthers(desk, 'inspector'),
      mcpdo: (desk) => readsOthers(desk, 'mcpdo'),
      mcporter: (desk) => readsOthers(desk, 'mcporter'),
      'mcp-use': without('mcp-use', 'its own saved servers alone'),
      wong2: (desk) => readsOthers(desk, 'wong2'),
    },
  },
  {
    id: 'inputs-of-vs-code',
    capability: 'C14',
    title: 'Be asked for the values that a file of VS Code leaves open.',
    how: 'The file has an input "region" that a variable of the server uses: the server must be given what was typed, or not be started.',
    tools: {
      ...noneHas('does not read files of VS Code'),
      jackfield: asksForInput,
      mcporter: passesInput,
    },
  },
  {
    id: 'where-settings-come-from',
    capability: 'C14',
    title: 'Know which file a server’s settings come from, and which file they override.',
    how: 'Two files name the same server; both have to be named, and which of them does not count.',
    tools: {
      ...noneHas(onlyOneFile),
      'mcp-use': without('mcp-use', 'its own saved servers alone'),
      jackfield: (desk) => saysWhere(desk, 'jackfield'),
      mcporter: (desk) => saysWhere(desk, 'mcporter'),
    },
  },
  {
    id: 'what-is-wrong',
    capability: 'C14',
    title: 'Hear what is wrong with a server that cannot be had.',
    how: 'Nothing listens on the port, the host has no address, the program crashes with a sentence on stderr: each cause has to be said. Jackfield’s `doctor` is run, of the others what lists or connects.',
    tools: {
      jackfield: (desk) => diagnoses(desk, 'jackfield'),
      inspector: (desk) => diagnoses(desk, 'inspector'),
      mcpdo: (desk) => diagnoses(desk, 'mcpdo'),
      mcporter: (desk) => diagnoses(desk, 'mcporter'),
      'mcp-use': (desk) => diagnoses(desk, 'mcp-use'),
      wong2: (desk) => diagnoses(desk, 'wong2'),
    },
  },
  {
    id: 'failing-step',
    capability: 'C14',
    title: 'Have a server looked over step by step, and hear which step fails and what to do.',
    how: 'For the same three, the step that fails has to be named (the connection, the name, the start), with advice after it.',
    tools: {
      ...noneHas('no examination of a server'),
      mcporter: {
        kind: 'absent',
        source: '`mcporter config doctor --help`: "Validates config files, warns about missing token caches"',
      },
      jackfield: namesStep,
    },
  },
  ...gatewayScripts,
  {
    id: 'registry-to-running',
    capability: 'C14',
    title: 'Get from the name in a registry to a running server with one command.',
    how: 'A registry on this machine has one server: it has to be found, and one `install` has to write it into the configuration and connect it once.',
    tools: { ...noneHas('nothing about registries'), jackfield: installs },
  },
]
