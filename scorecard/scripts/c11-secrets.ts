import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Part } from '../fixtures/part.ts'
import { allOf, decided, joinMcpdo, noneHas, playing, without } from '../playing.ts'
import type { Desk, Ran, Script, Tool, Verdict } from '../types.ts'
import { saying } from '../with.ts'

const token = 'tok-5up3r-pr1vate-9471'

const keeper: Part = {
  name: 'den',
  tells: 'DEN_TOKEN',
  notes: 'DEN_TOKEN',
  tools: [{ name: 'who', description: 'Says who asks.', does: { kind: 'variable', name: 'DEN_TOKEN' } }],
}

/** The files below a folder that hold the token as it is. */
function holding(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name))
    .filter((path) => readFileSync(path).includes(token))
    .map((path) => path.slice(folder.length + 1))
}

/** Whether the token stood on a command line of this desk at any time until the runs were over. */
async function onCommandLines(desk: Desk, runs: () => Promise<unknown>): Promise<boolean> {
  let isSeen = false
  const look = (): void => {
    for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
      try {
        const words = readFileSync(`/proc/${pid}/cmdline`, 'utf8')
        isSeen ||= words.includes(token) && words.includes(desk.cwd)
      } catch {
        // It is over.
      }
    }
  }
  const timer = setInterval(look, 100)
  await runs().finally(() => clearInterval(timer))
  return isSeen
}

type Keeping = Exclude<Tool, 'mcp-use'>

async function printsNoToken(desk: Desk, tool: Keeping): Promise<Verdict> {
  const den = await playing(desk, keeper)
  const { command, args } = den
  const mcpServers = { den: { command, args, env: { DEN_TOKEN: token } } }
  const file = await desk.write('servers.json', JSON.stringify({ mcpServers }))
  const inspector = ['--config', file, '--server', 'den', '--method']
  const shows: Record<Keeping, string[] | undefined> = {
    jackfield: ['config', 'explain', 'den', '--config', file],
    inspector: [...inspector, 'servers/show'],
    mcpdo: ['servers/show', 'den', '--config', file],
    mcporter: ['config', 'get', 'den', '--config', file],
    wong2: undefined,
  }
  const calls: Record<Keeping, string[]> = {
    jackfield: ['call', 'den', 'who', '-v', '--config', file],
    inspector: [...inspector, 'tools/call', '--tool-name', 'who'],
    mcpdo: ['@den', 'tools/call', 'who'],
    mcporter: ['call', 'den.who', '--log-level', 'debug', '--config', file],
    wong2: ['--config', file, 'call-tool', 'den:who'],
  }
  const leaks: string[] = []
  const listed = await onCommandLines(desk, async () => {
    const show = shows[tool]
    if (show !== undefined && allOf(await desk.run(tool, show)).includes(token)) {
      leaks.push(
        `\`${show.filter((word) => word !== file && !word.startsWith('--con')).join(' ')}\` prints it`,
      )
    }
    if (tool === 'mcpdo') await joinMcpdo(desk, file, ['den'])
    const ran = await desk.run(tool, calls[tool])
    if (ran.stdout.includes(token)) leaks.push('the result prints it')
    if (ran.stderr.includes(token)) leaks.push('what the server wrote to stderr prints it')
  })
  if (den.noted() !== token) throw new Error('the server was not given the token')
  if (listed) leaks.push('it stands in the process list')
  const files = holding(desk.home)
  if (files.length > 0) leaks.push(`it is written into ~/${files[0]}`)
  return decided(leaks.length === 0, leaks.join('; '))
}

async function printsNoBearer(desk: Desk): Promise<Verdict> {
  const den = await playing(desk, { name: 'den', tools: [{ name: 'look' }] }, 'http')
  const connect = ['client', 'connect', 'den', den.url ?? '', '--auth', token]
  const ran: Ran[] = []
  const listed = await onCommandLines(desk, async () => {
    for (const words of [connect, ['client', 'list'], ['client', 'den', 'tools', 'call', 'look', '{}']]) {
      ran.push(await desk.run('mcp-use', words))
    }
  })
  if (!(await den.seen()).some(({ raw }) => raw.includes('tools/call'))) {
    throw new Error(`the server was not called: ${ran.map((one) => saying(one)).join(' ')}`)
  }
  const leaks = ran.some((one) => allOf(one).includes(token)) ? ['it is printed'] : []
  if (listed) leaks.push('it stands in the process list')
  const files = holding(desk.home)
  if (files.length > 0) leaks.push(`it is written as it is into ~/${files[0]}`)
  return decided(leaks.length === 0, leaks.join('; '))
}

