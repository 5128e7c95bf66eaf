import { randomUUID } from 'node:crypto'
import { McpError } from '@jackfield/sdk'
import { defined } from '@jackfield/sdk/internal'
import { userText } from '../models/agent/blocks.ts'
import {
  type Conversation,
  createConversation,
  type ToolCallEvent,
  type Turn,
} from '../models/agent/index.ts'
import type {
  AttachedCopy,
  BrokeredCall,
  CatalogTool,
  ConversationCall,
  ConversationEntry,
  Host,
  HostEvent,
  Inclusion,
  Model,
  ModelWait,
  ResourceRef,
} from '../types/index.ts'
import type { CallRow, ConversationRow, OpenOptions, UserMessage } from './contract.ts'
import { faultOf } from './fault.ts'
import type { Fault } from './frames.ts'
import type { TopicSource } from './topic.ts'
import type { Change } from './view.ts'

/** Milliseconds in which pieces of a model's text are combined into one change. */
const textFlushMs = 33
/** Milliseconds for which a conversation without subscribers stays open. */
const idleMs = 60_000
/** Maximum queued messages. */
const maxQueued = 32
/** The share of the model's context for resources that the user did not choose. */
const contextShare = 0.03
const defaultContextTokens = 128_000
/** The minimum `annotations.priority` of such a resource. */
const contextPriority = 0.8
const contextTimeoutMs = 5_000
/** Maximum characters of a call's result in its row, as JSON. */
const maxResultCharacters = 200_000

/** The host of conversations, and the models that can answer. */
export interface ConversationServiceOptions {
  host: Host
  /** The models; the first is the default. */
  models: () => readonly Model[]
  /** Tokens of a model's context, if known. */
  contextTokens: (model: Model) => number | undefined
  /** Finds a model that is not among them, by id. */
  findModel?: (id: string) => Model | undefined
}

/** One conversation with everything its subscribers see. */
export class LiveConversation {
  /** The id of the stored conversation. */
  readonly id: string
  readonly #service: ConversationServiceOptions
  readonly #onClosed: () => void
  readonly #listeners = new Set<(changes: readonly Change<ConversationRow>[]) => void>()
  readonly #queued: (Message & { done: PromiseWithResolvers<Turn | undefined> })[] = []
  readonly #calls = new Map<string, { key: string; row: CallRow }>()
  /** When calls were sent, and their durations, by activity row. */
  readonly #sentAt = new Map<number, number>()
  readonly #durations = new Map<number, number>()
  readonly #unsubscribe: () => void
  #options: Omit<OpenOptions, 'id'>
  #conversation: Conversation
  #entryCount: number
  #callCount = 0
  #partial: string | undefined
  #pendingText = ''
  #flushTimer: NodeJS.Timeout | undefined
  #turn:
    | { by: string; message?: string; stop: AbortController; state: 'answering' | 'summarizing' }
    | undefined
  #wait: ModelWait | undefined
  #fault: Fault | undefined
  #lastTurn: Pick<Turn, 'stopReason' | 'callsNotRun'> | undefined
  #unfinished: readonly string[]
  /** Copies of resources that the model already has. */
  readonly #sent = new Set<string>()
  #idleTimer: NodeJS.Timeout | undefined

