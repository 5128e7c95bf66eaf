import type { ElicitParams } from '@jackfield/sdk'
import { reasonOf } from '../../shared/text.ts'
import type { HostAnswers, Visit } from '../../types/index.ts'
import { inspectUrl } from '../forms/inspect-url.ts'
import type { Visits } from '../forms/visits.ts'

export interface Answer {
  answer: HostAnswers['elicitation']
  by: string
}

export interface VisitingDeps {
  /** Puts the question; `visit` once the person agreed to go there. */
  put(visit: Visit | undefined, signal: AbortSignal): Promise<Answer>
  visits: Visits
  /** Opens a page for the person. Default: their browser. */
  open?: ((url: URL) => Promise<void>) | undefined
}

/**
 * Asks, and where the person agrees to a visit and wants to say when it is over, opens the page and asks about that
 * too, until they finished, gave it up, or the server says that the visit is over.
 */
export function visiting({ put, visits, open = openInBrowser }: VisitingDeps) {
  return async (params: ElicitParams, signal: AbortSignal): Promise<Answer & { opened: number }> => {
    if (params.mode !== 'url') return { ...(await put(undefined, signal)), opened: 0 }
    const { over, end } = visits.begin(params.elicitationId)
    let opened = 0
    try {
      let given = await put(undefined, signal)
      while (given.answer.action === 'accept' && given.answer.visit !== undefined) {
        let problem: string | undefined
        if (given.answer.visit === 'open') {
          problem = await problemOpening(params.url, open)
          if (problem === undefined) opened++
        }
        const visit = { opened: opened > 0, ...(problem !== undefined && { problem }) }
        given = await put(visit, AbortSignal.any([signal, over])).catch((error: unknown) => {
          if (signal.aborted || !over.aborted) throw error
          // The person agreed, and the server knows that they finished.
          return { answer: { action: 'accept' }, by: 'the server, which says that the visit is over' }
        })
      }
      return { ...given, opened }
    } finally {
      end()
    }
  }
}

async function problemOpening(url: string, open: (url: URL) => Promise<void>): Promise<string | undefined> {
  const { href, opens, blocked } = inspectUrl(url)
  if (blocked !== undefined) return blocked
  if (!opens) return 'Only pages over https, and those on this machine, are opened for you.'
  try {
    await open(new URL(href))
    return undefined
  } catch (error) {
    return reasonOf(error)
  }
}

async function openInBrowser(url: URL): Promise<void> {
  const { openBrowser } = await import('@jackfield/sdk/client/auth/node')
  await openBrowser(url)
}
