import type { HostQuestion } from '@jackfield/host'
import type { HostClient, InboxRow, View } from '@jackfield/host/client'
import { McpError } from '@jackfield/sdk'
import type { TerminalSurface } from './terminal.ts'

export interface QuestionOptions {
  /** Whether this terminal shows a question. Default all. */
  isMine?: (row: InboxRow) => boolean
  /** Called when the user deferred a question. */
  onDeferred?: () => void
  /** Prints a message. */
  note: (text: string) => void
}

/** The questions of a host at a terminal. */
export interface QuestionSession {
  /** Whether a question is on the screen. */
  readonly isAsking: boolean
  /** Resolves when no question is on the screen and the host has received every answer; true if there were any. */
  settled(): Promise<boolean>
  /** Shows open questions that `isMine` now accepts. */
  refresh(): void
  stop(): void
}

/** Shows a host's questions at a terminal and sends the answers. The surface moves to a replacement host. */
export async function answerQuestions(
  client: HostClient,
  person: TerminalSurface,
  { isMine = () => true, onDeferred = () => {}, note }: QuestionOptions,
): Promise<QuestionSession> {
  const openQuestions = new Map<string, AbortController>()
  const shownIds = new Set<string>()
  const pending = new Set<Promise<void>>()
  let inbox: View<InboxRow> = new Map()
  const track = (work: Promise<void>): void => {
    const tracked = work.finally(() => pending.delete(tracked))
    pending.add(tracked)
  }

  async function show({ id, question, digest }: InboxRow): Promise<void> {
    const ended = new AbortController()
    openQuestions.set(id, ended)
    try {
      // Loaded on demand: most commands ask nothing.
      const { showQuestion } = await import('@jackfield/host')
      const answer = await showQuestion(person, question, ended.signal)
      if (ended.signal.aborted) return
      if (answer === undefined) {
        await client.call('inbox.defer', { id })
        onDeferred()
      } else await client.call('inbox.answer', { id, answer, seen: digest })
    } catch (error) {
      if (!ended.signal.aborted) note(`! ${error instanceof Error ? error.message : String(error)}`)
    } finally {
      openQuestions.delete(id)
    }
  }

  function refresh(): void {
    for (const row of inbox.values()) {
      if (shownIds.has(row.id) || !isAsked(row) || !canShow(person, row.question) || !isMine(row)) continue
      shownIds.add(row.id)
      track(show(row))
    }
  }

  const attach = (): Promise<null> =>
    client.call('surface.attach', {
      name: person.name,
      kinds: kindsOf(person),
      urlElicitation: person.urlElicitation === true,
    })
  const ends = [
    client.subscribe('inbox', {
      rows(view) {
        inbox = view
        for (const [id, over] of openQuestions) {
          const row = view.get(id)
          if (row?.state !== 'open') over.abort(new McpError('CANCELLED', endReason(row)))
        }
        refresh()
      },
    }),
    client.onState((state) => {
      if (state.state === 'connected' && !state.isKnown) attach().catch(() => {})
    }),
  ]
  await attach()
  return {
    get isAsking() {
      return openQuestions.size > 0
    },
    async settled() {
      const hadQuestions = pending.size > 0
      while (pending.size > 0) await Promise.all(pending)
      await person.idle()
      return hadQuestions
    },
    refresh,
    stop() {
      for (const end of ends) end()
      for (const over of openQuestions.values()) over.abort(new McpError('CANCELLED', 'The command ended'))
    },
  }
}

/** Whether this host waits for the answer: not another program on its store, and not a deferred question. */
function isAsked(row: InboxRow): boolean {
  return row.state === 'open' && row.waits && row.rows.length > 0 && !('deferred' in row)
}

function kindsOf({ show }: TerminalSurface): HostQuestion['kind'][] {
  return Object.keys(show).filter((kind): kind is HostQuestion['kind'] => Object.hasOwn(show, kind))
}

function canShow(person: TerminalSurface, question: HostQuestion): boolean {
  if (person.show[question.kind] === undefined) return false
  return question.kind !== 'elicitation' || question.params.mode !== 'url' || person.urlElicitation === true
}

function endReason(row: InboxRow | undefined): string {
  if (row?.answer !== undefined) return `Answered by ${row.answer.by}`
  return row?.reason ?? 'The question was withdrawn'
}
