// Records what the terminal shows, as pictures for docs/host.md: real commands, real servers, a person's keys.
import { mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
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
    name: 'approval',
    title: 'A model wants to book, and a rule says to ask',
    command: ['chat', '--config', 'trip.json', '--model', 'script:model.json'],
    rows: 40,
    drive: async (terminal) => {
      await terminal.until('you ›')
      terminal.type('Book me a week in Barcelona.\r')
      await terminal.until(/Allow this call\?[\s\S]*└/)
    },
  },
]

function prepare(): void {
  rmSync(home, { recursive: true, force: true })
  mkdirSync(join(home, '.config/jackfield'), { recursive: true })
  mkdirSync(work, { recursive: true })
  writeFileSync(join(work, 'wishes.md'), '# Wishes\n\n- Window seat\n- Sea view\n')
  const require = createRequire(import.meta.url)
  const shown = join(home, 'servers')
  mkdirSync(shown)
  // Pictures show where programs stand; these names are the same on every machine.
  symlinkSync(join(root, 'servers/travel/dist/main.js'), join(shown, 'travel.js'))
  const official = dirname(require.resolve('@modelcontextprotocol/server-filesystem/package.json'))
  symlinkSync(join(official, 'dist/index.js'), join(shown, 'files.js'))
  const call = {
    name: 'travel__bookVacation',
    arguments: { origin: 'NYC', destination: 'Barcelona', departure: '2027-06-15', days: 7, travellers: 1 },
  }
  writeFileSync(join(work, 'model.json'), JSON.stringify({ turns: [{ say: 'I book it.', call: [call] }] }))
  const servers = {
    travel: { command: 'node', args: [join(shown, 'travel.js'), '--db', ':memory:'] },
    files: { command: 'node', args: [join(shown, 'files.js'), work] },
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
  const { travel } = servers
  writeFileSync(join(work, 'trip.json'), JSON.stringify({ mcpServers: { travel }, jackfield }, null, 2))
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
