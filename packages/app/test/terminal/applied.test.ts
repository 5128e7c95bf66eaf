import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createHost } from '@jackfield/host'
import { describe, expect, test } from 'vitest'
import { choose } from '../../../../scripts/terminal/choose.ts'
import { programFile } from '../../../../test/setup/program-file.ts'
import { protectedServer } from '../../../sdk/test/client-auth/support/protected-server.ts'
import { run, tempFolder } from '../cli/jackfield.ts'
import { type InProcess, inProcess } from './in-process.ts'
import { missing, type Person, person, prompt } from './person.ts'

const definitionServer = programFile(
  new URL('../../../host/test/fixtures/definition-server.ts', import.meta.url),
)

const definition = (description: string) => ({
  instructions: description,
  tools: [{ name: 'buy', description, inputSchema: { type: 'object' } }],
  prompts: [{ name: 'greet' }],
  resources: [{ name: 'note', uri: 'note:/1' }],
})

/** Commands that connect configured servers, by the name of the command, and why each other command does not. */
const commands: Readonly<Record<string, readonly string[] | string>> = {
  tools: ['tools'],
  search: ['search', 'buy'],
  find: ['find', 'greet'],
  run: ['run', 'program.js'],
  generate: ['generate', 'cli', 'shop'],
  resources: ['resources'],
  prompts: ['prompts', 'shop'],
  call: ['call', 'shop', 'buy'],
  read: ['read', 'shop', 'note:/1'],
  prompt: ['prompt', 'shop', 'greet'],
  complete: ['complete', 'shop', 'greet', 'name', 'a'],
  watch: ['watch', 'shop', 'note:/1'],
  servers: ['servers'],
  chat: ['chat', '--model', 'offline'],
  replay: ['replay', 'saved.json'],
  policy: ['policy', 'explain', 'shop', 'buy'],
  start: 'has servers of its own',
  doctor: 'examines servers without the host that pins what they say',
  trust: 'with --check it asks nothing and says what waits',
  inbox: 'reads the store',
  respond: 'connects only the server of a question that is answered',
  roots: 'reads the configuration and the store',
  sampling: 'reads the configuration and the store',
  activity: 'reads the store',
  log: 'reads the store',
  record: 'runs another program',
  'serve-recording': 'serves a file',
  config: 'reads and writes files',
  secret: 'writes the secret store',
  login: 'asks nothing: the person wants the login',
  logout: 'asks nothing',
  registry: 'searches a registry',
  install: 'asks about the installation only',
  uninstall: 'writes files',
  gateway: 'runs until it is interrupted',
  store: 'renames a file',
  daemon: 'shows or ends the host process',
  completion: 'prints a script',
  tasks: 'connects only the server of a task that is awaited or cancelled',
  web: 'its page shows what waits',
  options: 'prints help',
}

const connecting = Object.entries(commands).flatMap(([name, words]) =>
  typeof words === 'string' ? [] : [[name, words] as const],
)

const program = 'return 1'
const saved = {
  format: 'jackfield-replay',
  version: 1,
  method: 'tools/call',
  server: 'shop',
  target: 'buy',
  arguments: {},
}

function write(folder: string, name: string, content: unknown): string {
  const file = join(folder, name)
  writeFileSync(file, typeof content === 'string' ? content : JSON.stringify(content))
  return file
}

/** Lets a command that does not end by itself end. */
function detach(name: string, terminal: InProcess): void {
  if (name === 'chat') terminal.type('/quit\r')
  if (name === 'watch') terminal.interrupt()
}

/** What a command that does not end by itself shows when it can be ended. */
const leaving: Readonly<Record<string, string | RegExp>> = { chat: prompt, watch: 'Ctrl+C ends it' }

async function end(name: string, terminal: InProcess): Promise<void> {
  const last = leaving[name]
  if (last !== undefined) await terminal.until(last)
  detach(name, terminal)
  await terminal.ended
}

