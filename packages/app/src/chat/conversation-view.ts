import {
  type AttachedResource,
  type ConversationEntry,
  type Decision,
  isSwitchedOn,
  type ModelWait,
} from '@jackfield/host'
import type { CallRow, ConversationRow, HostClient, OpenOptions, View } from '@jackfield/host/client'
import type { CallToolResult, SamplingMessage, ToolUseContent } from '@jackfield/sdk'

type Info = Extract<ConversationRow, { kind: 'info' }>

/** A change of a tool call of the model. */
export type CallEvent =
  | {
      readonly type: 'start'
      readonly id: string
      readonly name: string
      readonly arguments: Readonly<Record<string, unknown>>
      /** Its number in the conversation, the argument of `/show`. */
      readonly number?: number | undefined
    }
  /** The question of the call was deferred. */
  | {
      readonly type: 'later'
      readonly id: string
      readonly name: string
      readonly item: { readonly id: string }
    }
  /** The server runs the call as a task, and the turn continued. */
  | { readonly type: 'task'; readonly id: string; readonly name: string; readonly task: string }
  | CallEnd

/** How a tool call ended. */
export interface CallEnd {
  readonly type: 'end'
  readonly id: string
  readonly name: string
  readonly result: CallToolResult
  readonly denied: boolean
  readonly decision?: Decision
  readonly activity?: number
  /** Duration in milliseconds. */
  readonly durationMs?: number
  readonly number?: number | undefined
}

/** Changes of a conversation, in order. */
export type ConversationEvent =
  /** The host started to answer a message. */
  | { readonly type: 'turn'; readonly message: string | undefined }
  /** The user sent a message, from this terminal or another. `message`: the message of the turn, if one runs here. */
  | { readonly type: 'user-message'; readonly content: SamplingMessage; readonly message: string | undefined }
  /** A resource went to the model with the message. */
  | {
      readonly type: 'attachment'
      readonly attached: AttachedResource
      readonly message: string | undefined
    }
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'call'; readonly call: CallEvent }
  /** The running call was sent to its server, or the server reported progress. */
  | { readonly type: 'progress'; readonly name: string; readonly progress: CallRow['progress'] }
  | { readonly type: 'wait'; readonly wait: ModelWait }
  /** The turn ended. */
  | { readonly type: 'end'; readonly message: string | undefined; readonly info: Info }
  /** A call with a deferred question ended. */
  | { readonly type: 'late-result'; readonly call: CallEnd }
  /** A summary replaced earlier messages. */
  | { readonly type: 'summary' }
  /** The attachments changed, or a copy became outdated. */
  | { readonly type: 'attached' }

/** One conversation of the host, kept up to date for this terminal. */
export class ConversationView {
  readonly id: string
  readonly #onEvent: (event: ConversationEvent) => void
  readonly #client: HostClient
  readonly #options: Omit<OpenOptions, 'id'>
  #view: View<ConversationRow> = new Map()
  #entryCount = 0
  /** Model text that was already emitted. */
  #text = ''
  #isShown = false
  #unsubscribe: (() => void) | undefined

  /**
   * Starts a conversation, or continues the one of `options.id`. `onEvent` receives events from `show` on.
   * @throws McpError if there is none
   */
  static async open(
    client: HostClient,
    options: OpenOptions,
    onEvent: (event: ConversationEvent) => void,
  ): Promise<ConversationView> {
    const { id: _id, ...rest } = options
    const conversation = new ConversationView(
      client,
      await client.call('conversations.open', options),
      rest,
      onEvent,
    )
    await conversation.#follow()
    return conversation
  }

  private constructor(
    client: HostClient,
    id: string,
    options: Omit<OpenOptions, 'id'>,
    onEvent: (event: ConversationEvent) => void,
  ) {
    this.#client = client
    this.id = id
    this.#options = options
    this.#onEvent = onEvent
  }

  get info(): Info {
    const info = this.#view.get('info')
    if (info?.kind !== 'info') throw new Error('The conversation has no state yet.')
    return info
  }

