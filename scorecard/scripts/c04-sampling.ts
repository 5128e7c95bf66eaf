import { choose, retype } from '../choose.ts'
import { answersIn } from '../parked.ts'
import { standInModel } from '../stand-in-model.ts'
import type { Desk, Ran, Script } from '../types.ts'
import { callOf, configure, everyTool, onlyFor, saying, verdict } from '../with.ts'

const lacking = 'no model, and no sampling is declared to servers'

const reviewed: Script = {
  id: 'sampling-seen-and-changed',
  capability: 'C4',
  title: 'See everything a server would ask my model, and change what the server is told',
  how: 'A tool asks the offline model, in a terminal, with reviews of it turned on. System prompt, message and limit must be on the screen before anything is sent; the answer is changed to another, which the server must have received.',
  tools: onlyFor(
    {
      jackfield: async (desk) => {
        const asker = await desk.server('asker')
        const file = await configure(
          desk,
          { shop: asker },
          {
            jackfield: { models: ['offline'], sampling: { reviewOffline: true } },
          },
        )
        const terminal = await desk.terminal('jackfield', ['call', 'shop', 'think', '--config', file])
        await terminal.until('Send this to the model?')
        const shown = terminal.history()
        const told = answersIn(await asker.seen())
        await choose(terminal, 'Send')
        await terminal.until('Return this response to the server?')
        await choose(terminal, 'Edit')
        await terminal.until('◆  Edit')
        retype(terminal, 'Oslo is what I say')
        await terminal.until(/Oslo is what I say[\s\S]*Return this response/)
        await choose(terminal, 'Return it')
        await terminal.exited
        const given = JSON.stringify(answersIn(await asker.seen()))
        const parts = ['You are terse.', 'What is the capital of Norway?', '50 tokens']
        const hidden = parts.filter((part) => !shown.includes(part))
        return verdict(
          [hidden.length === 0, `not shown: ${hidden.join(', ')}`],
          [told.length === 0, 'the server was told something before anybody agreed'],
          [given.includes('Oslo is what I say'), `the server received ${given}`],
        )
      },
    },
    lacking,
  ),
}

const unattended: Script = {
  id: 'sampling-refused-unattended',
  capability: 'C4',
  title: 'A run without a person spends nothing of my model, whatever a server asks',
  how: 'A tool asks for a model from a script, with no answer prepared. The model, which is a program on this machine, must not have been asked, the server must have received no answer of a model, and the call must end.',
  tools: everyTool(async (desk, tool) => {
    await using model = await standInModel(() => ({ say: 'Oslo' }))
    const asker = await desk.server('asker')
    const ran = await callOf(desk, tool, asker, ['think', {}], { env: model.env })
    const given = answersIn(await asker.seen())
    return verdict(
      [model.given().length === 0, 'the model was asked'],
      [given.length === 0, `the server received ${JSON.stringify(given)}`],
      [!ran.timedOut, `the call did not end; ${saying(ran)}`],
    )
  }),
}

const limited: Script = {
  id: 'sampling-limit-per-server',
  capability: 'C4',
  title: 'Limit how often one server may use my model, whatever the others do',
  how: 'Two servers whose requests pass without asking, one request a minute each. A second call of the first server must be refused with the limit named, the first call of the other must get its answer.',
  tools: onlyFor(
    {
      jackfield: async (desk) => {
        const [one, other] = [await desk.server('asker'), await desk.server('asker')]
        const approve = ['request', 'result']
        const sampling = {
          limits: { requestsPerMinute: 1 },
          servers: { one: { approve }, other: { approve } },
        }
        const file = await configure(desk, { one, other }, { jackfield: { models: ['offline'], sampling } })
        const think = (server: string): Promise<Ran> => call(desk, server, file)
        const [first, second, third] = [await think('one'), await think('one'), await think('other')]
        return verdict(
          [first.stdout.includes('given'), `the first request got no answer; ${saying(first)}`],
          [answersIn(await one.seen()).length === 1, `the second request got an answer; ${saying(second)}`],
          [
            /1 requests? a minute/.test(second.stdout + second.stderr),
            `no limit is named; ${saying(second)}`,
          ],
          [third.stdout.includes('given'), `the other server got no answer; ${saying(third)}`],
        )
      },
    },
    lacking,
  ),
}

function call(desk: Desk, server: string, file: string): Promise<Ran> {
  return desk.run('jackfield', ['call', server, 'think', '--config', file])
}

export const scripts: Script[] = [reviewed, unattended, limited]
