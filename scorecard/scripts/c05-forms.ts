import { judge, summarize } from '../checks.ts'
import {
  type AnsweringCli,
  answerQuestion,
  callUntilQuestion,
  forAnsweringClis,
  inputResponsesIn,
} from '../pending-question.ts'
import type { Script } from '../types.ts'

const formValues = {
  name: 'Ann Lee',
  email: 'ann@example.org',
  day: '2026-12-24',
  guests: 2,
  budget: 99.5,
  breakfast: true,
  size: 'large',
  colours: ['red', 'blue'],
}

/** The arguments that accept a form with these values. */
function acceptArgs(cli: AnsweringCli, values: object): string[] {
  const argv = Object.entries(values).map(([key, value]) => `${key}:=${JSON.stringify(value)}`)
  return cli === 'jackfield' ? ['--accept', ...argv] : argv
}

const exactValues: Script = {
  id: 'form-exact-values',
  capability: 'C5',
  title: 'Fill in a form with every type of field',
  how: 'A form with a string, an e-mail address, a date, an integer, a number, a boolean, a single choice and a multiple choice. The server must receive exactly these eight values with their types.',
  checks: forAnsweringClis(async (workspace, cli) => {
    const server = await workspace.fixture('input-requests')
    const question = await callUntilQuestion(workspace, cli, server, 'survey')
    const result = await answerQuestion(workspace, cli, question, acceptArgs(cli, formValues))
    await question.caller?.exit
    const [response] = inputResponsesIn(await server.received())
    return judge(
      [response?.action === 'accept', `the server received no response; ${summarize(result)}`],
      [
        JSON.stringify(response?.content) === JSON.stringify(formValues),
        `the server received ${JSON.stringify(response)}`,
      ],
    )
  }),
}

const correctedMistake: Script = {
  id: 'form-mistake-can-be-corrected',
  capability: 'C5',
  title: 'Correct an invalid value in a form before it is sent',
  how: 'The same form with `nonsense` as the e-mail address, then with a valid one. The error must contain the name of the field, and the server must receive only the valid form.',
  checks: forAnsweringClis(async (workspace, cli) => {
    const server = await workspace.fixture('input-requests')
    const question = await callUntilQuestion(workspace, cli, server, 'survey')
    const rejected = await answerQuestion(
      workspace,
      cli,
      question,
      acceptArgs(cli, { ...formValues, email: 'nonsense' }),
    )
    const sentBefore = inputResponsesIn(await server.received()).length
    await answerQuestion(workspace, cli, question, acceptArgs(cli, formValues))
    await question.caller?.exit
    const responses = inputResponsesIn(await server.received())
    return judge(
      [
        sentBefore === 0,
        `the invalid address was sent to the server, and the call ended; ${summarize(rejected)}`,
      ],
      [
        (rejected.stderr + rejected.stdout).includes('email'),
        `the field is not named; ${summarize(rejected)}`,
      ],
      [
        responses.length === 1 && responses[0]?.action === 'accept',
        `the server received ${JSON.stringify(responses)}`,
      ],
    )
  }),
}

const pageConsent: Script = {
  id: 'page-needs-consent',
  capability: 'C5',
  title: 'See the URL of a page that a server asks to open, before any request is sent to it',
  how: 'A tool sends a URL elicitation for a page on this machine. The output must contain the whole URL, the page must receive no request before the answer, and the server must receive `accept` after it.',
  checks: forAnsweringClis(async (workspace, cli) => {
    const page = await workspace.fixture('web-page', 'http')
    const server = await workspace.fixture('input-requests', page.url ?? '')
    const question = await callUntilQuestion(workspace, cli, server, 'visit')
    const shown =
      cli === 'jackfield' ? (await workspace.run(cli, ['inbox', question.id])).stdout : question.output
    const requestCount = (await page.received()).length
    const result = await answerQuestion(
      workspace,
      cli,
      question,
      cli === 'jackfield' ? ['--accept'] : ['--done'],
    )
    await question.caller?.exit
    const [response] = inputResponsesIn(await server.received())
    return judge(
      [shown.includes(page.url ?? '?'), 'the whole URL is not printed'],
      [requestCount === 0, `${requestCount} requests to the page before the answer`],
      [
        response?.action === 'accept',
        `the server received ${JSON.stringify(response)}; ${summarize(result)}`,
      ],
    )
  }),
}

const passwordField: Script = {
  id: 'password-in-a-form',
  capability: 'C5',
  title: 'Be stopped from sending a password in a form, which servers must not ask for',
  how: 'A form with the fields `user` and `password` is answered with both. The server must not receive the password, and the error must give the reason.',
  checks: forAnsweringClis(async (workspace, cli) => {
    const server = await workspace.fixture('input-requests')
    const question = await callUntilQuestion(workspace, cli, server, 'login')
    const result = await answerQuestion(
      workspace,
      cli,
      question,
      acceptArgs(cli, { user: 'ann', password: 'hunter-22' }),
    )
    if (result.code === 0) await question.caller?.exit
    const isSent = (await server.received()).some(({ raw }) => raw.includes('hunter-22'))
    return judge(
      [!isSent, 'the password was sent to the server without a warning'],
      [/password/i.test(result.stderr), `no reason is given; ${summarize(result)}`],
    )
  }),
}

export const scripts: Script[] = [exactValues, correctedMistake, pageConsent, passwordField]
