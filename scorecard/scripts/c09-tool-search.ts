import { judge, onlyFor, summarize } from '../checks.ts'
import { writeConfig } from '../commands.ts'
import { type ConfigurableServer, configurableServer } from '../configurable-server.ts'
import type { BehaviorTool, ServerBehavior } from '../fixtures/behavior.ts'
import type { Script, Verdict, Workspace } from '../types.ts'

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

/** A server with 500 tools, among them the one to be found. */
function serverWith500Tools(): ServerBehavior {
  const tools: BehaviorTool[] = verbs.flatMap((verb) =>
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

async function finds(workspace: Workspace): Promise<Verdict> {
  const { server, file } = await listOnce(workspace)
  const result = await workspace.run('jackfield', [
    'search',
    ...searchWords,
    '--limit',
    '3',
    '--config',
    file,
  ])
  if (server.processIds().length === 0) throw new Error('the tools were not listed')
  return judge([
    result.stdout.includes('dispatch_reminder'),
    `the tool is not among the first three results; ${summarize(result)}`,
  ])
}

const searchWords = ['mail', 'customers', 'about', 'overdue', 'payments']

/** Lists the tools, so that they are in the cache. */
async function listOnce(workspace: Workspace): Promise<{ server: ConfigurableServer; file: string }> {
  const server = await configurableServer(workspace, serverWith500Tools())
  const mcpServers = { warehouse: { command: server.command, args: server.args, lazy: true } }
  const file = await workspace.write('servers.json', JSON.stringify({ mcpServers }))
  const result = await workspace.run('jackfield', ['tools', '--config', file])
  if (result.code !== 0) throw new Error(`the tools were not listed: ${result.stderr}`)
  return { server, file }
}

async function startsNothing(workspace: Workspace): Promise<Verdict> {
  const { server, file } = await listOnce(workspace)
  const before = server.processIds().length
  const result = await workspace.run('jackfield', ['search', ...searchWords, '--config', file])
  const startCount = server.processIds().length - before
  if (!result.stdout.includes('dispatch_reminder'))
    return { kind: 'no', note: `the tool is not found; ${summarize(result)}` }
  return judge([startCount === 0, `the search started the server ${startCount} times`])
}

const program = `
const first = await servers.demo.read({ place: 'shelf' })
let error = 'none'
try {
  await servers.demo.remove({ place: 'window' })
} catch (denied) {
  error = String(denied.message)
}
const last = await servers.demo.read({ place: 'floor' })
return { first: first.text, error, last: last.text }
`

async function continuesAfterDenial(workspace: Workspace): Promise<Verdict> {
  const inputSchema = { type: 'object', properties: { place: { type: 'string' } } }
  const tools = ['read', 'remove'].map((name) => ({
    name,
    description: `Can ${name} items.`,
    inputSchema,
  }))
  const server = await configurableServer(workspace, { name: 'demo', tools })
  const rules = [
    { id: 'no-removal', verdict: 'deny', tool: 'remove' },
    { verdict: 'allow', tool: 'read' },
  ]
  const file = await writeConfig(workspace, { demo: server }, { jackfield: { rules } })
  const path = await workspace.write('program.js', program)
  const result = await workspace.run('jackfield', ['run', path, '--config', file])
  const called = (await server.received()).filter(({ method }) => method === 'tools/call')
  const calledArguments = called.map(({ params }) => JSON.stringify(params?.['arguments']))
  if (calledArguments.some((place) => place.includes('window')))
    return { kind: 'no', note: 'the server received the denied call' }
  const isComplete = calledArguments.length === 2 && result.code === 0 && result.stdout.includes('floor')
  return judge([
    isComplete && result.stdout.includes('no-removal'),
    `the program did not continue; ${summarize(result)}`,
  ])
}

const noSearch = 'lists tools, does not search them'

export const scripts: Script[] = [
  {
    id: 'tool-among-500',
    capability: 'C9',
    title: 'Find one of 500 tools by a description of the task',
    how: 'One of 500 tools sends overdue reminders. "mail customers about overdue payments" must find it among the first three results.',
    checks: onlyFor({ jackfield: finds }, noSearch),
  },
  {
    id: 'search-starts-nothing',
    capability: 'C9',
    title: 'Search for a tool without starting its server',
    how: 'The tools of a server that is started on demand were listed once, and it has exited. The search must find the tool and start no process of the server.',
    checks: onlyFor({ jackfield: startsNothing }, noSearch),
  },
  {
    id: 'program-over-tools',
    capability: 'C9',
    title: 'Run a program that calls several tools and continues after a denied call',
    how: 'A program makes three calls, and a rule denies the second. The server must receive the first and the last only, and the error of the second must name the rule.',
    checks: onlyFor(
      {
        jackfield: continuesAfterDenial,
        mcporter: {
          kind: 'absent',
          source:
            'README.md of mcporter: programs use its library (`createRuntime`), the command line runs none',
        },
      },
      'does not run programs that call tools',
    ),
  },
]
