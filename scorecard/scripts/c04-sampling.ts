import type { Terminal } from '../../scripts/terminal/terminal.ts'
import { everyCli, judge, onlyFor, summarize } from '../checks.ts'
import { callTool, writeConfig } from '../commands.ts'
import { startFakeModel } from '../fake-model.ts'
import { inputResponsesIn } from '../pending-question.ts'
import type { ProcessResult, Script } from '../types.ts'

const absence = 'declares no sampling'

const reviewedSampling: Script = {
  id: 'sampling-seen-and-changed',
  capability: 'C4',
  title: 'Review a sampling request before it is sent, and edit the response',
  how: 'A tool sends a sampling request for the offline model, whose reviews are enabled. The terminal must show the system prompt, the message and the token limit before anything is sent. The server must receive the edited response.',
  checks: onlyFor(
    {
      jackfield: async (workspace) => {
        const server = await workspace.fixture('input-requests')
        const file = await writeConfig(
          workspace,
          { shop: server },
          {
            jackfield: { models: ['offline'], sampling: { reviewOffline: true } },
          },
        )
        const terminal = await workspace.terminal('jackfield', ['call', 'shop', 'think', '--config', file])
        await terminal.until('Send this to the model?')
        const shown = terminal.history()
        const responsesBefore = inputResponsesIn(await server.received())
        await choose(terminal, 'Send')
        await terminal.until('Return this response to the server?')
        await choose(terminal, 'Edit')
        await terminal.until('◆  Edit')
        // Ctrl+U deletes the current text.
        terminal.type('\u0015The edited response\r')
        await terminal.until(/The edited response[\s\S]*Return this response/)
        await choose(terminal, 'Return it')
        await terminal.exited
        const response = JSON.stringify(inputResponsesIn(await server.received()))
        const expected = ['You are terse.', 'What is the capital of Norway?', '50 tokens']
        const missing = expected.filter((text) => !shown.includes(text))
        return judge(
          [missing.length === 0, `not shown: ${missing.join(', ')}`],
          [responsesBefore.length === 0, 'the server received a response before the review'],
          [response.includes('The edited response'), `the server received ${response}`],
        )
      },
    },
    absence,
  ),
}

const refusedUnattended: Script = {
  id: 'sampling-refused-unattended',
  capability: 'C4',
  title: 'Use no model for a server in a run without a terminal',
  how: 'A call from a script, of a tool that sends a sampling request, without prepared answers. The model, an HTTP server on this machine, must receive no request, the server must receive no response to its own, and the call must end.',
  checks: everyCli(async (workspace, cli) => {
    await using model = await startFakeModel(() => ({ say: 'Oslo' }))
    const server = await workspace.fixture('input-requests')
    const result = await callTool(workspace, cli, server, ['think', {}], { env: model.env })
    const responses = inputResponsesIn(await server.received())
    return judge(
      [model.received().length === 0, 'the model received a request'],
      [responses.length === 0, `the server received ${JSON.stringify(responses)}`],
      [!result.timedOut, `the call did not end; ${summarize(result)}`],
    )
  }),
}

const limitPerServer: Script = {
  id: 'sampling-limit-per-server',
  capability: 'C4',
  title: 'Limit sampling requests per server',
  how: 'Two servers are allowed one sampling request a minute each, without reviews. The second request of the first server must be refused with a message about the limit. The first request of the other server must get a response.',
  checks: onlyFor(
    {
      jackfield: async (workspace) => {
        const [one, other] = [
          await workspace.fixture('input-requests'),
          await workspace.fixture('input-requests'),
        ]
        const approve = ['request', 'result']
        const sampling = {
          limits: { requestsPerMinute: 1 },
          servers: { one: { approve }, other: { approve } },
        }
        const file = await writeConfig(
          workspace,
          { one, other },
          { jackfield: { models: ['offline'], sampling } },
        )
        const callThink = (server: string): Promise<ProcessResult> =>
          workspace.run('jackfield', ['call', server, 'think', '--config', file])
        const [first, second, third] = [
          await callThink('one'),
          await callThink('one'),
          await callThink('other'),
        ]
        return judge(
          [first.stdout.includes('client sent'), `the first request got no response; ${summarize(first)}`],
          [
            inputResponsesIn(await one.received()).length === 1,
            `the second request got a response; ${summarize(second)}`,
          ],
          [
            /1 requests? a minute/.test(second.stdout + second.stderr),
            `the limit is not mentioned; ${summarize(second)}`,
          ],
          [third.stdout.includes('client sent'), `the other server got no response; ${summarize(third)}`],
        )
      },
    },
    absence,
  ),
}

/** Selects a choice of a list in a terminal. */
async function choose(terminal: Terminal, label: string): Promise<void> {
  for (let steps = 0; steps < 20; steps += 1) {
    if (terminal.screen().some((line) => line.includes(`● ${label}`) || line.includes(`❯ ${label}`))) {
      terminal.press('enter')
      return
    }
    const before = terminal.screen().join('\n')
    terminal.press('down')
    await waitForChange(terminal, before)
  }
  throw new Error(`There is no choice "${label}" on the screen:\n${terminal.screen().join('\n').trim()}`)
}

/** Waits until the screen has changed, for up to a second. */
async function waitForChange(terminal: Terminal, before: string): Promise<void> {
  const deadline = performance.now() + 1000
  while (terminal.screen().join('\n') === before && performance.now() < deadline) {
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}

export const scripts: Script[] = [reviewedSampling, refusedUnattended, limitPerServer]
