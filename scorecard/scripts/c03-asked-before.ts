import { createHash } from 'node:crypto'
import { pause } from '../collected.ts'
import { type OtherProgram, otherProgram } from '../other-program.ts'
import type { Desk, Fixture, Running, Script, Verdict } from '../types.ts'
import { configure, onlyFor, saying, verdict } from '../with.ts'

const noGateway = 'nothing shows the servers to another program'
const noQuestion = 'nothing asks before a call, so there is no question to look at'

interface Asking {
  gateway: Running
  program: OtherProgram
  office: Fixture
  /** The name of a tool of the server, as the gateway calls it. */
  named(tool: string): string
}

async function behindGateway(desk: Desk, tool: 'jackfield' | 'mcporter'): Promise<Asking> {
  const office = await desk.server('office')
  const { command, args } = office
  const file =
    tool === 'jackfield'
      ? await configure(desk, { shop: office })
      : await desk.write(
          'mcporter.json',
          JSON.stringify({ mcpServers: { shop: { command, args, lifecycle: 'keep-alive' } } }),
        )
  const words = tool === 'jackfield' ? ['gateway', '--config', file] : ['serve', '--stdio', '--config', file]
  const gateway = desk.start(tool, words, { limitMs: 120_000 })
  const program = await otherProgram(gateway)
  const names = (await program.request('tools/list', {}))?.result?.tools?.map(({ name }) => name) ?? []
  return { gateway, program, office, named: (own) => names.find((name) => name.endsWith(own)) ?? own }
}

async function calls(office: Fixture): Promise<Record<string, unknown>[]> {
  const seen = await office.seen()
  return seen.flatMap(({ method, params }) => {
    const given = params?.['arguments']
    return method === 'tools/call' && typeof given === 'object' && given !== null ? [{ ...given }] : []
  })
}

/** The id of the one question in Jackfield's inbox, once it is there. */
async function openQuestion(desk: Desk): Promise<string | undefined> {
  for (let tries = 0; tries < 8; tries += 1) {
    const { stdout } = await desk.run('jackfield', ['inbox'])
    const id = /^([0-9a-f]{8})\s/m.exec(stdout)?.[1]
    if (id !== undefined) return id
    await pause(250)
  }
  return undefined
}

const asks: Script = {
  id: 'destructive-call-asks',
  capability: 'C3',
  title: 'Another program uses my servers, and I am asked before it deletes something',
  how: 'A program calls a tool that says it is destructive, through the gateway and with no rules written. Until a person agrees the server must not have received the call, afterwards it must have.',
  tools: onlyFor(
    {
      jackfield: async (desk) => {
        const { program, office, named } = await behindGateway(desk, 'jackfield')
        const answer = program.request('tools/call', {
          name: named('delete_folder'),
          arguments: { path: 'old' },
        })
        const id = await openQuestion(desk)
        if (id === undefined) return { kind: 'no', note: 'no question appeared' }
        const before = await calls(office)
        const ran = await desk.run('jackfield', ['respond', id, '--allow'])
        await answer
        return verdict(
          [before.length === 0, 'the server was called before anybody agreed'],
          [(await calls(office)).length === 1, `agreed, but the server was not called; ${saying(ran)}`],
        )
      },
      mcporter: async (desk) => {
        const { program, office, named, gateway } = await behindGateway(desk, 'mcporter')
        const name = named('delete_folder')
        await program.request('tools/call', { name, arguments: { path: 'old' } }, 15_000)
        const called = (await calls(office)).length
        return verdict(
          [called === 0, 'the call went straight to the server'],
          [false, `the call did not arrive at all; ${gateway.stderr.slice(0, 120)}`],
        )
      },
    },
    noGateway,
  ),
}

const rules = [
  { id: 'keep-these', verdict: 'deny', tool: 'delete_*', arguments: [{ at: '/path', inside: ['keep'] }] },
]

