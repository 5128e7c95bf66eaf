import type { ProtocolVersion } from '@jackfield/sdk'
import { latestLegacy } from '../../packages/sdk/src/protocol/revision.ts'
import { isObject } from './json.ts'
import { holdReceived, published, resultOfCore, versionIn } from './judge.ts'
import { take } from './serving.ts'

/** Judges what a test writes by hand to a server in another process, where nothing of this one sees it arrive. */
export class FarServer {
  #spoken: ProtocolVersion | undefined
  readonly #asked = new Map<unknown, string>()

  /** Judges each line and hands the text back. What is no JSON no schema can judge. */
  said(text: string): string {
    for (const line of text.split('\n')) {
      const value = jsonIn(line)
      if (value !== undefined) this.#judge(value)
    }
    return text
  }

  /** Notes what the server said: its questions, and the revision it agreed to. */
  heard(value: unknown): void {
    if (!isObject(value)) return
    const { id, method, result } = value
    if (typeof method === 'string') this.#asked.set(id, method)
    else if (isObject(result)) this.#spoken = published(result['protocolVersion']) ?? this.#spoken
  }

  #judge(value: unknown): void {
    if (isObject(value) && value['method'] === undefined && ('result' in value || 'error' in value)) {
      const method = this.#asked.get(value['id'])
      holdReceived(this.#spoken ?? latestLegacy, 'client', value, resultOfCore(method, value['result']))
      return
    }
    if (isObject(value) && value['method'] === 'initialize') {
      const wanted = versionIn(value['params'])
      this.#spoken = wanted === undefined || wanted > latestLegacy ? latestLegacy : wanted
    }
    take(value, this.#spoken)
  }
}

function jsonIn(line: string): unknown {
  try {
    return JSON.parse(line)
  } catch {
    return undefined
  }
}
