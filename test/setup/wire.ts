import { afterEach, expect } from 'vitest'
import { Wire } from '../../packages/sdk/src/client/wire.ts'
import type { JsonRpcMessage } from '../../packages/sdk/src/jsonrpc/message.ts'
import { isObject } from '../../packages/sdk/src/jsonrpc/parse.ts'
import type { LinkEvents } from '../../packages/sdk/src/links/link.ts'
import { MetaKey } from '../../packages/sdk/src/protocol/meta.ts'
import { methods, type ProtocolVersion } from '../../packages/sdk/src/protocol/methods.ts'
import { isProtocolVersion, revisions } from '../../packages/sdk/src/protocol/revisions.ts'
import { checkWire, type Sender } from '../../packages/sdk/test/schema/wire.ts'

// Holds every message of every test to the official schema of its revision: whatever a server of ours encodes, and
// whatever one of our clients sends or receives.

/** Where servers are played by hand, most of them faulty ones, or messages of peers are judged by the tests themselves. */
const playedByHand: readonly string[] = [
  'packages/sdk/test/client/',
  'packages/sdk/test/client-auth/',
  'packages/sdk/test/compose/connections',
  'packages/sdk/test/extensions/negotiation',
  'packages/sdk/test/links/',
  'test/features/',
  'test/interop/',
]

const faults: { fault: string; message: string }[] = []
const core: ReadonlySet<string> = new Set(Object.keys(methods))
/** Notices of extensions, which the schema of the core does not know. */
const added: ReadonlySet<string> = new Set(['notifications/tasks'])

/** A flood of messages is judged by its first ones. */
const heldPerTest = 500
let held = 0

function hold(revision: ProtocolVersion, sender: Sender, message: unknown, answers?: string): void {
  if (++held > heldPerTest) return
  const text = written(message)
  if (text === undefined) return
  for (const fault of checkWire(revision, sender, JSON.parse(text), answers)) {
    faults.push({ fault: `${sender} ${revision}: ${fault}`, message: text.slice(0, 500) })
  }
}

/** The text that crosses the wire; undefined for what cannot be written, and so never does. */
function written(message: unknown): string | undefined {
  try {
    return JSON.stringify(message)
  } catch {
    return undefined
  }
}

for (const revision of Object.values(revisions)) {
  const { version, result, inputRequired, error, notification, question } = revision
  const id = 1
  Object.assign(revision, {
    result: (...args: Parameters<typeof result>) => {
      const wire = result(...args)
      if (core.has(args[0])) hold(version, 'server', { jsonrpc: '2.0', id, result: wire }, args[0])
      return wire
    },
    inputRequired: (...args: Parameters<typeof inputRequired>) => {
      const wire = inputRequired(...args)
      hold(version, 'server', { jsonrpc: '2.0', id, result: wire }, 'tools/call')
      return wire
    },
    error: (...args: Parameters<typeof error>) => {
      const wire = error(...args)
      hold(version, 'server', { jsonrpc: '2.0', id, error: wire })
      return wire
    },
    notification: (...args: Parameters<typeof notification>) => {
      const wire = notification(...args)
      if (wire !== undefined && !added.has(wire.method)) hold(version, 'server', { jsonrpc: '2.0', ...wire })
      return wire
    },
    question: (...args: Parameters<typeof question>) => {
      const params = question(...args)
      if (revision.era === 'session') {
        hold(version, 'server', { jsonrpc: '2.0', id, method: args[0].method, params })
      }
      return params
    },
  })
}

const start = Wire.prototype.start
Wire.prototype.start = function (events) {
  const { link } = this
  const open = link.start.bind(link)
  link.start = (hears: LinkEvents) => {
    const talk = new Conversation()
    return open({
      ...hears,
      trace: (direction, message) => {
        talk.see(direction, message)
        hears.trace(direction, message)
      },
    })
  }
  return start.call(this, events)
}

/** One connection of a client: which revision it speaks, and what its answers answer. */
class Conversation {
  readonly #asked = new Map<unknown, string>()
  readonly #sentAs = new Map<unknown, { method: string; version: ProtocolVersion | undefined }>()
  #version: ProtocolVersion | undefined

  see(direction: 'sent' | 'received', message: JsonRpcMessage): void {
    if (direction === 'received') this.#received(message)
    else this.#sent(message)
  }

  #received(message: JsonRpcMessage): void {
    if ('method' in message) {
      if ('id' in message) this.#asked.set(message.id, message.method)
      const known = core.has(message.method) || message.method.startsWith('notifications/')
      if (this.#version !== undefined && known) this.#judge(this.#version, message)
      return
    }
    const sent = 'id' in message ? this.#sentAs.get(message.id) : undefined
    if ('result' in message && isProtocol(message.result['protocolVersion'])) {
      this.#version = message.result['protocolVersion']
    }
    const version = sent?.version ?? this.#version
    if (version !== undefined && sent !== undefined) this.#judge(version, message, sent.method)
  }

  #judge(version: ProtocolVersion, message: JsonRpcMessage, method?: string): void {
    const path = expect.getState().testPath ?? ''
    if (playedByHand.some((place) => path.includes(`/${place}`))) return
    if ('method' in message && added.has(message.method)) return
    const { resultType = 'complete', task } = 'result' in message ? message.result : {}
    const plain = (resultType === 'complete' || resultType === 'input_required') && task === undefined
    const ofCore = plain && method !== undefined && core.has(method)
    hold(version, 'server', message, ofCore ? method : undefined)
  }

  #sent(message: JsonRpcMessage): void {
    if ('method' in message) {
      const version = this.#versionOf(message.params) ?? this.#version
      if ('id' in message) this.#sentAs.set(message.id, { method: message.method, version })
      const known = core.has(message.method) || message.method.startsWith('notifications/')
      if (version !== undefined && known) hold(version, 'client', message)
    } else if (this.#version !== undefined) {
      hold(this.#version, 'client', message, 'id' in message ? this.#asked.get(message.id) : undefined)
    }
  }

  #versionOf(params: unknown): ProtocolVersion | undefined {
    if (!isObject(params)) return undefined
    const { protocolVersion, _meta: meta } = params
    const named = isObject(meta) ? meta[MetaKey.protocolVersion] : protocolVersion
    return isProtocol(named) ? named : undefined
  }
}

function isProtocol(value: unknown): value is ProtocolVersion {
  return typeof value === 'string' && isProtocolVersion(value)
}

afterEach(() => {
  held = 0
  expect(faults.splice(0), 'every message fits the official schema of its revision').toEqual([])
})