const denied: Script = {
  id: 'deny-by-argument',
  capability: 'C3',
  title: 'Forbid a tool for some arguments only, whichever way the path is written',
  how: 'A rule denies deleting inside the folder `keep`. Deleting `old` must reach the server; `keep/letters` and `old/../keep/letters` must not.',
  tools: onlyFor(
    {
      jackfield: async (desk) => {
        const office = await desk.server('office')
        const file = await configure(desk, { shop: office }, { jackfield: { rules } })
        for (const path of ['old', 'keep/letters', 'old/../keep/letters']) {
          await desk.run('jackfield', ['call', 'shop', 'delete_folder', `path=${path}`, '--config', file])
        }
        const paths = (await calls(office)).map(({ path }) => path)
        return verdict([
          paths.join() === 'old',
          `the server was called with ${paths.join(', ') || 'nothing'}`,
        ])
      },
    },
    'there are no rules about calls',
  ),
}

const letter = Array.from({ length: 65_536 }, (_, n) => `line ${n % 9973} é✓\n`)
  .join('')
  .slice(0, 1_000_000)
const digest = (text: unknown): string => createHash('sha256').update(String(text)).digest('hex')

const whole: Script = {
  id: 'whole-argument-shown',
  capability: 'C3',
  title: 'See all of a long argument before I agree to it, and exactly that is sent',
  how: 'A program sends a letter of a million characters through the gateway. What the question shows must have the SHA-256 of the letter, and so must what the server received after the yes.',
  tools: onlyFor(
    {
      jackfield: async (desk) => {
        const { program, office, named } = await behindGateway(desk, 'jackfield')
        const answer = program.request('tools/call', {
          name: named('send_letter'),
          arguments: { text: letter },
        })
        const id = await openQuestion(desk)
        if (id === undefined) return { kind: 'no', note: 'no question appeared' }
        const shown = await desk.run('jackfield', ['inbox', id, '--json'])
        const text = longest(JSON.parse(shown.stdout))
        await desk.run('jackfield', ['respond', id, '--allow'])
        await answer
        const sent = (await calls(office))[0]?.['text']
        return verdict(
          [digest(text) === digest(letter), `shown were ${text.length} characters, not the letter`],
          [digest(sent) === digest(letter), 'the server received something else'],
        )
      },
    },
    noQuestion,
  ),
}

/** The longest text anywhere in a value. */
function longest(value: unknown): string {
  if (typeof value === 'string') return value
  if (typeof value !== 'object' || value === null) return ''
  return Object.values(value)
    .map(longest)
    .reduce((one, other) => (other.length > one.length ? other : one), '')
}

const edited: Script = {
  id: 'edited-arguments-are-sent',
  capability: 'C3',
  title: 'Change the arguments while I agree, and the changed ones are sent',
  how: 'A program wants to delete `everything`; the answer allows the call with the path `old`. The server must have received `old` alone.',
  tools: onlyFor(
    {
      jackfield: async (desk) => {
        const { program, office, named } = await behindGateway(desk, 'jackfield')
        const name = named('delete_folder')
        const answer = program.request('tools/call', { name, arguments: { path: 'everything' } })
        const id = await openQuestion(desk)
        if (id === undefined) return { kind: 'no', note: 'no question appeared' }
        const ran = await desk.run('jackfield', ['respond', id, '--allow', '--args', '{"path":"old"}'])
        await answer
        const paths = (await calls(office)).map(({ path }) => path)
        return verdict([paths.join() === 'old', `received ${paths.join(', ') || 'nothing'}; ${saying(ran)}`])
      },
    },
    noQuestion,
  ),
}

const named: Script = {
  id: 'says-which-rule',
  capability: 'C3',
  title: 'When a call is refused, learn which rule did it and where it stands; ask beforehand, too',
  how: 'The refused call and `policy explain` must both name the rule `keep-these`, one of them with its file; the second must not have called the server.',
  tools: onlyFor(
    {
      jackfield: async (desk): Promise<Verdict> => {
        const office = await desk.server('office')
        const file = await configure(desk, { shop: office }, { jackfield: { rules } })
        const words = ['shop', 'delete_folder', 'path=keep/letters', '--config', file]
        const refused = await desk.run('jackfield', ['call', ...words])
        const explained = await desk.run('jackfield', ['policy', 'explain', ...words])
        const told = [refused.stderr + refused.stdout, explained.stdout]
        return verdict(
          [told.every((text) => text.includes('keep-these')), `not named; ${saying(refused)}`],
          [told.some((text) => text.includes('servers.json')), `no file is named; ${saying(explained)}`],
          [(await calls(office)).length === 0, 'the server was called'],
        )
      },
    },
    'there are no rules about calls',
  ),
}

export const scripts: Script[] = [asks, denied, whole, edited, named]
