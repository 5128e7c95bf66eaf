import { McpError } from '@jackfield/sdk'
import { reasonOf } from '../shared/text.ts'
import type { AttachedCopy, Attaching, NotAttached, ResourceRef } from '../types/index.ts'
import { type Copies, keyOf } from './copies.ts'

const most = 200

/** Reads what a person chose and keeps the copies; what fails is told of and stops nothing else. */
export async function attach(
  copies: Copies,
  withheld: (server: string, uri: string) => string | undefined,
  conversation: string,
  refs: readonly ResourceRef[],
  signal: AbortSignal | undefined,
): Promise<Attaching> {
  const chosen = [...new Map(refs.map((ref) => [keyOf(ref), ref])).values()]
  if (chosen.length > most) {
    throw new McpError(
      'INVALID',
      `At most ${most} resources are attached at once, but ${chosen.length} were named`,
    )
  }
  const kept: NotAttached[] = []
  const wanted = chosen.filter(({ server, uri }) => {
    const reason = withheld(server, uri)
    if (reason !== undefined) kept.push({ server, uri, reason })
    return reason === undefined
  })
  await copies.hold(wanted)
  const done = await Promise.all(
    wanted.map(async (ref) => {
      try {
        const fetched = await copies.fetch(ref, conversation, signal)
        if (!copies.hasRoom(conversation, ref)) {
          throw new McpError(
            'INVALID',
            `A conversation holds at most ${most} resources. Take one away first.`,
          )
        }
        return copies.put(conversation, fetched)
      } catch (error) {
        copies.release(ref)
        return { server: ref.server, uri: ref.uri, reason: reasonOf(error) }
      }
    }),
  )
  const attached = done.filter((one): one is AttachedCopy => 'messages' in one)
  return {
    attached,
    failed: done.filter((one): one is NotAttached => 'reason' in one),
    withheld: kept,
    tokens: attached.reduce((sum, { tokens }) => sum + tokens, 0),
  }
}
