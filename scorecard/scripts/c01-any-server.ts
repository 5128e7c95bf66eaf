import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import type { Desk, Fixture, Ran, Script, SeenMessage, Tool, Verdict } from '../types.ts'
import {
  callOf,
  configure,
  connectMcpdo,
  connectMcpUse,
  type Entry,
  everyTool,
  listOf,
  onlyFor,
  saying,
  verdict,
} from '../with.ts'

const require = createRequire(import.meta.url)

function official(name: string, ...args: string[]): Entry {
  const folder = dirname(require.resolve(`@modelcontextprotocol/${name}/package.json`))
  return { command: process.execPath, args: [join(folder, 'dist/index.js'), ...args] }
}

const manyServers: Script = {
  id: 'tools-of-many-servers',
  capability: 'C1',
  title: 'See the tools of all my servers in one list',
  how: 'One command over a configuration with the official everything and filesystem servers and a third one; a tool of each must be named in what it writes.',
  tools: onlyFor(
    {
      jackfield: (desk) => listAll(desk, (file) => desk.run('jackfield', ['tools', '--config', file])),
      mcporter: (desk) => listAll(desk, (file) => desk.run('mcporter', ['list', '--json', '--config', file])),
    },
    'tools are listed of one server at a time',
  ),
}

async function listAll(desk: Desk, list: (file: string) => Promise<Ran>): Promise<Verdict> {
  const file = await configure(desk, {
    everything: official('server-everything', 'stdio'),
    files: official('server-filesystem', desk.cwd),
    shop: await desk.server('shop'),
  })
  const ran = await list(file)
  const missing = ['get-sum', 'read_text_file', 'order'].filter((name) => !ran.stdout.includes(name))
  return verdict([missing.length === 0, `${missing.join(', ')} not in the list; ${saying(ran)}`])
}

const wanted = { count: 2, price: 9.5, gift: true, code: '007', tags: ['a', 'b'], to: { city: 'Oslo' } }
const [tags, to] = [JSON.stringify(wanted.tags), JSON.stringify(wanted.to)]

const typed: Script = {
  id: 'typed-arguments',
  capability: 'C1',
  title: 'Give arguments on the command line, and each arrives with the type that the tool wants',
  how: 'The words that the help of each tool gives for an integer, a number, a boolean, a text that looks like a number (007), a list and an object; the server must have received exactly those six values.',
  tools: {
    jackfield: (desk) =>
      order(desk, (file) =>
        desk.run('jackfield', [
          'call',
          'shop',
          'order',
          ...plainWords,
          `tags:=${tags}`,
          `to:=${to}`,
          '--config',
          file,
        ]),
      ),
    inspector: (desk) =>
      order(desk, (file) =>
        desk.run('inspector', [
          ...['--config', file, '--server', 'shop', '--method', 'tools/call', '--tool-name', 'order'],
          ...[...plainWords, `tags=${tags}`, `to=${to}`].flatMap((pair) => ['--tool-arg', pair]),
        ]),
      ),
    mcpdo: (desk) =>
      order(desk, async (file) => {
        await connectMcpdo(desk, file)
        const words = ['count:=2', 'price:=9.5', 'gift:=true', 'code:="007"', `tags:=${tags}`, `to:=${to}`]
        return desk.run('mcpdo', ['@shop', 'tools/call', 'order', ...words])
      }),
    mcporter: (desk) =>
      order(desk, (file) =>
        desk.run('mcporter', [
          'call',
          'shop.order',
          ...plainWords,
          `tags=${tags}`,
          `to=${to}`,
          '--config',
          file,
        ]),
      ),
    'mcp-use': (desk) =>
      order(desk, async (_file, shop) => {
        await connectMcpUse(desk, shop)
        const words = [...plainWords, `tags:=${tags}`, `to:=${to}`]
        return desk.run('mcp-use', ['client', 'shop', 'tools', 'call', 'order', ...words])
      }),
    wong2: (desk) =>
      order(desk, (file) =>
        desk.run('wong2', ['--config', file, 'call-tool', 'shop:order', '--args', JSON.stringify(wanted)]),
      ),
  },
}

const plainWords = ['count=2', 'price=9.5', 'gift=true', 'code=007']

async function order(desk: Desk, call: (file: string, shop: Fixture) => Promise<Ran>): Promise<Verdict> {
  const shop = await desk.server('shop')
  const ran = await call(await configure(desk, { shop }), shop)
  const got = argumentsIn(await shop.seen())
  return verdict(
    [got !== undefined, `the server was not called; ${saying(ran)}`],
    [sameValues(got, wanted), `the server received ${JSON.stringify(got)}`],
  )
}

function argumentsIn(seen: readonly SeenMessage[]): unknown {
  return seen.findLast(({ method }) => method === 'tools/call')?.params?.['arguments']
}

