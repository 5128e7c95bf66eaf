import type { AskContext } from '@jackfield/sdk/client'
import { canonical, type JsonRecord } from '../json.ts'
import type { Caller, Cause } from '../types/index.ts'

/** Something the host is doing at a server, from which a question may come. */
export interface Origin {
  server: string
  /** The row that tells of it. */
  row: number
  method: 'tools/call' | 'resources/read' | 'prompts/get'
  /** The tool or prompt by its own name, or the resource's URI. */
  target: string
  arguments?: JsonRecord
  caller?: Caller
  conversation?: string
}

export interface Found {
  cause: Cause
  /** The row that caused the question; null where nobody can tell. */
  row: number | null
}

/** What is under way at which server, to tell a person why they are asked. */
export class Origins {
  readonly #open = new Map<string, Set<Origin>>()

  /** Notes what begins; call the returned function when it is over. */
  begin(origin: Origin): () => void {
    const open = this.#open.get(origin.server) ?? new Set()
    this.#open.set(origin.server, open)
    open.add(origin)
    return () => {
      open.delete(origin)
    }
  }

  /**
   * Where a question comes from: what the transport says. Where it says nothing, a question that only comes during a
   * call (`within`) belongs to the one call under way. Anything else is left open, since a wrong reason is worse than
   * none.
   */
  find(server: string, asked: AskContext['cause'], within = true): Found {
    const open = asked === undefined && !within ? [] : [...(this.#open.get(server) ?? [])]
    const fitting = asked === undefined ? open : open.filter((origin) => fits(origin, asked))
    const exact = fitting.find(
      (origin) => origin.arguments && origin.arguments === asked?.params['arguments'],
    )
    const origin = exact ?? (fitting.length === 1 ? fitting[0] : undefined)
    const alike = origin ?? allAlike(fitting)
    if (alike === undefined) return { cause: { server, ...inCommon(fitting) }, row: null }
    return {
      row: origin?.row ?? null,
      cause: {
        server,
        ...(alike.method === 'tools/call' && { tool: alike.target }),
        ...(alike.arguments !== undefined && { arguments: alike.arguments }),
        ...(alike.caller !== undefined && { caller: alike.caller }),
        ...(alike.conversation !== undefined && { conversation: alike.conversation }),
      },
    }
  }
}

function fits(origin: Origin, asked: NonNullable<AskContext['cause']>): boolean {
  if (origin.method !== asked.method) return false
  const target = asked.method === 'resources/read' ? asked.params['uri'] : asked.params['name']
  if (origin.target !== target) return false
  return (
    origin.method !== 'tools/call' || canonical(origin.arguments) === canonical(asked.params['arguments'])
  )
}

/** Whose several are, where that is the same for all of them. */
function inCommon([first, ...rest]: readonly Origin[]): Pick<Cause, 'caller' | 'conversation'> {
  const { caller, conversation } = first ?? {}
  if (conversation === undefined || rest.some((other) => other.conversation !== conversation)) return {}
  return { conversation, ...(caller !== undefined && { caller }) }
}

/** One of several that a person could not tell apart. */
function allAlike(origins: readonly Origin[]): Origin | undefined {
  const [first, ...rest] = origins
  const text = (origin: Origin): string => canonical({ ...origin, row: 0 })
  return first !== undefined && rest.every((other) => text(other) === text(first)) ? first : undefined
}
