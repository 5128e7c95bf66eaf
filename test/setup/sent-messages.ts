import type { JsonRpcMessage, ProtocolVersion } from '@jackfield/sdk'
import type { ClientTransportEvents } from '@jackfield/sdk/client'
import { ClientConnection } from '../../packages/sdk/src/client/client-connection.ts'
import { revisions } from '../../packages/sdk/src/protocol/revisions.ts'
import {
  coreResultMethod,
  isCoreMethod,
  published,
  validateReceived,
  validateSent,
  versionIn,
} from './schema-validation.ts'

// Validates the messages that our servers encode, and those that our clients send or receive.

for (const revision of Object.values(revisions)) {
  const { version, result, inputRequired, error, notification, question } = revision
  const id = 1
  Object.assign(revision, {
    result: (...args: Parameters<typeof result>) => {
      const wire = result(...args)
      if (isCoreMethod(args[0]))
        validateSent(version, 'server', { jsonrpc: '2.0', id, result: wire }, args[0])
      return wire
    },
    inputRequired: (...args: Parameters<typeof inputRequired>) => {
      const wire = inputRequired(...args)
      validateSent(version, 'server', { jsonrpc: '2.0', id, result: wire }, 'tools/call')
      return wire
    },
    error: (...args: Parameters<typeof error>) => {
      const wire = error(...args)
      validateSent(version, 'server', { jsonrpc: '2.0', id, error: wire })
      return wire
    },
    notification: (...args: Parameters<typeof notification>) => {
      const wire = notification(...args)
      if (wire !== undefined && isCoreMethod(wire.method)) {
        validateSent(version, 'server', { jsonrpc: '2.0', ...wire })
      }
      return wire
    },
    question: (...args: Parameters<typeof question>) => {
      const params = question(...args)
      if (revision.era === 'session') {
        validateSent(version, 'server', { jsonrpc: '2.0', id, method: args[0].method, params })
      }
      return params
    },
  })
}

const start = ClientConnection.prototype.start
ClientConnection.prototype.start = function (events) {
  const { transport } = this
  const open = transport.start.bind(transport)
  transport.start = (listener: ClientTransportEvents) => {
    const conversation = new Conversation()
    return open({
      ...listener,
      trace: (direction, message) => {
        conversation.see(direction, message)
        listener.trace(direction, message)
      },
    })
  }
  return start.call(this, events)
}

/** The revision of a client's connection, and the requests of its responses. */
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
      if (this.#version !== undefined && isCoreMethod(message.method)) {
        validateReceived(this.#version, 'server', message)
      }
      return
    }
    const asked = 'id' in message ? this.#sentAs.get(message.id) : undefined
    const result = 'result' in message ? message.result : undefined
    if (result !== undefined) {
      this.#version = published(result['protocolVersion']) ?? this.#version ?? asked?.version
    }
    const version = asked?.version ?? this.#version
    if (version === undefined || asked === undefined) return
    validateReceived(version, 'server', message, coreResultMethod(asked.method, result))
  }

  #sent(message: JsonRpcMessage): void {
    if ('method' in message) {
      const version = versionIn(message.params) ?? this.#version
      if ('id' in message) this.#sentAs.set(message.id, { method: message.method, version })
      if (message.method === 'initialize') this.#version = undefined
      if (version !== undefined && isCoreMethod(message.method)) validateSent(version, 'client', message)
    } else if (this.#version !== undefined) {
      validateSent(
        this.#version,
        'client',
        message,
        'id' in message ? this.#asked.get(message.id) : undefined,
      )
    }
  }
}