  /** All its messages, in order. */
  get entries(): ConversationEntry[] {
    return [...this.#view.values()].flatMap((row) => (row.kind === 'entry' ? [row.entry] : []))
  }

  /** Whether the conversation has no messages. */
  get isEmpty(): boolean {
    return !this.#view.has('entry:0')
  }

  get isBusy(): boolean {
    return this.info.state !== 'idle'
  }

  /** Whether a resource is attached to the next message. */
  isWaiting({ server, uri }: { readonly server: string; readonly uri: string }): boolean {
    const attached = this.#view.get('attached')
    return (
      attached?.kind === 'attached' &&
      attached.copies.some((copy) => copy.server === server && copy.uri === uri)
    )
  }

  /** Whether this tool is offered to the model. */
  isToolOn(tool: Parameters<typeof isSwitchedOn>[0]): boolean {
    return isSwitchedOn(tool, this.info.toolSwitches)
  }

  /** Emits the events of the running turn so far, and every later event. */
  show(): void {
    this.#isShown = true
    this.#entryCount = this.entries.length
    if (this.info.state !== 'answering') return
    this.#onEvent({ type: 'turn', message: this.info.message })
    for (const row of this.#view.values())
      if (row.kind === 'call' && row.state === 'running') this.#emitCall(row)
    this.#text = ''
    this.#emitText()
  }

  /** Opens the conversation again on a replacement host. @throws McpError if it was never stored */
  async reopen(): Promise<void> {
    await this.#client.call('conversations.open', { ...this.#options, id: this.id })
    if (this.#unsubscribe === undefined) await this.#follow()
  }

  close(): void {
    this.#isShown = false
    this.#unsubscribe?.()
    this.#unsubscribe = undefined
  }

  async #follow(): Promise<void> {
    const first = Promise.withResolvers<void>()
    this.#unsubscribe = this.#client.subscribe(`conversation:${this.id}`, {
      rows: (view) => {
        const before = this.#view
        this.#view = view
        if (this.#isShown) this.#emitChanges(before, view)
        first.resolve()
      },
      ended: (error) => {
        this.#unsubscribe = undefined
        first.reject(error)
      },
    })
    await first.promise
  }

  #emitChanges(before: View<ConversationRow>, after: View<ConversationRow>): void {
    const [was, is] = [before.get('info'), after.get('info')]
    if (was?.kind !== 'info' || is?.kind !== 'info') return
    const wasAnswering = was.state === 'answering'
    const isNewTurn = is.state === 'answering' && (!wasAnswering || was.message !== is.message)
    if (wasAnswering && isNewTurn) this.#onEvent({ type: 'end', message: was.message, info: was })
    if (isNewTurn) this.#onEvent({ type: 'turn', message: is.message })
    for (const [key, row] of after) {
      const known = before.get(key)
      if (row === known) continue
      if (row.kind === 'entry') this.#emitEntry(row, is)
      else if (row.kind === 'call') this.#emitCall(row, known?.kind === 'call' ? known : undefined)
      else if (row.kind === 'partial' && is.state === 'answering') this.#emitText()
      else if (row.kind === 'attached') this.#onEvent({ type: 'attached' })
    }
    if (!after.has('partial')) this.#text = ''
    if (is.wait !== undefined && JSON.stringify(is.wait) !== JSON.stringify(was.wait))
      this.#onEvent({ type: 'wait', wait: is.wait })
    if (wasAnswering && is.state !== 'answering')
      this.#onEvent({ type: 'end', message: was.message, info: is })
  }

  #emitEntry({ place, entry }: Extract<ConversationRow, { kind: 'entry' }>, { state, message }: Info): void {
    // After a full resend, most rows are known already.
    if (place < this.#entryCount) return
    this.#entryCount = place + 1
    if (entry.kind === 'summary') this.#onEvent({ type: 'summary' })
    if (entry.kind === 'message' && entry.attached !== undefined) {
      this.#onEvent({ type: 'attachment', attached: entry.attached, message })
      return
    }
    if (entry.kind !== 'message' || entry.by === 'host') return
    if (entry.by === 'person') {
      this.#onEvent({ type: 'user-message', content: entry.message, message })
      return
    }
    const text = textOf(entry.message)
    const rest = text.startsWith(this.#text) ? text.slice(this.#text.length) : text
    this.#text = ''
    if (rest !== '') this.#onEvent({ type: 'text', text: rest })
    // A turn of another program: its calls have no rows here.
    if (state !== 'answering')
      for (const { id, name, input } of callsOf(entry.message))
        this.#onEvent({ type: 'call', call: { type: 'start', id, name, arguments: input } })
  }

  #emitCall(row: CallRow, before?: CallRow): void {
    const { id, name, number } = row
    if (before === undefined)
      this.#onEvent({ type: 'call', call: { type: 'start', id, name, arguments: row.arguments, number } })
    if (row.state === 'done') {
      const call = { ...this.#callEndOf(row), number }
      if (before?.state !== 'done')
        this.#onEvent(before?.state === 'later' ? { type: 'late-result', call } : { type: 'call', call })
    } else if (row.state === 'later') {
      if (before?.state === 'later') return
      const { task, question = '' } = row
      const call: CallEvent =
        task === undefined
          ? { type: 'later', id, name, item: { id: question } }
          : { type: 'task', id, name, task }
      this.#onEvent({ type: 'call', call })
    } else if (row.sent === true) this.#onEvent({ type: 'progress', name, progress: row.progress })
  }

  #callEndOf({ id, name, denied = false, decision, activity, durationMs, result }: CallRow): CallEnd {
    return {
      ...{ type: 'end', id, name, denied, result: result ?? this.#resultForModel(id) },
      ...(decision !== undefined && { decision }),
      ...(activity !== undefined && { activity }),
      ...(durationMs !== undefined && { durationMs }),
    }
  }

  /** What the model was given of a result that is too large for a row. */
  #resultForModel(id: string): CallToolResult {
    const rows = [...this.#view.values()]
    const lastResult = rows.findLast(
      (row) => row.kind === 'entry' && row.entry.kind === 'result' && row.entry.result.toolUseId === id,
    )
    if (lastResult?.kind !== 'entry' || lastResult.entry.kind !== 'result') return { content: [] }
    const { content, isError } = lastResult.entry.result
    return { content, ...(isError !== undefined && { isError }) }
  }

  #emitText(): void {
    const partial = this.#view.get('partial')
    if (partial?.kind !== 'partial') return
    const text = partial.text.slice(this.#text.length)
    this.#text = partial.text
    if (text !== '') this.#onEvent({ type: 'text', text })
  }
}

function textOf({ content }: SamplingMessage): string {
  return [content].flat().reduce((text, block) => (block.type === 'text' ? text + block.text : text), '')
}

/** Tool calls in a model message. */
export function callsOf({ content }: SamplingMessage): ToolUseContent[] {
  return [content].flat().filter((block) => block.type === 'tool_use')
}
