import { MetaKey, type ProtocolVersion, protocolVersions } from '@jackfield/sdk'
import { expect } from 'vitest'
import { methods } from '../../packages/sdk/src/protocol/methods.ts'
import { checkWire, type Sender } from '../../packages/sdk/test/schema/wire.ts'
import { faultsDeclared } from './faulty-peer.ts'
import { isObject } from './json.ts'

interface Fault {
  fault: string
  message: string
}

/** Where peers are packages of others, whose faults the tests there report. */
const peersOfOthers: readonly string[] = ['test/features/', 'test/interop/']

const core: ReadonlySet<string> = new Set(Object.keys(methods))
/** Notices of extensions, which the schema of the core does not know. */
const added: ReadonlySet<string> = new Set(['notifications/tasks'])

/** A flood of messages is judged by its first ones. */
const heldPerTest = 500
let held = 0
const sent: Fault[] = []
const received: Fault[] = []

/** Holds a message that ours send to the schema of its revision; a result also to the request it answers. */
export function holdSent(
  revision: ProtocolVersion,
  sender: Sender,
  message: unknown,
  answers?: string,
): void {
  hold(sent, revision, sender, message, answers)
}

/** Holds a message that ours receive to the schema of its revision; a result also to the request it answers. */
export function holdReceived(
  revision: ProtocolVersion,
  sender: Sender,
  message: unknown,
  answers?: string,
): void {
  const path = expect.getState().testPath ?? ''
  if (peersOfOthers.some((place) => path.includes(`/${place}`))) return
  hold(received, revision, sender, message, answers)
}

function hold(
  faults: Fault[],
  revision: ProtocolVersion,
  sender: Sender,
  message: unknown,
  answers: string | undefined,
): void {
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

/** Gives the verdict on one test, and forgets what it saw. */
export function verdict(): void {
  held = 0
  const reason = faultsDeclared()
  const ofOurs = sent.splice(0)
  const ofPeers = received.splice(0)
  expect(ofOurs, 'every message sent fits the official schema of its revision').toEqual([])
  if (reason === undefined) {
    expect(ofPeers, 'every message received fits the official schema of its revision').toEqual([])
  } else {
    expect(ofPeers, `the peer was declared faulty ("${reason}"), but sent nothing wrong`).not.toEqual([])
  }
}

/** Whether the official schemas may know a method: extensions and programs have methods of their own. */
export function mayBeOfCore(method: string): boolean {
  return core.has(method) || (method.startsWith('notifications/') && !added.has(method))
}

/** The method whose result a schema defines; undefined for a result of an extension. */
export function resultOfCore(method: string | undefined, result: unknown): string | undefined {
  if (method === undefined || !core.has(method)) return undefined
  const { resultType = 'complete', task } = isObject(result) ? result : {}
  const plain = (resultType === 'complete' || resultType === 'input_required') && task === undefined
  return plain ? method : undefined
}

/** The published revision that params name: in `_meta`, or where `initialize` does. */
export function versionIn(params: unknown): ProtocolVersion | undefined {
  if (!isObject(params)) return undefined
  const { protocolVersion, _meta: meta } = params
  return published(isObject(meta) ? meta[MetaKey.protocolVersion] : protocolVersion)
}

/** A version that was published, else undefined. */
export function published(value: unknown): ProtocolVersion | undefined {
  return protocolVersions.find((version) => version === value)
}
