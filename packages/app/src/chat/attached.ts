import type { ResourceRef } from '@jackfield/host'
import { flowed } from '../output/flow.ts'
import { oneLine } from '../output/sanitize.ts'
import type { ChatFace } from './face.ts'
import type { ChatState } from './state.ts'
import { count } from './status.ts'

/** Reads resources that go along with what the person says next, and tells of each. */
export async function attach(
  refs: readonly ResourceRef[],
  state: ChatState,
  face: ChatFace,
  signal?: AbortSignal,
): Promise<void> {
  const { palette } = face
  const line = (text: string): void => face.write(`${flowed(text, face.columns(), 0, 2)}\n`)
  const { attached, failed, withheld } = await state.host.library.attach(
    state.talk.id,
    refs,
    signal === undefined ? {} : { signal },
  )
  for (const copy of attached) {
    state.attached.push(...copy.messages)
    line(
      palette.dim(
        `+ ${oneLine(copy.title)}  ${oneLine(copy.uri)}  about ${count(copy.tokens)} tokens; it goes along with what you say.`,
      ),
    )
  }
  for (const { uri, reason } of [...failed, ...withheld])
    line(palette.yellow(`! ${oneLine(uri)} is not attached: ${oneLine(reason)}`))
}
