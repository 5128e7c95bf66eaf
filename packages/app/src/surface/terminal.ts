import type { Readable, Writable } from 'node:stream'
import type { ConfigInput, HostQuestion, Surface } from '@jackfield/host'
import { type JsonObject, McpError, type Tool } from '@jackfield/sdk'
import { respondCommand } from '../forms/later-choice.ts'
import { type Cancelled, cancelled, type Prompter } from '../forms/prompter.ts'
import type { ScreenView } from '../forms/screen.ts'
import { type Palette, paletteFor } from '../output/palette.ts'
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

interface Keys {
  readonly input: Readable
  readonly hint: () => string | undefined
}

interface TurnOptions {
  /** False for what the user opened. */
  isQuestion?: boolean
  /** Whether text is typed. */
  isForm?: boolean
  /** Whether an address is shown, which is no longer needed if the question is withdrawn. */
  hasAddress?: boolean
}

/** Questions and views on one terminal: one at a time, in order of arrival. */
class TerminalTurns {
  readonly #options: TerminalOptions
  #last: Promise<unknown> = Promise.resolve()

  constructor(options: TerminalOptions) {
    this.#options = options
  }

  run<T>(
    signal: AbortSignal,
    ask: (prompter: Prompter, keys: Keys) => Promise<T>,
    { isQuestion = true, isForm = false, hasAddress = false }: TurnOptions = {},
  ): Promise<T> {
    const { input, output, env, store, message, onAsking, onInterrupt } = this.#options
    const turn = this.#last.then(async () => {
      signal.throwIfAborted()
      // A form takes any text, and is sent by more than one key.
      const mayBeTyping = message?.isTyping === true || (message?.isJustSent === true && !isForm)
      const typing = isQuestion && mayBeTyping ? message : undefined
      let gate: KeyGate | undefined
      onAsking?.(true)
      try {
        // Loaded on demand: most commands ask nothing.
        const { clackPrompter } = await import('./clack.ts')
        const interrupted = new AbortController()
        if (typing !== undefined) {
          const { KeyGate } = await import('./key-gate.ts')
          gate = new KeyGate(input, typing)
        }
        const keys = { input: gate ?? input, hint: () => (gate?.isClosed === true ? stopTyping : undefined) }
        const prompter = clackPrompter({
          ...{ output, env, ...keys },
          ...(store !== undefined && { store }),
          signal: AbortSignal.any([signal, interrupted.signal]),
          onInterrupt() {
            onInterrupt?.()
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
        onAsking?.(false)
      }
    })
    this.#last = turn.catch(() => {})
    return turn
  }

  async idle(): Promise<void> {
    for (let seen: Promise<unknown> | undefined; seen !== this.#last; ) {
      seen = this.#last
      await seen
      // The host applies an answer in microtasks after this one; an event loop turn later it is stored.
      await new Promise(setImmediate)
    }
  }
}

/** The user at a terminal. */
export function terminalSurface(options: TerminalOptions): TerminalSurface {
  const { output, env, store, onInterrupt } = options
  const palette = paletteFor(output, env)
  const turns = new TerminalTurns(options)

  /** Shows the questions of one kind; for a deferred one, prints how to answer it. The module is loaded on use. */
  function questions<Q extends HostQuestion, T>(
    load: () => Promise<
      (question: Q, prompter: Prompter, palette: Palette, env: NodeJS.ProcessEnv) => Promise<T | undefined>
    >,
  ): (question: Q, signal: AbortSignal) => Promise<T | undefined> {
    return (question, signal) => {
      const asked: HostQuestion = question
      const isForm = asked.kind === 'elicitation' && asked.params.mode !== 'url'
      const hasAddress =
        asked.kind === 'login' || (asked.kind === 'elicitation' && asked.params.mode === 'url')
      return turns.run(
        signal,
        async (prompter) => {
          const ask = await load()
          const answer = await ask(question, prompter, palette, env)
          if (answer === undefined && !signal.aborted)
            prompter.say([
              'Left in the inbox. The request continues once it is answered, in any window:',
              `  ${respondCommand(question.id, store)}`,
            ])
          return answer
        },
        { isForm, hasAddress },
      )
    }
  }

  function askInput(
    server: string,
    input: ConfigInput,
    signal: AbortSignal,
    onInputInterrupt = () => {},
  ): Promise<string | undefined> {
    return turns.run(
      signal,
      async (_prompter, keys) => {
        const { askForInput } = await import('./input.ts')
        return askForInput(server, input, {
          ...{ ...keys, output, signal },
          onInterrupt() {
            onInputInterrupt()
            onInterrupt?.()
          },
        })
      },
      { isForm: true },
    )
  }

  return {
    name: 'terminal',
    askInput: (server, input) => askInput(server, input, new AbortController().signal),
    askArguments: (tool, given, signal) =>
      turns.run(
        signal,
        async (prompter) => {
          const { askArguments } = await import('../forms/ask-arguments.ts')
          return askArguments(tool, given, prompter, palette)
        },
        { isForm: true },
      ),
    // A view opened by the user needs no key gate.
    screen: (view, signal) =>
      turns.run(signal, async (prompter) => prompter.screen?.(view) ?? cancelled, { isQuestion: false }),
    idle: () => turns.idle(),
    urlElicitation: true,
    show: {
      approval: questions(async () => (await import('./approval.ts')).askApproval),
      result: questions(async () => (await import('./result.ts')).askResult),
      elicitation: questions(async () => (await import('../forms/ask-elicitation.ts')).askElicitation),
      'sampling-request': questions(async () => (await import('./sampling.ts')).reviewRequest),
      'sampling-result': questions(async () => (await import('./sampling.ts')).reviewResult),
      roots: questions(async () => (await import('./roots.ts')).askRoots),
      login: questions(async () => (await import('./login.ts')).askLogin),
      start: questions(async () => (await import('./trust.ts')).askStart),
      installation: questions(async () => (await import('./installation.ts')).askInstallation),
      drift: questions(async () => (await import('./trust.ts')).askDefinitionChanges),
      // Without a value the server does not start, so Esc refuses instead of leaving it waiting.
      input: async ({ cause, input }, signal) => {
        let isInterrupted = false
        const value = await askInput(cause.server, input, signal, () => {
          isInterrupted = true
        })
        if (isInterrupted) throw new McpError('CANCELLED', 'The user interrupted the question')
        return value === undefined ? { verdict: 'deny' } : { verdict: 'allow', value }
      },
    },
  }
}