describe('an answer given in a command is applied before the command ends', { timeout: 60_000 }, () => {
  test('in every command that connects servers; the exceptions are named with the reason', async () => {
    const { stdout } = await run(['--help'])
    const listed = stdout.replace(/\nA <target>[\s\S]*/, '')
    const names = [...listed.matchAll(/^ {2}([a-z][a-z-]*) {2,}\S/gm)]
    expect(new Set(names.map(([, name]) => name))).toEqual(new Set(Object.keys(commands)))
  })

  /** A user who accepted the definitions of a shop, which then change. */
  async function withChange() {
    const ann = person()
    const define = (description: string): string => ann.write('definitions.json', definition(description))
    const env = { DEFINITIONS: define('Buys one item.'), LOG: ann.write('calls.log', '') }
    const shop = { command: process.execPath, args: [definitionServer], env }
    ann.write('.config/jackfield/config.json', { mcpServers: { shop } })
    write(ann.home, 'program.js', program)
    write(ann.home, 'saved.json', saved)
    expect((await ann.quietly('servers')).code).toBe(0)
    define('Buys every item.')
    return ann
  }

  async function expectAccepted(ann: Person): Promise<void> {
    const { servers } = JSON.parse((await ann.quietly('trust', '--json')).stdout)
    const states = servers[0].items.map(({ state }: { state: string }) => state)
    expect(new Set(states)).toEqual(new Set(['pinned']))
    const { questions } = JSON.parse((await ann.quietly('inbox', '--all', '--json')).stdout)
    expect(questions.map(({ state }: { state: string }) => state)).toEqual(['answered'])
  }

  test.each(connecting)('%s: a changed definition', async (name, words) => {
    const ann = await withChange()
    const terminal = inProcess(words, { home: ann.home, env: { JACKFIELD_KEY_FILE: `${ann.home}/key` } })
    await terminal.until('● Decide later')
    terminal.press('down')
    await terminal.until('● Accept it as it is now')
    terminal.press('enter')
    await end(name, terminal)
    await expectAccepted(ann)
  })

  test.skipIf(missing !== undefined)('a changed definition, in a terminal', async () => {
    const ann = await withChange()
    const terminal = ann.terminal(['watch', 'shop', 'note:/1'])
    await terminal.until('Accept them?')
    await choose(terminal, 'Accept it as it is now')
    await terminal.until('Ctrl+C ends it')
    terminal.press('ctrl+c')
    await terminal.exited
    await expectAccepted(ann)
  })

  test.each(connecting)('%s: the start of a server of this folder', async (name, words) => {
    const home = tempFolder()
    const env = {
      DEFINITIONS: write(home, 'definitions.json', definition('Buys one item.')),
      LOG: join(home, 'calls.log'),
    }
    write(home, '.mcp.json', {
      mcpServers: { shop: { command: process.execPath, args: [definitionServer], env } },
    })
    write(home, 'program.js', program)
    write(home, 'saved.json', saved)
    const store = join(home, 'store.db')
    const terminal = inProcess([...words, '--store', store], { home })
    await terminal.until('Start it for the first time?')
    terminal.press('down', 'enter')
    await end(name, terminal)
    const host = createHost({ servers: {}, models: [], store })
    expect(host.inbox.list({ state: 'all' }).map(({ state }) => state)).toEqual(['answered'])
    expect(host.trust.server('shop').since).toBeDefined()
    await host.close()
  })

  test.skipIf(missing !== undefined).each([
    ['tools', ['tools']],
    ['servers', ['servers']],
    ['call', ['call', 'shop', 'x']],
  ] as const)('%s: a login', async (_name, words) => {
    const shop = await protectedServer()
    const ann = person()
    for (const name of ['xdg-open', 'open']) ann.program(name)
    ann.write('.config/jackfield/config.json', { mcpServers: { shop: { url: shop.url } } })
    const terminal = ann.terminal(words)
    await terminal.until('Open it?')
    await choose(terminal, 'Open it and sign in')
    await expect.poll(ann.noted).toContain(`${shop.as.issuer}/authorize?`)
    const { headers } = await fetch(ann.noted(), { redirect: 'manual' })
    await fetch(new URL(headers.get('location') ?? '', ann.noted()))
    expect(await terminal.exited).toBe(0)
    expect(shop.as.at('/token')).toHaveLength(1)
  })
})
