import type { Readable, Writable } from 'node:stream'
import type { AskInput, HostAnswers, HostQuestion, Surface } from '@jackfield/host'
import { askForm } from '../forms/ask-form.ts'
import { askVisit } from '../forms/ask-visit.ts'
import type { Prompter } from '../forms/prompter.ts'
import { paletteFor } from '../output/palette.ts'
import { askApproval } from './approval.ts'
import { clackPrompter } from './clack.ts'
import { askForInput } from './input.ts'
import { askResult } from './result.ts'
import { reviewRequest, reviewResult } from './sampling.ts'
import { askDrift, askInstall } from './trust.ts'

type Of<K extends HostQuestion['kind']> = Extract<HostQuestion, { kind: K }>

export interface TerminalOptions {
  input: Readable
  output: Writable & { isTTY?: boolean; columns?: number }
  env: NodeJS.ProcessEnv
  /** Called before a question is put and after it is answered, to stop and go on with other output. */
  onAsking?: (asking: boolean) => void
}

/** A terminal also takes the values that configurations want. */
export interface TerminalSurface extends Surface {
  readonly askInput: AskInput
  /** Resolves when the questions that were put so far are off the screen. */
  idle(): Promise<unknown>
}

/** The person at a terminal. Questions are put one after another, in the order they come. */
export function terminalSurface(options: TerminalOptions): TerminalSurface {
  const palette = paletteFor(options.output, options.env)
  let last: Promise<unknown> = Promise.resolve()

  function inTurn<T>(signal: AbortSignal, ask: (prompter: Prompter) => Promise<T>): Promise<T> {
    const turn = last.then(async () => {
      signal.throwIfAborted()
      options.onAsking?.(true)
      try {
        const answer = await ask(clackPrompter({ input: options.input, output: options.output, signal }))
        // A question that was withdrawn while it stood on the screen has no answer.
        signal.throwIfAborted()
        return answer
      } finally {
        options.onAsking?.(false)
      }
    })
    last = turn.catch(() => {})
    return turn
  }

  return {
    name: 'terminal',
    askInput: (server, input) =>
      inTurn(new AbortController().signal, () => askForInput(server, input, options)),
    idle: () => last,
    urlElicitation: true,
    show: {
      approval: (question, signal) =>
        inTurn(signal, (prompter) => askApproval(question, prompter, palette, options.env)),
      result: (question, signal) =>
        inTurn(signal, (prompter) => askResult(question, prompter, palette, options.env)),
      elicitation: ({ cause, params }, signal) =>
        inTurn(signal, (prompter) =>
          params.mode === 'url'
            ? askVisit(params, cause.server, prompter, palette)
            : askForm(params, cause.server, prompter),
        ),
      'sampling-request': (question, signal) =>
        inTurn(signal, (prompter) => reviewRequest(question, prompter, palette, options.env)),
      'sampling-result': (question, signal) =>
        inTurn(signal, (prompter) => reviewResult(question, prompter, palette, options.env)),
      roots: (question, signal) => inTurn(signal, (prompter) => askRoots(question, prompter)),
      install: (question, signal) => inTurn(signal, (prompter) => askInstall(question, prompter, palette)),
      drift: (question, signal) => inTurn(signal, (prompter) => askDrift(question, prompter, palette)),
    },
  }
}

/** Esc leaves the question in the inbox: nobody said no. */
async function askRoots(
  question: Of<'roots'>,
  prompter: Prompter,
): Promise<HostAnswers['roots'] | undefined> {
  prompter.say([
    `${question.cause.server} wants to know which folders you opened to it. It would see:`,
    ...question.roots.map((root) => `  ${root.uri}${root.name === undefined ? '' : `  (${root.name})`}`),
  ])
  const choice = await prompter.select({
    message: 'Tell it?',
    options: [
      { value: 'allow', label: 'Yes, tell it' },
      { value: 'deny', label: 'No, it sees none' },
      {
        value: 'later',
        label: 'Later',
        hint: `leave it in the inbox: jackfield respond ${question.id.slice(0, 8)}`,
      },
    ],
    initial: 'deny',
  })
  return choice === 'allow' || choice === 'deny' ? { verdict: choice } : undefined
}