  constructor(
    id: string | undefined,
    options: Omit<OpenOptions, 'id'>,
    service: ConversationServiceOptions,
    onClosed: () => void,
  ) {
    this.#service = service
    this.#options = options
    this.#onClosed = onClosed
    this.#conversation = this.#createConversation(
      id,
      id === undefined ? this.#firstModel() : this.#modelOf(id),
    )
    this.id = this.#conversation.id
    this.#unfinished = this.#conversation.unfinished.map(({ name }) => name)
    this.#entryCount = service.host.conversations.count(this.id)
    if (this.#entryCount > 0) this.#markSentAttachments()
    this.#unsubscribe = service.host.on(
      (event) => this.#onHostEvent(event),
      ['conversation', 'attached', 'call', 'progress'],
    )
    this.#scheduleClose()
  }

  /** Whether a turn or a summary is running. */
  get busy(): boolean {
    return this.#turn !== undefined
  }

  /** The rows of the topic `conversation:<id>`. */
  readonly topic: TopicSource<ConversationRow> = {
    rows: () => this.#rows(),
    follow: ({ push }) => {
      this.#listeners.add(push)
      clearTimeout(this.#idleTimer)
      return () => {
        this.#listeners.delete(push)
        this.#scheduleClose()
      }
    },
  }

  /** Options of `open` for an open conversation; missing ones stay unchanged. */
  configure({ model, ...options }: Omit<OpenOptions, 'id'>): void {
    this.#options = { ...this.#options, ...options }
    if (model !== undefined) this.setModel(model)
  }

  /** Every tool call of the model, in order. */
  get calls(): readonly ConversationCall[] {
    return this.#conversation.calls
  }

  /** Whether this tool is offered to the model. */
  isToolOn(tool: Pick<CatalogTool, 'server' | 'name' | 'tool'>): boolean {
    return this.#conversation.isToolOn(tool)
  }

  /**
   * Sends a message, queued while a turn runs. Resolves when it was answered, with undefined if it was removed from the queue;
   * rejects if the model failed.
   * @throws McpError 'LIMIT' if too many messages are queued
   */
  async say(input: UserMessage, by: string, id: string = randomUUID()): Promise<Turn | undefined> {
    if ((input.text ?? '').trim() === '' && (input.messages ?? []).length === 0)
      throw new McpError('INVALID', 'The message is empty: give a text or messages.')
    if (this.#queued.some((queued) => queued.id === id))
      throw new McpError('CONFLICT', 'A message with this id is queued already.')
    if (this.#turn === undefined && this.#queued.length === 0) return await this.#answer({ id, input, by })
    if (this.#queued.length >= maxQueued)
      throw new McpError(
        'LIMIT',
        `${maxQueued} messages are queued already. Wait for the turn to end, or stop it.`,
      )
    const queued = { id, input, by, done: Promise.withResolvers<Turn | undefined>() }
    this.#queued.push(queued)
    this.#emit([{ set: `queued:${id}`, row: { kind: 'queued', id, input, by } }])
    return await queued.done.promise
  }

  /** Removes a message from the queue; false if it is not queued any more. */
  unqueue(id: string): boolean {
    const at = this.#queued.findIndex((queued) => queued.id === id)
    const [queued] = at === -1 ? [] : this.#queued.splice(at, 1)
    if (queued === undefined) return false
    queued.done.resolve(undefined)
    this.#emit([{ remove: `queued:${id}` }])
    return true
  }

  /** Stops the running turn. Queued messages are removed and returned. */
  stop(by: string): UserMessage[] {
    this.#turn?.stop.abort(new McpError('CANCELLED', `${by} stopped the turn`))
    const inputs = this.#queued.map((queued) => queued.input)
    for (const { id } of [...this.#queued]) this.unqueue(id)
    return inputs
  }

  /** Cancels the running call with this id of the model; the turn continues. False if it is not running. */
  cancelCall(id: string): boolean {
    return this.#conversation.cancelCall(id)
  }

  /** @throws McpError 'NOT_FOUND' if there is no such model */
  setModel(id: string): void {
    this.#conversation.model = this.#model(id)
    this.#emit([this.#infoChange()])
  }

  /** Adds the result of a call that an earlier program made. */
  addLateResult(name: string, call: BrokeredCall): void {
    if (this.#turn === undefined) this.#loadNewEntries()
    this.#conversation.addLateResult(name, call)
  }

  /** Replaces the title. */
  setTitle(title: string): void {
    this.#conversation.title = title
    this.#emit([this.#infoChange()])
  }

  /** Switches tools on or off for the model. @throws McpError 'NOT_FOUND' if a pattern matches nothing */
  switchTools(on: boolean, patterns: readonly string[]): void {
    this.#conversation.switchTools(on, patterns)
    this.#emit([this.#infoChange()])
  }

  /** Asks the model for a summary. Changes nothing. */
  async summarize(by: string): Promise<string> {
    try {
      return await this.#run({ by, state: 'summarizing' }, (signal) =>
        this.#conversation.summarize({
          signal,
          onText: (delta) => this.#onText(delta),
          onWait: (wait) => this.#onWait(wait),
        }),
      )
    } finally {
      this.#answerNext()
    }
  }

  /** From here on the model gets this text instead of everything before. */
  compact(summary: string): void {
    this.#conversation.compact(summary)
  }

  /** Attaches resources that servers mark as important for a model, and returns them with the reasons. `budget`: in tokens. */
  async includeContext(
    signal: AbortSignal,
    budget: number = Math.floor((this.#contextLimit ?? defaultContextTokens) * contextShare),
  ): Promise<Inclusion> {
    const { host } = this.#service
    // Reading from a server with labels adds them to the conversation, which only the user may cause.
    const skip = ({ server }: ResourceRef): string | undefined => {
      const labels = host.labels(server)
      return labels.length === 0
        ? undefined
        : `its server has the label ${labels.join(', ')}; /attach includes it`
    }
    return await host.library.include(this.id, { budget, priority: contextPriority, skip, signal })
  }

  /** Reads what other programs added, unless a turn runs. */
  refresh(): void {
    if (this.#turn === undefined) this.#loadNewEntries()
  }

  /** Stops the running turn and releases the conversation. */
  close(): void {
    clearTimeout(this.#idleTimer)
    clearTimeout(this.#flushTimer)
    this.stop('the host')
    this.#unsubscribe()
    this.#onClosed()
    this.#service.host.endConversation(this.id)
  }

  #model(id: string): Model {
    const { models, findModel } = this.#service
    const model = models().find((one) => one.id === id) ?? findModel?.(id)
    if (model === undefined)
      throw new McpError(
        'NOT_FOUND',
        `There is no model "${id}". There are: ${
          models()
            .map((one) => one.id)
            .join(', ') || 'none'
        }.`,
      )
    return model
  }

  #firstModel(): Model {
    const { model: requestedModel } = this.#options
    const model = requestedModel === undefined ? this.#service.models()[0] : this.#model(requestedModel)
    if (model === undefined)
      throw new McpError('INVALID', 'There is no model. Set the key of a provider, or name one.')
    return model
  }

  /** The model of a stored conversation: the requested one, else the one that answered last if it is available. */
  #modelOf(stored: string): Model {
    const { host, models, findModel } = this.#service
    const last = this.#options.model === undefined ? host.conversations.find(stored).model : ''
    return (
      models().find(({ id }) => id === last) ??
      (last === '' ? undefined : findModel?.(last)) ??
      this.#firstModel()
    )
  }

  #createConversation(resume: string | undefined, model: Model): Conversation {
    const { host } = this.#service
    const { code, maxCalls } = this.#options
    return createConversation({
      host,
      model,
      ...defined({ resume, codeMode: code, maxCalls }),
      onLate: (event) => this.#onToolCall(event),
    })
  }

  async #answer({ id, input, by }: Message): Promise<Turn> {
    try {
      return await this.#run({ by, message: id, state: 'answering' }, async (signal) => {
        this.#loadNewEntries()
        this.#unfinished = []
        if (this.#options.context !== false && this.#conversation.messages.length === 0)
          await this.#includeContextSafely(signal)
        const messages = [
          ...this.#service.host.apps.takeContext(this.id).map(userText),
          ...(input.messages ?? []),
          ...(input.text === undefined || input.text.trim() === '' ? [] : [userText(input.text)]),
        ]
        const turn = await this.#conversation.say(messages, {
          attached: this.#takeAttached(),
          signal,
          onText: (delta) => this.#onText(delta),
          onToolCall: (event) => this.#onToolCall(event),
          onWait: (wait) => this.#onWait(wait),
        })
        this.#lastTurn = turn
        return turn
      })
    } catch (error) {
      // If another program continued the conversation meanwhile, its entries are shown.
      if (error instanceof McpError && error.details['conversation'] === this.id) this.refresh()
      throw error
    } finally {
      this.#answerNext()
    }
  }

  /** Another program may have continued the conversation since it was opened here. */
  #loadNewEntries(): void {
    const { conversations } = this.#service.host
    if (conversations.count(this.id) <= this.#entryCount) return
    this.#onEntries(this.#entryCount, conversations.entries(this.id, this.#entryCount))
    this.#conversation = this.#createConversation(this.id, this.#conversation.model)
    this.#emit([this.#infoChange()])
  }

  /** Attachments older than the last turn of a reopened conversation were sent with it. */
  #markSentAttachments(): void {
    const { host } = this.#service
    const { lastAt } = host.conversations.find(this.id)
    for (const copy of host.library.attached(this.id)) if (copy.at <= lastAt) this.#sent.add(copyKey(copy))
  }

  #onHostEvent(event: HostEvent): void {
    if (event.type === 'conversation' && event.id === this.id) this.#onEntries(event.from, event.entries)
    else if (event.type === 'attached' && event.conversation === this.id) this.#emit([this.#attachedChange()])
    else if (event.type === 'call' && event.call.conversation === this.id) {
      const { activity } = event.call
      if (event.state === 'begins') {
        this.#sentAt.set(activity, performance.now())
        this.#changeRunning({ sent: true })
      } else {
        this.#durations.set(activity, performance.now() - (this.#sentAt.get(activity) ?? performance.now()))
        this.#sentAt.delete(activity)
      }
    } else if (event.type === 'progress' && this.#sentAt.has(event.activity)) {
      const { progress, total, message } = event
      this.#changeRunning({ progress: { progress, ...defined({ total, message }) } })
    }
  }

  /** Calls of a turn run one after another. */
  #changeRunning(part: Partial<CallRow>): void {
    const running = [...this.#calls.values()].findLast(({ row }) => row.state === 'running')
    if (running === undefined) return
    running.row = { ...running.row, ...part }
    this.#emit([{ set: running.key, row: running.row }])
  }

  get #contextLimit(): number | undefined {
    return this.#service.contextTokens(this.#conversation.model)
  }

  async #includeContextSafely(signal: AbortSignal): Promise<void> {
    try {
      await this.includeContext(AbortSignal.any([signal, AbortSignal.timeout(contextTimeoutMs)]))
    } catch (error) {
      // Resources that are slow to read must not delay a message.
      signal.throwIfAborted()
      this.#fault = faultOf(error)
    }
  }

  /** Attached resources that the model does not have yet; they count as sent from here on. */
  #takeAttached(): readonly AttachedCopy[] {
    const copies = this.#waitingCopies()
    for (const copy of copies) this.#sent.add(copyKey(copy))
    this.#emit([this.#attachedChange()])
    return copies
  }

  #waitingCopies(): AttachedCopy[] {
    return this.#service.host.library.attached(this.id).filter((copy) => !this.#sent.has(copyKey(copy)))
  }

  /** Runs one turn, or another request to the model. */
  async #run<T>(
    turn: { by: string; message?: string; state: 'answering' | 'summarizing' },
    work: (signal: AbortSignal) => Promise<T>,
  ): Promise<T> {
    if (this.#turn !== undefined) throw new McpError('CONFLICT', 'The conversation is still answering.')
    clearTimeout(this.#idleTimer)
    const stop = new AbortController()
    this.#turn = { ...turn, stop }
    this.#fault = undefined
    this.#lastTurn = undefined
    this.#emit([this.#infoChange()])
    try {
      return await work(stop.signal)
    } catch (error) {
      this.#fault = faultOf(error)
      throw error
    } finally {
      this.#turn = undefined
      this.#wait = undefined
      this.#durations.clear()
      this.#flushText()
      this.#emit([...this.#withoutPartial(), this.#infoChange()])
      this.#scheduleClose()
    }
  }

  #answerNext(): void {
    const next = this.#queued.shift()
    if (next === undefined) return
    this.#emit([{ remove: `queued:${next.id}` }])
    this.#answer(next).then(next.done.resolve, next.done.reject)
  }

  #onText(delta: string): void {
    this.#pendingText += delta
    this.#wait = undefined
    this.#flushTimer ??= setTimeout(() => this.#flushText(), textFlushMs)
  }

  #flushText(): void {
    clearTimeout(this.#flushTimer)
    this.#flushTimer = undefined
    const text = this.#pendingText
    this.#pendingText = ''
    if (text === '') return
    if (this.#partial === undefined) {
      this.#partial = text
      this.#emit([{ set: 'partial', row: { kind: 'partial', text } }])
    } else {
      this.#partial += text
      this.#emit([{ append: 'partial', field: 'text', text }])
    }
  }

  /** Removes the row of the partial reply; returns the change. */
  #withoutPartial(): Change<ConversationRow>[] {
    clearTimeout(this.#flushTimer)
    this.#flushTimer = undefined
    this.#pendingText = ''
    if (this.#partial === undefined) return []
    this.#partial = undefined
    return [{ remove: 'partial' }]
  }

  #onWait(wait: ModelWait): void {
    this.#wait = wait
    this.#emit([this.#infoChange()])
  }

  #onToolCall(event: ToolCallEvent): void {
    if (event.type === 'start') {
      this.#callCount += 1
      const key = `call:${this.#callCount}`
      const { id, name, arguments: args } = event
      const number = this.calls.findLastIndex((call) => call.id === id) + 1
      const row: CallRow = {
        kind: 'call',
        id,
        name,
        arguments: args,
        state: 'running',
        ...(number > 0 && { number }),
      }
      this.#calls.set(id, { key, row })
    }
    const known = this.#calls.get(event.id)
    if (known === undefined) return
    if (event.type === 'later') known.row = { ...known.row, state: 'later', question: event.item.id }
    else if (event.type === 'task') known.row = { ...known.row, state: 'later', task: event.task.id }
    else if (event.type === 'end') {
      const { activity, denied, cancelled, result, decision } = event
      const { progress: _, ...row } = known.row
      const durationMs = activity === undefined ? undefined : this.#durations.get(activity)
      known.row = {
        ...row,
        state: 'done',
        ...(durationMs !== undefined && { durationMs: Math.round(durationMs) }),
        ...(denied && { denied }),
        ...defined({ activity, cancelled, decision }),
        ...(result.isError === true && { isError: true }),
        ...(JSON.stringify(result).length <= maxResultCharacters && { result }),
      }
    }
    this.#emit([{ set: known.key, row: known.row }])
  }

  /** Entries were stored, by this host or by another program. */
  #onEntries(from: number, entries: readonly ConversationEntry[]): void {
    const added = entries.slice(Math.max(0, this.#entryCount - from))
    const isReply = added.some((entry) => entry.kind === 'message' && entry.by === 'model')
    const first = Math.max(from, this.#entryCount)
    this.#entryCount = first + added.length
    this.#emit([
      ...added.map((entry, n): Change<ConversationRow> => {
        const place = first + n
        return { set: `entry:${place}`, row: { kind: 'entry', place, entry } }
      }),
      ...(isReply ? this.#withoutPartial() : []),
      this.#infoChange(),
    ])
  }

  *#rows(): Iterable<readonly [string, ConversationRow]> {
    const { host } = this.#service
    yield ['info', this.#infoRow()]
    if (this.#entryCount > 0) {
      for (const [place, entry] of host.conversations.entries(this.id).entries())
        yield [`entry:${place}`, { kind: 'entry', place, entry }]
    }
    for (const { key, row } of this.#calls.values()) yield [key, row]
    if (this.#partial !== undefined) yield ['partial', { kind: 'partial', text: this.#partial }]
    for (const { id, input, by } of this.#queued) yield [`queued:${id}`, { kind: 'queued', id, input, by }]
    yield ['attached', { kind: 'attached', copies: this.#waitingCopies() }]
  }

  #infoRow(): ConversationRow {
    const conversation = this.#conversation
    return {
      kind: 'info',
      id: this.id,
      title: conversation.title,
      model: conversation.model.id,
      isLanguageModel: conversation.model.isLanguageModel,
      state: this.#turn?.state ?? 'idle',
      usage: conversation.usage,
      toolSwitches: conversation.toolSwitches,
      ...defined({
        contextLimit: this.#contextLimit,
        contextTokens: conversation.contextTokens,
        by: this.#turn?.by,
        message: this.#turn?.message,
        wait: this.#wait,
        fault: this.#fault,
        stopReason: this.#lastTurn?.stopReason,
        callsNotRun: this.#lastTurn?.callsNotRun,
      }),
      ...(this.#unfinished.length > 0 && { unfinished: this.#unfinished }),
    }
  }

  #infoChange(): Change<ConversationRow> {
    return { set: 'info', row: this.#infoRow() }
  }

  #attachedChange(): Change<ConversationRow> {
    return { set: 'attached', row: { kind: 'attached', copies: this.#waitingCopies() } }
  }

  #emit(changes: readonly Change<ConversationRow>[]): void {
    for (const listener of this.#listeners) listener(changes)
  }

  #scheduleClose(): void {
    clearTimeout(this.#idleTimer)
    if (this.#listeners.size > 0 || this.#turn !== undefined) return
    this.#idleTimer = setTimeout(() => this.close(), idleMs).unref()
  }
}

/** A message, queued or being answered. */
interface Message {
  readonly id: string
  readonly input: UserMessage
  readonly by: string
}

function copyKey({ server, uri, at }: AttachedCopy): string {
  return JSON.stringify([server, uri, at])
}
