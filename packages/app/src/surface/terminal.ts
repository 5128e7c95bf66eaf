import type { Readable, Writable } from 'node:stream'
import type { ConfigInput, HostQuestion, Surface } from '@jackfield/host'
import { type JsonObject, McpError, type Tool } from '@jackfield/sdk'
import { respondCommand } from '../forms/later-choice.ts'
import { type Cancelled, cancelled, type Prompter } from '../forms/prompter.ts'
import type { ScreenView } from '../forms/screen.ts'
import { paletteFor } from '../output/palette.ts'
import { oneLine } from '../output/sanitize.ts'
import type { KeyGate, MessageTyping } from './key-gate.ts'

export interface TerminalOptions {
  input: Readable
  output: Writable & { isTTY?: boolean; columns?: number }
  env: NodeJS.ProcessEnv
  /** The store, if not the default one, for the command that answers a deferred question. */
  store?: string
  /** Called when the user cancelled a question with Ctrl+C. */
  onInterrupt?: () => void
  /** Called before a question is shown and after it is answered, to pause and resume other output. */
  onAsking?: (asking: boolean) => void
  /** The message line. A question that appears while the user types accepts no keys until they pause. */
  message?: MessageTyping
}

/** A terminal surface also asks for values of an installation and for call arguments. */
export interface TerminalSurface extends Surface {
  /** Asks for a value outside of a question; undefined if the user cancels. */
  readonly askInput: (server: string, input: ConfigInput) => Promise<string | undefined>
  /** Asks for a tool's arguments in a form; undefined if the user cancels. */
  readonly askArguments: (
    tool: Tool,
    given: JsonObject,
    signal: AbortSignal,
  ) => Promise<JsonObject | undefined>
  /** Shows a view. Like a question it has the terminal to itself, and questions wait until it ends. */
  readonly screen: <T>(view: ScreenView<T>, signal: AbortSignal) => Promise<T | Cancelled>
  /** Resolves when no question is on the screen and the host has applied every answer. */
  idle(): Promise<void>
}

const stopTyping = 'Your keys still go to your message: stop typing to answer'

