import type { Part } from '../fixtures/part.ts'
import { allOf, decided, joinMcpdo, noneHas, playing } from '../playing.ts'
import type { Desk, Script, Verdict } from '../types.ts'
import { configure, saying } from '../with.ts'

function drawer(name: string, count: number): Part {
  const resources = Array.from({ length: count }, (_, n) => ({
    uri: `note://${name}/${n}`,
    name: `${name} ${n}`,
  }))
  return { name, resources }
}

async function listsAll(desk: Desk): Promise<Verdict> {
  const [north, south] = [await playing(desk, drawer('north', 2)), await playing(desk, drawer('south', 2))]
  const file = await configure(desk, { north, south })
  const ran = await desk.run('jackfield', ['resources', '--config', file])
  const wanted = ['note://north/0', 'note://north/1', 'note://south/0', 'note://south/1']
  return decided(
    ran.code === 0 && wanted.every((uri) => ran.stdout.includes(uri)),
    `not all four are listed; ${saying(ran)}`,
  )
}

const template = 'note://{what}'
const completing: Part = {
  name: 'den',
  resources: [],
  templates: [{ uriTemplate: template, name: 'a note' }],
  completions: { what: ['anchor', 'anvil', 'ball'] },
}

async function completes(desk: Desk, tool: 'jackfield' | 'mcpdo'): Promise<Verdict> {
  const den = await playing(desk, completing)
  const file = await configure(desk, { den })
  if (tool === 'mcpdo') await joinMcpdo(desk, file, ['den'])
  const asked = ['--complete-ref-type', 'ref/resource', '--complete-ref', template]
  const argument = ['--complete-arg-name', 'what', '--complete-arg-value', 'an']
  const words = {
    jackfield: ['complete', 'den', template, 'what', 'an', '--config', file],
    mcpdo: ['@den', 'prompts/complete', ...asked, ...argument],
  }
  const ran = await desk.run(tool, words[tool])
  const isThere =
    ran.stdout.includes('anchor') && ran.stdout.includes('anvil') && !ran.stdout.includes('ball')
  const ref = (await den.seen()).find(({ method }) => method === 'completion/complete')?.params?.['ref']
  const isAsked = JSON.stringify(ref) === JSON.stringify({ type: 'ref/resource', uri: template })
  return decided(isThere && isAsked, `the suggestions are not shown; ${saying(ran)}`)
}

async function readsFifty(desk: Desk): Promise<Verdict> {
  const unreadable = ['note://den/7', 'note://den/41']
  const den = await playing(desk, { ...drawer('den', 50), readMs: 100, unreadable })
  const file = await configure(desk, { den })
  const script = await desk.write('model.json', JSON.stringify({ turns: [{ say: 'I have read them.' }] }))
  const line = Array.from({ length: 50 }, (_, n) => `@den:note://den/${n}`).join(' ')
  const chat = ['chat', '--json', '--model', `script:${script}`, '--config', file]
  const ran = await desk.run('jackfield', chat, { input: `${line}\n/quit\n` })
  const reads = (await den.seen()).filter(({ method }) => method === 'resources/read').length
  if (reads !== 50) return { kind: 'no', note: `${reads} reads arrived; ${saying(ran)}` }
  if (den.mostReads() > 8) return { kind: 'no', note: `${den.mostReads()} reads were under way at once` }
  const named = unreadable.filter((uri) => allOf(ran).includes(uri) && allOf(ran).includes('in the drawer'))
  return decided(named.length === 2, `the two that failed are not named; ${saying(ran)}`)
}

function told(era: 'session' | 'modern') {
  return async (desk: Desk, tool: 'jackfield' | 'mcpdo'): Promise<Verdict> => {
    const den = await playing(desk, { ...drawer('den', 2), era, changesAfterMs: 700 })
    const file = await configure(desk, { den })
    if (tool === 'mcpdo') await joinMcpdo(desk, file, ['den'])
    const words = {
      jackfield: ['watch', 'den', 'note://den/1', '--config', file],
      mcpdo: ['@den', 'resources/subscribe', 'note://den/1'],
    }
    const watching = desk.start(tool, words[tool])
    const shown = { jackfield: /changed: note:\/\/den\/1/, mcpdo: /updated/i }
    try {
      await watching.until(shown[tool])
      return { kind: 'yes' }
    } catch {
      return { kind: 'no', note: `nothing is told of the change; ${saying(await watching.stop())}` }
    }
  }
}

const oneServer = 'resources of one server at a time'
const noWatching = 'no watching of resources'

export const scripts: Script[] = [
  {
    id: 'resources-of-many-servers',
    capability: 'C7',
    title: 'See the resources of all my servers in one list.',
    how: 'Two servers with two resources each; one command has to print all four URIs.',
    tools: { ...noneHas(oneServer), jackfield: listsAll },
  },
  {
    id: 'template-completion',
    capability: 'C7',
    title: 'Have the argument of a resource template completed by the server.',
    how: 'The server suggests two values for "an"; both have to be shown, and the server must have been asked about the template.',
    tools: {
      ...noneHas('no completion'),
      jackfield: (desk) => completes(desk, 'jackfield'),
      mcpdo: (desk) => completes(desk, 'mcpdo'),
    },
  },
  {
    id: 'fifty-reads',
    capability: 'C7',
    title: 'Read fifty resources in one go, without flooding the server.',
    how: 'Fifty reads of 100 ms, two of which fail: all must arrive, never more than eight at once, and the two must be named. In Jackfield one line of a conversation names all fifty.',
    tools: { ...noneHas('reads one URI'), jackfield: readsFifty },
  },
  {
    id: 'told-of-change-in-session',
    capability: 'C7',
    title: 'Be told when a resource changes, by a server with sessions.',
    how: 'A server of 2025-11-25 says 0.7 s after `resources/subscribe` that the resource changed; the tool has to show it.',
    tools: {
      ...noneHas(noWatching),
      jackfield: (desk) => told('session')(desk, 'jackfield'),
      mcpdo: (desk) => told('session')(desk, 'mcpdo'),
    },
  },
  {
    id: 'told-of-change-modern',
    capability: 'C7',
    title: 'Be told when a resource changes, by a server of 2026-07-28.',
    how: 'A server of 2026-07-28 alone says 0.7 s after `subscriptions/listen` that the resource changed; the tool has to show it.',
    tools: {
      ...noneHas(noWatching),
      jackfield: (desk) => told('modern')(desk, 'jackfield'),
      mcpdo: (desk) => told('modern')(desk, 'mcpdo'),
    },
  },
]
