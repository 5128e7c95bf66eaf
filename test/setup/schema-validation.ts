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

/** Tests with peers of other projects, which report the faults of those peers themselves. */
const peersOfOthers: readonly string[] = ['test/features/', 'test/interop/']

const core: ReadonlySet<string> = new Set(Object.keys(methods))
/** Notifications of extensions, which the core schema does not define. */
const added: ReadonlySet<string> = new Set(['notifications/tasks'])

/** Of more messages, or more characters of them, only the first ones are validated. */
const validatedPerTest = 500
const charactersPerTest = 500_000
let validated = 0
let characters = 0
const sent: Fault[] = []
const received: Fault[] = []

/** Validates a message of our code by the schema of its revision; a result by that of its request. */
export function validateSent(
  revision: ProtocolVersion,
  sender: Sender,
  message: unknown,
  answers?: string,
): void {
  validate(sent, revision, sender, message, answers)
}

/** Validates a message to our code by the schema of its revision; a result by that of its request. */
export function validateReceived(
  revision: ProtocolVersion,
  sender: Sender,
  message: unknown,
  answers?: string,
): void {
  const path = expect.getState().testPath ?? ''
  if (peersOfOthers.some((place) => path.includes(`/${place}`))) return
  validate(received, revision, sender, message, answers)
}

function validate(
  faults: Fault[],
  revision: ProtocolVersion,
  sender: Sender,
  message: unknown,
  answers: string | undefined,
): void {
  if (++validated > validatedPerTest || characters > charactersPerTest) return
  const text = written(message)
  if (text === undefined) return
  characters += text.length
  for (const fault of checkWire(revision, sender, JSON.parse(text), answers)) {
    faults.push({ fault: `${sender} ${revision}: ${fault}`, message: text.slice(0, 500) })
  }
}

/** The message as JSON; undefined if it cannot be encoded. */
function written(message: unknown): string | undefined {
  try {
    return JSON.stringify(message)
  } catch {
    return undefined
  }
}

/** Fails the test if a message was invalid, and resets for the next test. */
export function expectValid(): void {
  validated = 0
  characters = 0
  const reason = faultsDeclared()
  const sentFaults = sent.splice(0)
  const receivedFaults = received.splice(0)
  expect(sentFaults, 'every message sent fits the official schema of its revision').toEqual([])
  if (reason === undefined) {
    expect(receivedFaults, 'every message received fits the official schema of its revision').toEqual([])
  } else {
    expect(receivedFaults, `the peer was declared faulty ("${reason}"), but sent nothing wrong`).not.toEqual(
      [],
    )
  }
}

/** Whether the official schemas may know a method: extensions and programs have methods of their own. */
export function isCoreMethod(method: string): boolean {
  return core.has(method) || (method.startsWith('notifications/') && !added.has(method))
}

/** The method whose result a schema defines; undefined for a result of an extension. */
export function coreResultMethod(method: string | undefined, result: unknown): string | undefined {
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
