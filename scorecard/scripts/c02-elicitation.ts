import { judge, summarize } from '../checks.ts'
import { writeConfig } from '../commands.ts'
import {
  answerQuestion,
  callUntilQuestion,
  forAnsweringClis,
  inputResponsesIn,
  killEverything,
} from '../pending-question.ts'
import type { FixtureServer, Script, Workspace } from '../types.ts'

const acceptArgs = { jackfield: ['--accept', 'seat=12A'], mcpdo: ['seat:="12A"'] }
const otherAcceptArgs = { jackfield: ['--accept', 'seat=1C'], mcpdo: ['seat:="1C"'] }

const withoutTerminal: Script = {
  id: 'answer-without-a-terminal',
  capability: 'C2',
  title: 'Answer an elicitation from a script, for servers of both protocol eras',
  how: 'A tool asks for a seat, on a server of 2025-11-25 and on one of 2026-07-28. Both must receive `accept` with seat 12A. Jackfield reads the answer from a file, mcpdo gets it by `elicitation/respond`.',
  checks: forAnsweringClis(async (workspace, cli) => {
    for (const era of ['session', 'stateless']) {
      const server = await workspace.fixture('input-requests', era)
      const output =
        cli === 'jackfield'
          ? await answerFromFile(workspace, server)
          : await answerWithMcpdo(workspace, server)
      const responses = inputResponsesIn(await server.received())
      const isAccepted = responses.length === 1 && responses[0]?.action === 'accept'
      if (!isAccepted || !JSON.stringify(responses[0]).includes('12A')) {
        return { kind: 'no', note: `${era}: the server received ${JSON.stringify(responses)}; ${output}` }
      }
      if (cli === 'mcpdo') await workspace.run('mcpdo', ['disconnect', 'shop'])
    }
    return { kind: 'yes' }
  }),
}

async function answerFromFile(workspace: Workspace, server: FixtureServer): Promise<string> {
  const file = await writeConfig(workspace, { shop: server })
  const entry = { match: 'seat', action: 'accept', content: { seat: '12A' } }
  const answers = await workspace.write('answers.json', JSON.stringify({ elicitation: [entry] }))
  return summarize(
    await workspace.run('jackfield', ['call', 'shop', 'book', '--answers', answers, '--config', file]),
  )
}

async function answerWithMcpdo(workspace: Workspace, server: FixtureServer): Promise<string> {
  const question = await callUntilQuestion(workspace, 'mcpdo', server, 'book')
  return summarize(await answerQuestion(workspace, 'mcpdo', question, acceptArgs.mcpdo))
}

const fromOtherProcess: Script = {
  id: 'answer-from-elsewhere',
  capability: 'C2',
  title: 'List open questions in a second terminal and answer one there',
  how: 'A call waits for an answer. A second process must list the open question without being given its id, and answer it. The server must receive the answer.',
  checks: forAnsweringClis(async (workspace, cli) => {
    const server = await workspace.fixture('input-requests')
    const question = await callUntilQuestion(workspace, cli, server, 'book')
    const listing =
      cli === 'jackfield'
        ? await workspace.run(cli, ['inbox'])
        : await workspace.run(cli, ['connections/show', '@shop', '--format', 'json'])
    if (!listing.stdout.includes(question.id)) {
      const note =
        'no command lists open questions; a second terminal needs the id that the first one printed'
      return { kind: 'no', note }
    }
    const result = await answerQuestion(workspace, cli, question, acceptArgs[cli])
    await question.caller?.exit
    const responses = inputResponsesIn(await server.received())
    return judge([responses[0]?.action === 'accept', `the server received no answer; ${summarize(result)}`])
  }),
}

const afterRestart: Script = {
  id: 'answer-after-a-restart',
  capability: 'C2',
  title: 'Answer a question after a restart of the computer, and complete the call',
  how: 'A server of 2026-07-28 asks a question, then all processes are killed. A new process answers. The restarted server must receive the answer with its own `requestState`.',
  checks: forAnsweringClis(async (workspace, cli) => {
    const server = await workspace.fixture('stateless-booking')
    const question = await callUntilQuestion(workspace, cli, server, 'book')
    await killEverything(workspace)
    const firstTry = await answerQuestion(workspace, cli, question, acceptArgs[cli])
    // The lock of a killed daemon can remain for a moment.
    const isLocked = firstTry.stderr.includes('daemon_start_timeout')
    const result = isLocked ? await answerQuestion(workspace, cli, question, acceptArgs[cli]) : firstTry
    const lastCall = (await server.received()).findLast(({ method }) => method === 'tools/call')
    const responses = inputResponsesIn(lastCall === undefined ? [] : [lastCall])
    return judge(
      [responses[0]?.action === 'accept', `the call was lost; ${summarize(result)}`],
      [lastCall?.params?.['requestState'] === 'seat wanted', 'the server did not get its state back'],
      [result.stdout.includes('booked 12A'), `the result is not printed; ${summarize(result)}`],
    )
  }),
}

const silenceIsNoDecline: Script = {
  id: 'silence-is-no-decline',
  capability: 'C2',
  title: 'Exit without an answer, and do not decline on behalf of the user',
  how: 'A server of 2025-11-25 waits for an answer while the client is stopped in its regular way. The server must not receive `decline`.',
  checks: forAnsweringClis(async (workspace, cli) => {
    const server = await workspace.fixture('input-requests', 'session')
    const question = await callUntilQuestion(workspace, cli, server, 'book')
    if (cli === 'mcpdo') await workspace.run(cli, ['daemon', 'stop'])
    await question.caller?.stop()
    const responses = inputResponsesIn(await server.received())
    return judge([
      responses.every(({ action }) => action !== 'decline'),
      `the server received ${JSON.stringify(responses)}`,
    ])
  }),
}

const secondAnswer: Script = {
  id: 'second-answer-refused',
  capability: 'C2',
  title: 'Answer a question twice: the first answer is sent, the second is rejected',
  how: 'Two processes answer 12A and 1C at the same time. The server must receive exactly one answer, and exactly one process must exit with a non-zero exit code.',
  checks: forAnsweringClis(async (workspace, cli) => {
    const server = await workspace.fixture('input-requests')
    const question = await callUntilQuestion(workspace, cli, server, 'book')
    const results = await Promise.all(
      [acceptArgs, otherAcceptArgs].map((argv) => answerQuestion(workspace, cli, question, argv[cli])),
    )
    await question.caller?.exit
    const responses = inputResponsesIn(await server.received())
    const rejected = results.filter(({ code }) => code !== 0)
    return judge(
      [responses.length === 1, `the server received ${JSON.stringify(responses)}`],
      [rejected.length === 1, `${rejected.length} of the two processes exited with a non-zero exit code`],
    )
  }),
}

export const scripts: Script[] = [
  withoutTerminal,
  fromOtherProcess,
  afterRestart,
  silenceIsNoDecline,
  secondAnswer,
]
