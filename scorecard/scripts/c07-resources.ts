import { forClis, judge, onlyFor, outputOf, summarize } from '../checks.ts'
import { connectIfNeeded, writeConfig } from '../commands.ts'
import { configurableServer } from '../configurable-server.ts'
import type { ServerBehavior } from '../fixtures/behavior.ts'
import type { Script, Verdict, Workspace } from '../types.ts'

function serverWithNotes(name: string, count: number): ServerBehavior {
  const resources = Array.from({ length: count }, (_, n) => ({
    uri: `note://${name}/${n}`,
    name: `${name} ${n}`,
  }))
  return { name, resources }
}

async function listsAll(workspace: Workspace): Promise<Verdict> {
  const [north, south] = [
    await configurableServer(workspace, serverWithNotes('north', 2)),
    await configurableServer(workspace, serverWithNotes('south', 2)),
  ]
  const file = await writeConfig(workspace, { north, south })
  const result = await workspace.run('jackfield', ['resources', '--config', file])
  const expected = ['note://north/0', 'note://north/1', 'note://south/0', 'note://south/1']
  return judge([
    result.code === 0 && expected.every((uri) => result.stdout.includes(uri)),
    `not all four are listed; ${summarize(result)}`,
  ])
}

const template = 'note://{what}'
const completionServer: ServerBehavior = {
  name: 'demo',
  resources: [],
  templates: [{ uriTemplate: template, name: 'a note' }],
  completions: { what: ['anchor', 'anvil', 'ball'] },
}

async function completes(workspace: Workspace, cli: 'jackfield' | 'mcpdo'): Promise<Verdict> {
  const server = await configurableServer(workspace, completionServer)
  const file = await writeConfig(workspace, { demo: server })
  await connectIfNeeded(workspace, cli, file, { demo: server })
  const refFlags = ['--complete-ref-type', 'ref/resource', '--complete-ref', template]
  const argumentFlags = ['--complete-arg-name', 'what', '--complete-arg-value', 'an']
  const argv = {
    jackfield: ['complete', 'demo', template, 'what', 'an', '--config', file],
    mcpdo: ['@demo', 'prompts/complete', ...refFlags, ...argumentFlags],
  }
  const result = await workspace.run(cli, argv[cli])
  const isShown =
    result.stdout.includes('anchor') && result.stdout.includes('anvil') && !result.stdout.includes('ball')
  const ref = (await server.received()).find(({ method }) => method === 'completion/complete')?.params?.[
    'ref'
  ]
  const isRequested = JSON.stringify(ref) === JSON.stringify({ type: 'ref/resource', uri: template })
  return judge([isShown && isRequested, `the values are not printed; ${summarize(result)}`])
}

async function readsFifty(workspace: Workspace): Promise<Verdict> {
  const unreadable = ['note://demo/7', 'note://demo/41']
  const server = await configurableServer(workspace, {
    ...serverWithNotes('demo', 50),
    readDelayMs: 100,
    unreadable,
  })
  const file = await writeConfig(workspace, { demo: server })
  const script = await workspace.write(
    'model.json',
    JSON.stringify({ turns: [{ say: 'I have read all of them.' }] }),
  )
  const input = Array.from({ length: 50 }, (_, n) => `@demo:note://demo/${n}`).join(' ')
  const chatArgs = ['chat', '--json', '--model', `script:${script}`, '--config', file]
  const result = await workspace.run('jackfield', chatArgs, { input: `${input}\n/quit\n` })
  const reads = (await server.received()).filter(({ method }) => method === 'resources/read').length
  if (reads !== 50) return { kind: 'no', note: `the server received ${reads} reads; ${summarize(result)}` }
  if (server.maxConcurrentReads() > 8)
    return { kind: 'no', note: `${server.maxConcurrentReads()} reads were open at the same time` }
  const reported = unreadable.filter(
    (uri) => outputOf(result).includes(uri) && outputOf(result).includes('on this server'),
  )
  return judge([reported.length === 2, `the two failures are not reported; ${summarize(result)}`])
}

function forSubscribers(era: 'session' | 'stateless'): Script['checks'] {
  const check = async (workspace: Workspace, cli: 'jackfield' | 'mcpdo'): Promise<Verdict> => {
    const server = await configurableServer(workspace, {
      ...serverWithNotes('demo', 2),
      era,
      updateAfterMs: 700,
    })
    const file = await writeConfig(workspace, { demo: server })
    await connectIfNeeded(workspace, cli, file, { demo: server })
    const argv = {
      jackfield: ['watch', 'demo', 'note://demo/1', '--config', file],
      mcpdo: ['@demo', 'resources/subscribe', 'note://demo/1'],
    }
    const subscriber = workspace.start(cli, argv[cli])
    const updatePattern = { jackfield: /changed: note:\/\/demo\/1/, mcpdo: /updated/i }
    try {
      await subscriber.waitFor(updatePattern[cli])
      return { kind: 'yes' }
    } catch {
      return { kind: 'no', note: `the update is not printed; ${summarize(await subscriber.stop())}` }
    }
  }
  return forClis(['jackfield', 'mcpdo'], check, 'no subscriptions to resources')
}

export const scripts: Script[] = [
  {
    id: 'resources-of-many-servers',
    capability: 'C7',
    title: 'List the resources of all configured servers with one command',
    how: 'Two servers with two resources each. The output must contain all four URIs.',
    checks: onlyFor({ jackfield: listsAll }, 'lists the resources of one server at a time'),
  },
  {
    id: 'template-completion',
    capability: 'C7',
    title: 'Complete an argument of a resource template',
    how: 'The server has two values for "an". The output must contain both, and the completion request must refer to the template.',
    checks: forClis(['jackfield', 'mcpdo'], completes, 'no completion'),
  },
  {
    id: 'fifty-reads',
    capability: 'C7',
    title: 'Read fifty resources at once without overloading the server',
    how: 'Fifty reads of 100 ms, two of which fail. The server must receive all of them, at most eight at a time, and both failures must be reported. For Jackfield, one message of a conversation mentions the fifty resources.',
    checks: onlyFor({ jackfield: readsFifty }, 'reads one URI at a time'),
  },
  {
    id: 'told-of-change-in-session',
    capability: 'C7',
    title: 'Subscribe to a resource of a server with sessions',
    how: 'A server of 2025-11-25 sends an update 0.7 s after `resources/subscribe`. The output must show it.',
    checks: forSubscribers('session'),
  },
  {
    id: 'told-of-change-modern',
    capability: 'C7',
    title: 'Subscribe to a resource of a server of revision 2026-07-28',
    how: 'A server of 2026-07-28 sends an update 0.7 s after `subscriptions/listen`. The output must show it.',
    checks: forSubscribers('stateless'),
  },
]
