import { answersIn, park, powerCut, respond } from '../parked.ts'
import type { Desk, Script, Verdict } from '../types.ts'
import { configure, onlyFor, saying, verdict } from '../with.ts'

const lacking = 'nothing answers what a server asks; it declares no elicitation'
const missing = 'no question appeared: '
type Asked = 'jackfield' | 'mcpdo'

function ofBoth(check: (desk: Desk, tool: Asked) => Promise<Verdict>): Script['tools'] {
  const tools = {
    jackfield: (desk: Desk) => check(desk, 'jackfield'),
    mcpdo: (desk: Desk) => check(desk, 'mcpdo'),
  }
  return onlyFor(tools, lacking)
}

const values = { jackfield: ['--accept', 'seat=12A'], mcpdo: ['seat:="12A"'] }
const other = { jackfield: ['--accept', 'seat=1C'], mcpdo: ['seat:="1C"'] }

const headless: Script = {
  id: 'answer-without-a-terminal',
  capability: 'C2',
  title: 'Answer what a server asks from a script, on servers of both eras',
  how: 'A tool asks for a seat, once of a server of 2025-11-25 and once of 2026-07-28; the server must have received `accept` with the seat 12A both times. Jackfield has the answer in a file, mcpdo gives it with `elicitation/respond`.',
  tools: ofBoth(async (desk, tool) => {
    for (const era of ['session', 'modern']) {
      const asker = await desk.server('asker', era)
      const said = tool === 'jackfield' ? await fromFile(desk, asker) : await responded(desk, asker)
      const given = answersIn(await asker.seen())
      const right = given.length === 1 && given[0]?.action === 'accept'
      if (!right || !JSON.stringify(given[0]).includes('12A')) {
        return { kind: 'no', note: `${era}: the server received ${JSON.stringify(given)}; ${said}` }
      }
      if (tool === 'mcpdo') await desk.run('mcpdo', ['disconnect', 'shop'])
    }
    return { kind: 'yes' }
  }),
}

async function fromFile(desk: Desk, asker: Parameters<typeof park>[2]): Promise<string> {
  const file = await configure(desk, { shop: asker })
  const entry = { match: 'seat', action: 'accept', content: { seat: '12A' } }
  const answers = await desk.write('answers.json', JSON.stringify({ elicitation: [entry] }))
  return saying(await desk.run('jackfield', ['call', 'shop', 'book', '--answers', answers, '--config', file]))
}

async function responded(desk: Desk, asker: Parameters<typeof park>[2]): Promise<string> {
  const parked = await park(desk, 'mcpdo', asker, 'book')
  if ('missing' in parked) return missing + saying(parked.missing)
  return saying(await respond(desk, 'mcpdo', parked, values.mcpdo))
}

const elsewhere: Script = {
  id: 'answer-from-elsewhere',
  capability: 'C2',
  title: 'See the open question in another window, and answer it there',
  how: 'The call is left waiting. A second program lists the open questions by itself, without the id from the first, and answers; the server must have received the answer.',
  tools: ofBoth(async (desk, tool) => {
    const asker = await desk.server('asker')
    const parked = await park(desk, tool, asker, 'book')
    if ('missing' in parked) return { kind: 'no', note: missing + saying(parked.missing) }
    const list =
      tool === 'jackfield'
        ? await desk.run(tool, ['inbox'])
        : await desk.run(tool, ['connections/show', '@shop', '--format', 'json'])
    if (!list.stdout.includes(parked.id)) {
      const note = 'no command lists open questions; another window needs the id that the first one showed'
      return { kind: 'no', note }
    }
    const ran = await respond(desk, tool, parked, values[tool])
    await parked.waiting?.ended
    const given = answersIn(await asker.seen())
    return verdict([given[0]?.action === 'accept', `the server received no answer; ${saying(ran)}`])
  }),
}

const restart: Script = {
  id: 'answer-after-a-restart',
  capability: 'C2',
  title: 'Answer a question after the computer was restarted in between, and the call goes on',
  how: 'A server of 2026-07-28 asks; then every process is killed. A new program answers; the server, started anew, must have received the answer with the state it gave.',
  tools: ofBoth(async (desk, tool) => {
    const asker = await desk.server('keeper')
    const parked = await park(desk, tool, asker, 'book')
    if ('missing' in parked) return { kind: 'no', note: missing + saying(parked.missing) }
    await powerCut(desk)
    const first = await respond(desk, tool, parked, values[tool])
    // The lock of a killed daemon may stand for a moment.
    const locked = first.stderr.includes('daemon_start_timeout')
    const ran = locked ? await respond(desk, tool, parked, values[tool]) : first
    const last = (await asker.seen()).findLast(({ method }) => method === 'tools/call')
    const given = answersIn(last === undefined ? [] : [last])
    return verdict(
      [given[0]?.action === 'accept', `the call is gone; ${saying(ran)}`],
      [last?.params?.['requestState'] === 'seat wanted', 'the state of the server did not come back'],
      [ran.stdout.includes('booked 12A'), `the result is not shown; ${saying(ran)}`],
    )
  }),
}

const noDecline: Script = {
  id: 'silence-is-no-decline',
  capability: 'C2',
  title: 'A question that nobody answered is not told to the server as a no',
  how: 'A server of 2025-11-25, which waits for the answer, asks; then the program that asked is ended in its regular way. The server must not have received `decline`.',
  tools: ofBoth(async (desk, tool) => {
    const asker = await desk.server('asker', 'session')
    const parked = await park(desk, tool, asker, 'book')
    if ('missing' in parked) return { kind: 'no', note: missing + saying(parked.missing) }
    if (tool === 'mcpdo') await desk.run(tool, ['daemon', 'stop'])
    await parked.waiting?.stop()
    const given = answersIn(await asker.seen())
    return verdict([
      given.every(({ action }) => action !== 'decline'),
      `the server was told ${JSON.stringify(given)}`,
    ])
  }),
}

const second: Script = {
  id: 'second-answer-refused',
  capability: 'C2',
  title: 'Two people answer the same question: one answer counts, and the second person is told',
  how: 'The answers 12A and 1C are given by two programs at the same time. The server must have received exactly one, and exactly one program must end with an exit code that is not 0.',
  tools: ofBoth(async (desk, tool) => {
    const asker = await desk.server('asker')
    const parked = await park(desk, tool, asker, 'book')
    if ('missing' in parked) return { kind: 'no', note: missing + saying(parked.missing) }
    const both = await Promise.all([values, other].map((words) => respond(desk, tool, parked, words[tool])))
    await parked.waiting?.ended
    const given = answersIn(await asker.seen())
    const refused = both.filter(({ code }) => code !== 0)
    return verdict(
      [given.length === 1, `the server received ${JSON.stringify(given)}`],
      [refused.length === 1, `${refused.length} of the two programs say that their answer did not count`],
    )
  }),
}

export const scripts: Script[] = [headless, elsewhere, restart, noDecline, second]
