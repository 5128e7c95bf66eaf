import { connect } from '../client/connect.ts'
import type { AnswerHandlers, ConnectOptions } from '../client/types.ts'
import type { JsonObject } from '../jsonrpc/message.ts'
import type { LinkFactory } from '../links/link.ts'
import { memory } from '../links/memory.ts'
import type { CallToolResult } from '../protocol/definitions.ts'
import { latest, latestLegacy } from '../protocol/eras.ts'
import type { ProtocolVersion } from '../protocol/methods.ts'
import type { Server } from '../server/server.ts'
import { added, differences } from './effects.ts'
import { reentering } from './reentry.ts'

/** The tool to run, the answers to its questions, and a way to see what it has done. */
export interface TwiceOptions extends AnswerHandlers {
  tool: string
  args?: JsonObject
  /**
   * What the tool has done so far: a count, a list of what it did, or an object of such. Read before and after each
   * run, so it need not be reset.
   */
  effects: () => unknown
  /** Further options of `connect`, such as which kinds of questions can be shown. */
  connect?: ConnectOptions
}

/** One run of a call. */
export interface Run {
  readonly revision: ProtocolVersion
  readonly result: CallToolResult | { readonly error: unknown }
  /** What this run added to the effects. */
  readonly effects: unknown
}

/** What a tool did in both eras, side by side. */
export interface Twice {
  /** One straight run: questions are answered while the handler waits. */
  readonly once: Run
  /** The handler entered again from the top for every answer, and one extra time for every round. */
  readonly again: Run
  /** What differs between the two; empty for a tool that keeps its effects in steps, or after its questions. */
  readonly differences: readonly string[]
}

/**
 * Runs a tool that asks in both eras, entering its handler more often than it would like on the second, and tells
 * which effects happened twice. Such an effect belongs in `ctx.step`, or after the last question.
 */
export async function runTwice(server: Server, options: TwiceOptions): Promise<Twice> {
  const once = await run(memory(server), latestLegacy, options)
  const again = await run(reentering(memory(server)), latest, options)
  return {
    once,
    again,
    differences: [
      ...differences(once.effects, again.effects),
      ...differences(shownOf(once.result), shownOf(again.result), 'result'),
    ],
  }
}

async function run(links: LinkFactory, revision: ProtocolVersion, options: TwiceOptions): Promise<Run> {
  const { tool, args = {}, effects, connect: more = {}, ...answers } = options
  const before = structuredClone(effects())
  const client = await connect(links, { ...more, ...answers, revisions: [revision] })
  try {
    const result = await client.call(tool, args).catch((error: unknown) => ({ error }))
    return { revision, result, effects: structuredClone(added(before, effects())) }
  } finally {
    await client.close()
  }
}

/** What a caller sees of a result: not the metadata, which names the server in one era only. */
function shownOf(result: Run['result']): unknown {
  if ('error' in result) return { error: String(result.error) }
  const { _meta: _, ...shown } = result
  return shown
}