/** The user at a terminal. Questions are shown one at a time, in order of arrival. */
export function terminalSurface(options: TerminalOptions): TerminalSurface {
  const palette = paletteFor(options.output, options.env)
  let last: Promise<unknown> = Promise.resolve()

  function inTurn<T>(
    signal: AbortSignal,
    ask: (prompter: Prompter, keys: { input: Readable; hint?: () => string | undefined }) => Promise<T>,
    { isQuestion = true, hasAddress = false }: { isQuestion?: boolean; hasAddress?: boolean } = {},
  ): Promise<T> {
    const turn = last.then(async () => {
      signal.throwIfAborted()
      const isTyping = isQuestion && options.message?.isTyping === true
      let gate: KeyGate | undefined
      options.onAsking?.(true)
      try {
        // Loaded on demand: most commands ask nothing.
        const { clackPrompter } = await import('./clack.ts')
        const interrupted = new AbortController()
        const { output, env, message } = options
        if (isTyping && message !== undefined) {
          const { KeyGate } = await import('./key-gate.ts')
          gate = new KeyGate(options.input, message)
        }
        const input = gate ?? options.input
        const keys = { input, hint: () => (gate?.isClosed === true ? stopTyping : undefined) }
        const prompter = clackPrompter({
          ...{ output, env, ...keys },
          ...(options.store !== undefined && { store: options.store }),
          signal: AbortSignal.any([signal, interrupted.signal]),
          onInterrupt() {
            options.onInterrupt?.()
            interrupted.abort(new McpError('CANCELLED', 'The user interrupted the question'))
          },
        })
        const answer = await ask(prompter, keys)
        if (signal.aborted && !interrupted.signal.aborted && signal.reason instanceof Error)
          prompter.say([
            `${oneLine(signal.reason.message)}.`,
            ...(hasAddress ? ['The address above is no longer needed.'] : []),
          ])
        // A question that was withdrawn or interrupted while on the screen has no answer.
        signal.throwIfAborted()
        interrupted.signal.throwIfAborted()
        return answer
      } finally {
        gate?.release()
        options.onAsking?.(false)
      }
    })
    last = turn.catch(() => {})
    return turn
  }

  async function idle(): Promise<void> {
    for (let seen: Promise<unknown> | undefined; seen !== last; ) {
      seen = last
      await seen
      // The host applies an answer in microtasks after this one; an event loop turn later it is stored.
      await new Promise(setImmediate)
    }
  }

  /** Shows a question; for a deferred one, prints how to answer it. */
  function showQuestion<T>(
    question: HostQuestion,
    signal: AbortSignal,
    ask: (prompter: Prompter) => Promise<T | undefined>,
  ): Promise<T | undefined> {
    const hasAddress =
      question.kind === 'login' || (question.kind === 'elicitation' && question.params.mode === 'url')
    return inTurn(
      signal,
      async (prompter) => {
        const answer = await ask(prompter)
        if (answer === undefined && !signal.aborted)
          prompter.say([
            'Left in the inbox. The request continues once it is answered, in any window:',
            `  ${respondCommand(question.id, options.store)}`,
          ])
        return answer
      },
      { hasAddress },
    )
  }

  function askInput(
    server: string,
    input: ConfigInput,
    signal: AbortSignal,
    onInterrupt: () => void,
  ): Promise<string | undefined> {
    return inTurn(signal, async (_prompter, keys) => {
      const { askForInput } = await import('./input.ts')
      return askForInput(server, input, {
        ...keys,
        ...{ output: options.output, signal },
        onInterrupt() {
          onInterrupt()
          options.onInterrupt?.()
        },
      })
    })
  }

  return {
    name: 'terminal',
    askInput: (server, input) => askInput(server, input, new AbortController().signal, () => {}),
    askArguments: (tool, given, signal) =>
      inTurn(signal, async (prompter) => {
        const { askArguments } = await import('../forms/ask-arguments.ts')
        return askArguments(tool, given, prompter, palette)
      }),
    // A view opened by the user needs no key gate.
    screen: (view, signal) =>
      inTurn(signal, async (prompter) => prompter.screen?.(view) ?? cancelled, {
        isQuestion: false,
      }),
    idle,
    urlElicitation: true,
    show: {
      approval: (question, signal) =>
        showQuestion(question, signal, async (prompter) =>
          (await import('./approval.ts')).askApproval(question, prompter, palette, options.env),
        ),
      result: (question, signal) =>
        showQuestion(question, signal, async (prompter) =>
          (await import('./result.ts')).askResult(question, prompter, palette, options.env),
        ),
      elicitation: (question, signal) =>
        showQuestion(question, signal, async (prompter) =>
          (await import('../forms/ask-elicitation.ts')).askElicitation(question, prompter, palette),
        ),
      'sampling-request': (question, signal) =>
        showQuestion(question, signal, async (prompter) =>
          (await import('./sampling.ts')).reviewRequest(question, prompter, palette, options.env),
        ),
      'sampling-result': (question, signal) =>
        showQuestion(question, signal, async (prompter) =>
          (await import('./sampling.ts')).reviewResult(question, prompter, palette, options.env),
        ),
      roots: (question, signal) =>
        showQuestion(question, signal, async (prompter) =>
          (await import('./roots.ts')).askRoots(question, prompter, palette),
        ),
      login: (question, signal) =>
        showQuestion(question, signal, async (prompter) =>
          (await import('./login.ts')).askLogin(question, prompter, palette),
        ),
      start: (question, signal) =>
        showQuestion(question, signal, async (prompter) =>
          (await import('./trust.ts')).askStart(question, prompter, palette),
        ),
      // Without a value the server does not start, so Esc refuses instead of leaving it waiting.
      input: async ({ cause, input }, signal) => {
        let isInterrupted = false
        const value = await askInput(cause.server, input, signal, () => {
          isInterrupted = true
        })
        if (isInterrupted) throw new McpError('CANCELLED', 'The user interrupted the question')
        return value === undefined ? { verdict: 'deny' } : { verdict: 'allow', value }
      },
      installation: (question, signal) =>
        showQuestion(question, signal, async (prompter) =>
          (await import('./installation.ts')).askInstallation(question, prompter, palette),
        ),
      drift: (question, signal) =>
        showQuestion(question, signal, async (prompter) =>
          (await import('./trust.ts')).askDefinitionChanges(question, prompter, palette),
        ),
    },
  }
}