function sameValues(one: unknown, other: object): boolean {
  const sorted = (value: unknown): string =>
    typeof value === 'object' && value !== null
      ? JSON.stringify(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
      : ''
  return sorted(one) === sorted(other)
}

/** Calls `order` on the server over standard streams and looks whether it was reached. */
async function reach(desk: Desk, tool: Tool, name: string, ...words: string[]): Promise<Verdict> {
  const shop = await desk.server(name, ...words)
  const ran = await callOf(desk, tool, shop, ['order', {}])
  const called = argumentsIn(await shop.seen()) !== undefined
  return verdict(
    [called, `the tool was not called; ${saying(ran)}`],
    [ran.stdout.includes('ordered'), `called, but the result is not shown; ${saying(ran)}`],
  )
}

const modernOnly: Script = {
  id: 'modern-only-server',
  capability: 'C1',
  title: 'Call a tool of a server that speaks revision 2026-07-28 and no other',
  how: 'A server over standard streams that refuses `initialize`; its tool must have been called and the result written. Tools that choose the era by an option are told to find out.',
  tools: everyTool((desk, tool) => reach(desk, tool, 'only', '2026-07-28')),
}

const oldestOnly: Script = {
  id: 'oldest-server',
  capability: 'C1',
  title: 'Call a tool of a server that speaks revision 2024-11-05 and no other',
  how: 'A server over standard streams that answers nothing before `initialize`; its tool must have been called and the result written.',
  tools: everyTool((desk, tool) => reach(desk, tool, 'only', '2024-11-05')),
}

const noisy: Script = {
  id: 'noise-on-stdout',
  capability: 'C1',
  title: 'Use a server that prints log lines where only messages belong',
  how: 'A server that writes text, blank lines and JSON that is no message to its standard output; the result of its tool must be written.',
  tools: everyTool((desk, tool) => reach(desk, tool, 'noisy')),
}

const sse: Script = {
  id: 'http-sse-server',
  capability: 'C1',
  title: 'See the tools of a server that has only the old HTTP+SSE transport',
  how: 'The address of the event stream is given, as each tool wants it; the server must have been asked for its tools and the name of the tool be written.',
  tools: everyTool(async (desk, tool) => {
    const shop = await desk.server('shop', 'sse')
    const told = tool === 'wong2' ? await inTerminal(desk, shop) : saidOf(await listOf(desk, tool, shop))
    const listed = (await shop.seen()).some(({ method }) => method === 'tools/list')
    return verdict([listed && told.includes('order'), listed ? `not shown; ${told}` : `not asked; ${told}`])
  }),
}

function saidOf(ran: Ran): string {
  return `${ran.stdout.includes('order') ? 'order ' : ''}${saying(ran)}`
}

async function inTerminal(desk: Desk, { url = '' }: Fixture): Promise<string> {
  const terminal = await desk.terminal('wong2', ['--sse', url])
  await terminal.until('tool(order)', { withinMs: 10_000 }).catch(() => {})
  return terminal.history()
}

const silent: Script = {
  id: 'server-that-never-answers',
  capability: 'C1',
  title: 'Be told within ten seconds that a server does not answer',
  how: 'A server that reads and never writes, with five seconds to wait where the tool has an option for it. It must end by itself, with an exit code that is not 0, and say that time ran out.',
  tools: everyTool(async (desk, tool) => {
    const shop = await desk.server('silent')
    const limitMs = 10_500
    const ran =
      tool === 'mcpdo'
        ? await connectMcpdo(desk, await configure(desk, { shop }), { limitMs, ...patience(tool) })
        : await callOf(desk, tool, shop, ['order', {}], { limitMs, ...patience(tool) })
    const asked = (await shop.seen()).length > 0
    return verdict(
      [asked, `the server was never asked; ${saying(ran)}`],
      [!ran.timedOut, 'still waiting after ten seconds'],
      [ran.code !== 0, `exit code 0, as if all were well; ${saying(ran)}`],
      [/time|answer|respon|longer/i.test(ran.stderr + ran.stdout), `does not say why; ${saying(ran)}`],
    )
  }),
}

/** The option for how long to wait, where there is one. */
function patience(tool: Tool): { flags?: string[] } {
  if (tool === 'jackfield') return { flags: ['--timeout', '5'] }
  if (tool === 'inspector' || tool === 'mcpdo') return { flags: ['--connect-timeout', '5000'] }
  return tool === 'mcporter' || tool === 'mcp-use' ? { flags: ['--timeout', '5000'] } : {}
}

const honest: Script = {
  id: 'declares-what-it-answers',
  capability: 'C1',
  title: 'A tool tells servers only of abilities that it has when nobody sits at the terminal',
  how: 'A tool call from a script, to a server that asks for everything the client declared. For each declared ability an answer must arrive, or a way be shown to give one.',
  tools: everyTool(async (desk, tool) => {
    const asker = await desk.server('asker')
    const ran = await callOf(desk, tool, asker, ['everything', {}])
    const answered = ran.stdout.includes('given')
    const offered = /elicitation\/respond|elicitationPending|--answers FILE/.test(ran.stdout + ran.stderr)
    return verdict([answered || offered, `declared what nothing answered; ${saying(ran)}`])
  }),
}

export const scripts: Script[] = [manyServers, typed, modernOnly, oldestOnly, sse, noisy, silent, honest]
