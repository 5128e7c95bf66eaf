import type { Part, PlayedTool } from '../fixtures/part.ts'
import { decided, noneHas, type Playing, playing } from '../playing.ts'
import type { Desk, Script, Verdict } from '../types.ts'
import { configure, saying } from '../with.ts'

const verbs = ['list', 'create', 'update', 'archive', 'export', 'import', 'count', 'merge', 'sort', 'lock']
const things = [
  'invoice',
  'ticket',
  'wheel',
  'recipe',
  'contract',
  'photo',
  'bridge',
  'parcel',
  'ledger',
  'sensor',
]
const places = ['here', 'abroad', 'upstairs', 'online', 'at sea']

/** Five hundred tools, and the one that is looked for among them. */
function warehouse(): Part {
  const tools: PlayedTool[] = verbs.flatMap((verb) =>
    things.flatMap((thing) =>
      places.map((place) => ({
        name: `${verb}_${thing}_${place.replace(' ', '_')}`,
        description: `Does ${verb} on one ${thing} that is ${place}.`,
      })),
    ),
  )
  tools[317] = {
    name: 'dispatch_reminder',
    description: 'Sends a customer an email that a payment is overdue.',
  }
  return { name: 'warehouse', tools }
}

async function finds(desk: Desk): Promise<Verdict> {
  const { stock, file } = await listed(desk)
  const ran = await desk.run('jackfield', ['search', ...wanted, '--limit', '3', '--config', file])
  if (stock.started().length === 0) return { kind: 'no', note: 'the server was never listed' }
  return decided(ran.stdout.includes('dispatch_reminder'), `it is not among the first three; ${saying(ran)}`)
}

const wanted = ['mail', 'customers', 'about', 'overdue', 'payments']

/** Lists the tools once, as anybody does who then looks for one. */
async function listed(desk: Desk): Promise<{ stock: Playing; file: string }> {
  const stock = await playing(desk, warehouse())
  const mcpServers = { stock: { command: stock.command, args: stock.args, lazy: true } }
  const file = await desk.write('servers.json', JSON.stringify({ mcpServers }))
  const ran = await desk.run('jackfield', ['tools', '--config', file])
  if (ran.code !== 0) throw new Error(`the list failed: ${ran.stderr}`)
  return { stock, file }
}

async function staysAsleep(desk: Desk): Promise<Verdict> {
  const { stock, file } = await listed(desk)
  const before = stock.started().length
  const ran = await desk.run('jackfield', ['search', ...wanted, '--config', file])
  const more = stock.started().length - before
  if (!ran.stdout.includes('dispatch_reminder'))
    return { kind: 'no', note: `it is not found; ${saying(ran)}` }
  return decided(more === 0, `the search started the server ${more} times`)
}

const program = `
const first = await servers.den.look({ at: 'shelf' })
let refusal = 'none'
try {
  await servers.den.smash({ at: 'window' })
} catch (error) {
  refusal = String(error.message)
}
const last = await servers.den.look({ at: 'floor' })
return { first: first.text, refusal, last: last.text }
`

async function goesOn(desk: Desk): Promise<Verdict> {
  const argument = { type: 'object', properties: { at: { type: 'string' } } }
  const tools = ['look', 'smash'].map((name) => ({
    name,
    description: `Can ${name}.`,
    inputSchema: argument,
  }))
  const den = await playing(desk, { name: 'den', tools })
  const rules = [
    { id: 'no-smashing', verdict: 'deny', tool: 'smash' },
    { verdict: 'allow', tool: 'look' },
  ]
  const file = await configure(desk, { den }, { jackfield: { rules } })
  const path = await desk.write('program.js', program)
  const ran = await desk.run('jackfield', ['run', path, '--config', file])
  const called = (await den.seen()).filter(({ method }) => method === 'tools/call')
  const places = called.map(({ params }) => JSON.stringify(params?.['arguments']))
  if (places.some((place) => place.includes('window'))) return { kind: 'no', note: 'the denied call arrived' }
  const isWhole = places.length === 2 && ran.code === 0 && ran.stdout.includes('floor')
  return decided(isWhole && ran.stdout.includes('no-smashing'), `the program did not go on; ${saying(ran)}`)
}

export const scripts: Script[] = [
  {
    id: 'tool-among-500',
    capability: 'C9',
    title: 'Find the right tool among 500 by words that are not its name.',
    how: 'One of 500 tools sends overdue reminders; "mail customers about overdue payments" has to bring it among the first three.',
    tools: { ...noneHas('lists tools, does not search them'), jackfield: finds },
  },
  {
    id: 'search-starts-nothing',
    capability: 'C9',
    title: 'Look for a tool without starting a server.',
    how: 'The tools were listed once and the server, which is to be started when it is needed, has ended; the search has to find the tool while no process of the server is started.',
    tools: { ...noneHas('lists tools, does not search them'), jackfield: staysAsleep },
  },
  {
    id: 'program-over-tools',
    capability: 'C9',
    title: 'Run one program over several tools, in which a forbidden call stops nothing else.',
    how: 'A program makes three calls, the second of which a rule forbids: the first and the last have to arrive, the second must not, and the program has to be told the rule.',
    tools: {
      ...noneHas('runs no program over tools'),
      mcporter: {
        kind: 'absent',
        source:
          'README.md of mcporter: programs use its library (`createRuntime`), the command line runs none',
      },
      jackfield: goesOn,
    },
  },
]
