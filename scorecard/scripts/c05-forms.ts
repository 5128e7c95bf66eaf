import { answersIn, park, respond } from '../parked.ts'
import type { Desk, Script, Verdict } from '../types.ts'
import { onlyFor, saying, verdict } from '../with.ts'

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

const stay = {
  name: 'Ann Lee',
  email: 'ann@example.org',
  day: '2026-12-24',
  guests: 2,
  budget: 99.5,
  breakfast: true,
  size: 'large',
  colours: ['red', 'blue'],
}

/** The values as both tools take them on the command line. */
function wordsOf(tool: Asked, values: object): string[] {
  const words = Object.entries(values).map(([key, value]) => `${key}:=${JSON.stringify(value)}`)
  return tool === 'jackfield' ? ['--accept', ...words] : words
}

const exact: Script = {
  id: 'form-exact-values',
  capability: 'C5',
  title: 'Fill in a form with every kind of field, and exactly those values are sent',
  how: 'A form with a text, an e-mail address, a date, an integer, a number, a yes or no, one of a list and several of a list; the server must have received exactly the eight values, with their types.',
  tools: ofBoth(async (desk, tool) => {
    const asker = await desk.server('asker')
    const parked = await park(desk, tool, asker, 'survey')
    if ('missing' in parked) return { kind: 'no', note: missing + saying(parked.missing) }
    const ran = await respond(desk, tool, parked, wordsOf(tool, stay))
    await parked.waiting?.ended
    const [given] = answersIn(await asker.seen())
    return verdict(
      [given?.action === 'accept', `the server received nothing; ${saying(ran)}`],
      [
        JSON.stringify(given?.content) === JSON.stringify(stay),
        `the server received ${JSON.stringify(given)}`,
      ],
    )
  }),
}

const corrected: Script = {
  id: 'form-mistake-can-be-corrected',
  capability: 'C5',
  title: 'A slip of the pen in a form is caught here, and I can correct it',
  how: 'The same form with `nonsense` for the e-mail address, then once more with a right one. The server must have received one answer, the right one, and the refusal must have named the field.',
  tools: ofBoth(async (desk, tool) => {
    const asker = await desk.server('asker')
    const parked = await park(desk, tool, asker, 'survey')
    if ('missing' in parked) return { kind: 'no', note: missing + saying(parked.missing) }
    const wrong = await respond(desk, tool, parked, wordsOf(tool, { ...stay, email: 'nonsense' }))
    const sent = answersIn(await asker.seen()).length
    await respond(desk, tool, parked, wordsOf(tool, stay))
    await parked.waiting?.ended
    const given = answersIn(await asker.seen())
    return verdict(
      [sent === 0, `the wrong address was sent to the server, and the call is over; ${saying(wrong)}`],
      [(wrong.stderr + wrong.stdout).includes('email'), `the field is not named; ${saying(wrong)}`],
      [given.length === 1 && given[0]?.action === 'accept', `the server received ${JSON.stringify(given)}`],
    )
  }),
}

const consent: Script = {
  id: 'page-needs-consent',
  capability: 'C5',
  title: 'A page a server sends me to is shown with its address, and nothing opens it before I agree',
  how: 'A tool asks for a visit to a page of a web server on this machine, which counts requests. The whole address must be shown, the page must not have been asked for, and after the yes the server must have received `accept`.',
  tools: ofBoth(async (desk, tool) => {
    const page = await desk.server('page', 'http')
    const asker = await desk.server('asker', page.url ?? '')
    const parked = await park(desk, tool, asker, 'visit')
    if ('missing' in parked) return { kind: 'no', note: missing + saying(parked.missing) }
    const shown = tool === 'jackfield' ? (await desk.run(tool, ['inbox', parked.id])).stdout : parked.shown
    const looked = (await page.seen()).length
    const ran = await respond(desk, tool, parked, tool === 'jackfield' ? ['--accept'] : ['--done'])
    await parked.waiting?.ended
    const [given] = answersIn(await asker.seen())
    return verdict(
      [shown.includes(page.url ?? '?'), 'the whole address is not shown'],
      [looked === 0, `${looked} requests to the page before anybody agreed`],
      [given?.action === 'accept', `the server received ${JSON.stringify(given)}; ${saying(ran)}`],
    )
  }),
}

const secret: Script = {
  id: 'password-in-a-form',
  capability: 'C5',
  title: 'I am stopped when a server asks for my password in a form, which servers must not do',
  how: 'A form with the fields `user` and `password` is answered with both. The server must not have received the password, and the reason must be told.',
  tools: ofBoth(async (desk, tool) => {
    const asker = await desk.server('asker')
    const parked = await park(desk, tool, asker, 'login')
    if ('missing' in parked) return { kind: 'no', note: missing + saying(parked.missing) }
    const ran = await respond(desk, tool, parked, wordsOf(tool, { user: 'ann', password: 'hunter-22' }))
    if (ran.code === 0) await parked.waiting?.ended
    const sent = (await asker.seen()).some(({ raw }) => raw.includes('hunter-22'))
    return verdict(
      [!sent, 'the password was sent to the server without a word'],
      [/password/i.test(ran.stderr), `no reason is told; ${saying(ran)}`],
    )
  }),
}

export const scripts: Script[] = [exact, corrected, consent, secret]