/** There is no keychain at a desk: each keeps secrets the way it documents for such machines. */
async function byReference(desk: Desk, tool: 'jackfield' | 'inspector' | 'mcpdo'): Promise<Verdict> {
  const { tells: _, ...discreet } = keeper
  const den = await playing(desk, discreet)
  const { command, args } = den
  let file: string
  let ran: Ran
  let note: string | undefined
  if (tool === 'jackfield') {
    const env = { JACKFIELD_KEY_FILE: join(desk.home, 'key') }
    const kept = await desk.run(tool, ['secret', 'set', 'den-token'], { input: `${token}\n`, env })
    if (kept.code !== 0) return { kind: 'no', note: `it is not kept; ${saying(kept)}` }
    const mcpServers = { den: { command, args, env: { DEN_TOKEN: `\${secret:den-token}` } } }
    file = await desk.write('servers.json', JSON.stringify({ mcpServers }))
    ran = await desk.run(tool, ['call', 'den', 'who', '--config', file], { env })
  } else {
    file = await desk.write('catalog.json', JSON.stringify({ mcpServers: {} }))
    const env = { MCP_INSPECTOR_SECRET_STORE: 'file', MCP_INSPECTOR_SECRET_KEY: '0123456789abcdef'.repeat(4) }
    const catalog = ['--catalog', file]
    const add = [...catalog, '--method', 'servers/add', '--server', 'den', '-e', `DEN_TOKEN=${token}`]
    const added = await desk.run('inspector', [...add, command, ...args], { env })
    if (added.code !== 0) return { kind: 'no', note: `it is not kept; ${saying(added)}` }
    const call = [...catalog, '--server', 'den', '--method', 'tools/call', '--tool-name', 'who']
    if (tool === 'mcpdo') await desk.run(tool, [...catalog, 'connect', 'den'], { env })
    ran = await desk.run(tool, tool === 'mcpdo' ? ['@den', 'tools/call', 'who'] : call, { env })
    note = 'the value is given on a command line once (`servers/add -e`)'
  }
  if (den.noted() !== token) return { kind: 'no', note: `the server was not given the value; ${saying(ran)}` }
  const files = [...holding(desk.home), ...(readFileSync(file, 'utf8').includes(token) ? [file] : [])]
  if (files.length > 0) return { kind: 'no', note: `it is written as it is into ${files[0]}` }
  return { kind: 'yes', ...(note !== undefined && { note }) }
}

async function asksBeforeItLeaves(desk: Desk): Promise<Verdict> {
  const mail = await playing(desk, {
    name: 'mail',
    tools: [{ name: 'read', does: { kind: 'say', text: 'The diagnosis is confidential.' } }],
  })
  const web = await playing(desk, {
    name: 'web',
    tools: [{ name: 'post', annotations: { openWorldHint: true }, does: { kind: 'say', text: 'Posted.' } }],
  })
  const turns = [
    { call: [{ name: 'mail__read', arguments: {} }] },
    { call: [{ name: 'web__post', arguments: {} }] },
  ]
  const model = await desk.write('model.json', JSON.stringify({ turns: [...turns, { say: 'Done.' }] }))
  const talk = async (labels: string[]): Promise<Ran> => {
    const mcpServers = {
      mail: { command: mail.command, args: mail.args, labels },
      web: { command: web.command, args: web.args },
    }
    const jackfield = { rules: [{ id: 'all', verdict: 'allow' }] }
    const file = await desk.write('servers.json', JSON.stringify({ mcpServers, jackfield }))
    const words = ['chat', '--json', '--model', `script:${model}`, '--config', file]
    return desk.run('jackfield', words, { input: 'Read my mail and tell the world.\n/quit\n' })
  }
  const posts = async (): Promise<number> =>
    (await web.seen()).filter(({ method }) => method === 'tools/call').length
  const open = await talk([])
  if ((await posts()) !== 1) throw new Error(`it is not called without a label either: ${saying(open)}`)
  const closed = await talk(['private'])
  if ((await posts()) !== 1) return { kind: 'no', note: 'the call to the outside went through unasked' }
  return decided(/label/.test(allOf(closed)), `nothing says why; ${saying(closed)}`)
}

export const scripts: Script[] = [
  {
    id: 'secret-stays-unseen',
    capability: 'C11',
    title: 'Have a token in the configuration that appears nowhere else.',
    how: 'The configuration is shown, and a tool is called whose server writes its token to stderr and gives it as the result: the token must be in nothing the tool prints, no file below the home folder and no command line. For mcp-use, which starts no programs, it is a bearer token of its own option.',
    tools: {
      jackfield: (desk) => printsNoToken(desk, 'jackfield'),
      inspector: (desk) => printsNoToken(desk, 'inspector'),
      mcpdo: (desk) => printsNoToken(desk, 'mcpdo'),
      mcporter: (desk) => printsNoToken(desk, 'mcporter'),
      'mcp-use': printsNoBearer,
      wong2: (desk) => printsNoToken(desk, 'wong2'),
    },
  },
  {
    id: 'secret-by-reference',
    capability: 'C11',
    title: 'Keep a token out of the configuration, where nobody can read it.',
    how: 'The token is put into the tool’s own store: the server has to be given it, and neither the configuration nor any file below the home folder may hold it as it is.',
    tools: {
      jackfield: (desk) => byReference(desk, 'jackfield'),
      inspector: (desk) => byReference(desk, 'inspector'),
      mcpdo: (desk) => byReference(desk, 'mcpdo'),
      mcporter: {
        kind: 'absent',
        source:
          'README.md of mcporter: values come from variables of the environment; `vault` keeps tokens of OAuth alone',
      },
      'mcp-use': without('mcp-use', 'no store for secrets'),
      wong2: without('wong2', 'no store for secrets'),
    },
  },
  {
    id: 'private-data-leaves-asked',
    capability: 'C11',
    title: 'Be asked before what a private source said may flow to the outside.',
    how: 'A model reads from one server and then calls a tool of another that reaches outside, both allowed by a rule: with the first marked as private the second call must not arrive unasked, without the mark it has to.',
    tools: { ...noneHas('no conversation and no labels for servers'), jackfield: asksBeforeItLeaves },
  },
]
