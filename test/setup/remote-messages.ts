import type { ProtocolVersion } from '@jackfield/sdk'
import { latestSessionVersion } from '../../packages/sdk/src/protocol/methods.ts'
import { isObject } from './json.ts'
import { checkMessage } from './received-messages.ts'
import { coreResultMethod, published, validateReceived, versionIn } from './schema-validation.ts'

/** Validates the messages that a test writes itself to a server in another process, where the schema check of servers does not see them. */
export class RemoteMessages {
  #revision: ProtocolVersion | undefined
  readonly #asked = new Map<unknown, string>()

  /** Validates each line that is JSON, and returns the text. */
  sent(text: string): string {
    for (const line of text.split('\n')) {
      const value = jsonIn(line)
      if (value !== undefined) this.#check(value)
    }
    return text
  }

  /** Records the server's requests, and the revision that it negotiated. */
  received(value: unknown): void {
    if (!isObject(value)) return
    const { id, method, result } = value
    if (typeof method === 'string') this.#asked.set(id, method)
    else if (isObject(result)) this.#revision = published(result['protocolVersion']) ?? this.#revision
  }

  #check(value: unknown): void {
    if (isObject(value) && value['method'] === undefined && ('result' in value || 'error' in value)) {
      const method = this.#asked.get(value['id'])
      validateReceived(
        this.#revision ?? latestSessionVersion,
        'client',
        value,
        coreResultMethod(method, value['result']),
      )
      return
    }
    if (isObject(value) && value['method'] === 'initialize') {
      const wanted = versionIn(value['params'])
      this.#revision = wanted === undefined || wanted > latestSessionVersion ? latestSessionVersion : wanted
    }
    checkMessage(value, this.#revision)
  }
}

function jsonIn(line: string): unknown {
  try {
    return JSON.parse(line)
  } catch {
    return undefined
  }
}
