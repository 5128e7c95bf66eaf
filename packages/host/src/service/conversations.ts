import { McpError } from '@jackfield/sdk'
import { reasonOf } from '../shared/text.ts'
import type { HostTask, Model } from '../types/index.ts'
import type { OpenOptions } from './contract.ts'
import { type ConversationServiceOptions, LiveConversation } from './live-conversation.ts'

/** Maximum conversations for an input history, and characters of one input. */
const inputConversations = 20
const maxInputChars = 10_000

/** Conversations shared by any number of clients. */
export class ConversationService {
  readonly #options: ConversationServiceOptions
  readonly #open = new Map<string, LiveConversation>()
  readonly #unsubscribe: () => void
  /** Models that `findModel` returned, by id. */
  readonly #foundModels = new Map<string, Model>()

  constructor({ findModel, ...options }: ConversationServiceOptions) {
    this.#options = {
      ...options,
      findModel: (id) => {
        const model = findModel?.(id) ?? this.#foundModels.get(id)
        if (model !== undefined) this.#foundModels.set(model.id, model)
        return model
      },
    }
    this.#unsubscribe = options.host.on(
      (event) => {
        if (event.type === 'task' && event.task.continued && !event.task.followed)
          this.#onContinuedTask(event.task)
      },
      ['task'],
    )
  }

  /** Whether any turn is running. */
  get busy(): boolean {
    return [...this.#open.values()].some((live) => live.busy)
  }

  /**
   * Creates a conversation, or opens one, and returns its id.
   * @throws McpError 'NOT_FOUND' if there is no such conversation or model
   */
  open({ id, ...options }: OpenOptions): string {
    const known =
      id === undefined ? undefined : (this.#open.get(id)?.id ?? this.#options.host.conversations.find(id).id)
    const live = known === undefined ? undefined : this.#open.get(known)
    if (live !== undefined) {
      live.configure(options)
      return live.id
    }
    const created = new LiveConversation(known, options, this.#options, () => this.#open.delete(created.id))
    this.#open.set(created.id, created)
    return created.id
  }

  /** The open conversation with this id; opens a stored one. @throws McpError 'NOT_FOUND' if there is none */
  get(id: string): LiveConversation {
    const opened = this.#open.get(id) ?? this.#open.get(this.open({ id }))
    if (opened === undefined) throw new McpError('NOT_FOUND', `There is no conversation ${id}.`)
    return opened
  }

  /** The user's messages in recent conversations, oldest first. */
  inputs(): string[] {
    const { conversations } = this.#options.host
    const entries = conversations
      .list({ limit: inputConversations })
      .toReversed()
      .flatMap(({ id }) => conversations.entries(id))
    return entries.flatMap((entry) => {
      if (entry.kind !== 'message' || entry.by !== 'person') return []
      // The typed text follows the attachments.
      const last = [entry.message.content].flat().findLast((block) => block.type === 'text')
      return last?.type === 'text' && last.text.length <= maxInputChars ? [last.text] : []
    })
  }

  /** Stops every turn and closes every open conversation. */
  close(): void {
    this.#unsubscribe()
    for (const live of this.#open.values()) live.close()
  }

  /** A task of a call that an earlier program made for a conversation ended. */
  async #onContinuedTask({ id, server, tool, conversation }: HostTask): Promise<void> {
    const { host } = this.#options
    if (conversation === undefined) return
    try {
      const call = await host.tasks.result(id)
      const name = host.tools().find((entry) => entry.server === server && entry.tool.name === tool)?.name
      this.get(conversation).addLateResult(name ?? tool, call)
    } catch (error) {
      process.emitWarning(`The result of a task could not be added to its conversation: ${reasonOf(error)}`)
    }
  }
}
