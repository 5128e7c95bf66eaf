import type { JsonRpcMessage } from '@jackfield/sdk'
import { connect } from '@jackfield/sdk/client'
import * as official from '@modelcontextprotocol/core'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { Feature } from '../matrix/feature.ts'
import { features } from '../matrix/features.ts'
import { createMatrixServer } from '../transports/matrix-server.ts'
import { definitionName } from './wire.ts'

interface Received {
  readonly from: 'client' | 'server'
  readonly message: JsonRpcMessage
}

const versions = ['2025-11-25', '2026-07-28'] as const
const validators = new Map(
  Object.entries(official).flatMap(([name, value]) => (isValidator(value) ? [[name, value]] : [])),
)

/** Everything both sides say while a feature is tried. */
async function conversation(feature: Feature, version: (typeof versions)[number]): Promise<Received[]> {
  const received: Received[] = []
  const server = createMatrixServer()
  await feature.run({
    version,
    transport: 'memory',
    async open(options = {}) {
      const client = await connect(server, {
        ...options,
        revisions: [version],
        onMessage: (direction, message) =>
          received.push({ from: direction === 'sent' ? 'client' : 'server', message }),
      })
      onTestFinished(() => client.close())
      return client
    },
  })
  return received
}

/** What the official SDK's own schemas say against one message. */
function objections(received: readonly Received[], version: (typeof versions)[number]): string[] {
  const asked = new Map<string, string>()
  return received.flatMap(({ from, message }) => {
    if ('method' in message) {
      if ('id' in message) asked.set(`${from} ${message.id}`, message.method)
      return against(definitionName(version, message.method), message)
    }
    const requester = from === 'client' ? 'server' : 'client'
    const method = asked.get(`${requester} ${message.id}`)
    if (!('result' in message) || method === undefined) return []
    if (message.result['resultType'] === 'input_required') return []
    const name = definitionName(version, method)?.replace(/Request$/, 'Result')
    return against(name === 'CreateMessageResult' ? `${name}WithTools` : name, message.result)
  })
}

function against(name: string | undefined, value: unknown): string[] {
  const outcome = validators.get(`${name}Schema`)?.safeParse(value)
  return outcome === undefined || outcome.success ? [] : [`${name}: ${String(outcome.error)}`]
}

function isValidator(
  value: unknown,
): value is { safeParse(value: unknown): { success: boolean; error?: unknown } } {
  return typeof value === 'object' && value !== null && 'safeParse' in value
}

describe.each(versions)("the official SDK's own schemas at %s", (version) => {
  it.each(features)('accept $title', async (feature) => {
    const received = await conversation(feature, version)
    expect(received.length).toBeGreaterThanOrEqual(2)
    expect(objections(received, version)).toEqual([])
  })

  it('cover every message of the core protocol', () => {
    expect(validators.has(`${definitionName(version, 'tools/call')}Schema`)).toBe(true)
    expect(against('CallToolResult', { content: 'text' })).toHaveLength(1)
  })
})
