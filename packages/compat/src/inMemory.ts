/** Two linked transports in one process: one for a client, one for a server or for a test's own messages. */
import type { Transport } from './shared/transport.ts'
import type { AuthInfo, JSONRPCMessage, MessageExtraInfo, RequestId } from './types.ts'

export class InMemoryTransport implements Transport {
  onclose?: () => void
  onerror?: (error: Error) => void
  onmessage?: (message: JSONRPCMessage, extra?: MessageExtraInfo) => void
  sessionId?: string
  #other: InMemoryTransport | undefined
  /** Messages that arrived before `start`. */
  #early: { message: JSONRPCMessage; extra: MessageExtraInfo | undefined }[] = []
  #isStarted = false

  static createLinkedPair(): [InMemoryTransport, InMemoryTransport] {
    const [one, other] = [new InMemoryTransport(), new InMemoryTransport()]
    one.#other = other
    other.#other = one
    return [one, other]
  }

  async start(): Promise<void> {
    this.#isStarted = true
    for (const { message, extra } of this.#early.splice(0)) this.onmessage?.(message, extra)
  }

  async close(): Promise<void> {
    const other = this.#other
    if (other === undefined) return
    this.#other = undefined
    await other.close()
    this.onclose?.()
  }

  /** @throws Error if the pair is closed */
  async send(
    message: JSONRPCMessage,
    options?: { relatedRequestId?: RequestId; authInfo?: AuthInfo },
  ): Promise<void> {
    const other = this.#other
    if (other === undefined) throw new Error('Not connected')
    const extra = options?.authInfo === undefined ? undefined : { authInfo: options.authInfo }
    if (other.#isStarted && other.onmessage !== undefined) other.onmessage(message, extra)
    else other.#early.push({ message, extra })
  }
}
