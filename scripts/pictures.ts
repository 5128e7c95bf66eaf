// Records what the terminal shows, as pictures for docs/host.md: real commands, real servers, a person's keys.
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { root } from './run.ts'
import { screenPicture } from './terminal/picture.ts'
import { openTerminal, type Terminal, terminalMissing } from './terminal/terminal.ts'

const bin = join(root, 'packages/app/bin/jackfield.js')
const pictures = join(root, 'docs/pictures')
/** The same folder each time, since it can be read in the pictures. */
const home = '/tmp/ada'
const work = join(home, 'trip')

interface Shot {
  name: string
  title: string
  command: string[]
  rows?: number
  cols?: number
  /** What the person does before the picture is taken. Left out, the picture is of what the command left behind. */
  drive?: (terminal: Terminal) => Promise<void>
}

const shots: readonly Shot[] = [
  { name: 'servers', title: 'jackfield servers', command: ['servers'] },
  { name: 'search', title: 'jackfield search', command: ['search', 'find a flight', '--limit', '5'] },
  { name: 'config-explain', title: 'jackfield config explain', command: ['config', 'explain', 'travel'] },
  { name: 'policy', title: 'jackfield policy', command: ['policy'] },
  {
    name: 'policy-explain',
    title: 'jackfield policy explain',
    command: ['policy', 'explain', 'files', 'write_file', 'path=plan.md', 'content=x'],
  },
  { name: 'doctor', title: 'jackfield doctor', command: ['doctor', 'http://127.0.0.1:9/mcp'] },
  {
    name: 'rank',
    title: 'jackfield sampling rank',
    command: ['sampling', 'rank', '--hint', 'qwen', '--cost', '0.2', '--intelligence', '0.8'],
  },
  {
    name: 'form',
    title: 'A form of a server, in a conversation',
    command: ['chat', '--model', 'offline'],
    rows: 40,
    drive: async (terminal) => {
      await terminal.until('you ›', { withinMs: 60_000 })
      terminal.type('Plan a trip to Barcelona from New York on 2027-06-15 for 7 days')
      terminal.press('enter')
      await answerUntil(terminal, 'Confirm')
    },
  },
]

/** Says yes to what is asked until the screen shows this. */
async function answerUntil(terminal: Terminal, wanted: string): Promise<void> {
  for (let turn = 0; turn < 40; turn++) {
    if (terminal.screen().join('\n').includes(wanted)) return
    const before = terminal.history()
    if (/Enter: confirm/.test(terminal.screen().join('\n'))) {
      terminal.press('down', 'enter')
    }
    await settled(terminal, before)
  }
}

/** Waits until the screen has changed and then stood still for a moment. */
async function settled(terminal: Terminal, before: string, withinMs = 15_000): Promise<void> {
  const deadline = performance.now() + withinMs
  let last = before
  let still = 0
  while (performance.now() < deadline && still < 4) {
    await new Promise((resolve) => setTimeout(resolve, 150))
    const now = terminal.history()
    still = now !== before && now === last ? still + 1 : 0
    last = now
  }
}

function prepare(): void {
  rmSync(home, { recursive: true, force: true })
  mkdirSync(join(home, '.config/jackfield'), { recursive: true })
  mkdirSync(work, { recursive: true })
  writeFileSync(join(work, 'wishes.md'), '# Wishes\n\n- Window seat\n- Sea view\n')
  const require = createRequire(import.meta.url)
  const files = join(
    dirname(require.resolve('@modelcontextprotocol/server-filesystem/package.json')),
    'dist/index.js',
  )
  const servers = {
    travel: { command: 'node', args: [join(root, 'servers/travel/dist/main.js'), '--db', ':memory:'] },
    files: { command: 'node', args: [files, work] },
  }
  const jackfield = {
    models: ['offline'],
    roots: [work],
    rules: [
      { id: 'looking', verdict: 'allow', server: 'travel', hint: 'readOnly' },
      { id: 'reading', verdict: 'allow', tool: 'read_*', arguments: [{ at: '/path', inside: [work] }] },
      { id: 'no-moving', verdict: 'deny', server: 'files', tool: 'move_*' },
      { id: 'booking', verdict: 'ask', hint: 'destructive', scope: 'conversation' },
    ],
  }
  writeFileSync(
    join(home, '.config/jackfield/config.json'),
    `${JSON.stringify({ mcpServers: servers, jackfield }, null, 2)}\n`,
  )
}

async function take(shot: Shot): Promise<void> {
  const { name, title, command, drive, rows = 34, cols = 104 } = shot
  await using terminal = openTerminal([process.execPath, bin, ...command], {
    cols,
    rows,
    cwd: work,
    env: { HOME: home },
  })
  if (drive === undefined) await terminal.exited
  else await drive(terminal)
  writeFileSync(join(pictures, `${name}.svg`), screenPicture(terminal.cells(), title))
  process.stdout.write(`docs/pictures/${name}.svg\n`)
}

const missing = terminalMissing()
if (missing !== undefined) throw new Error(`Nothing can be recorded: ${missing}`)
prepare()
mkdirSync(pictures, { recursive: true })
const [, , ...wanted] = process.argv
for (const shot of shots) if (wanted.length === 0 || wanted.includes(shot.name)) await take(shot)
rmSync(home, { recursive: true, force: true })
