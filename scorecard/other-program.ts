import type { Running } from './types.ts'

/** Another application that has a gateway as its one server, over standard streams, in revision 2025-11-25. */
export interface OtherProgram {
  /** Sends a request and gives its answer, or undefined where none came within the time. */
  request(method: string, params: object, withinMs?: number): Promise<Answer | undefined>
}

export interface Answer {
  id?: number
  result?: { tools?: { name: string }[]; content?: unknown; isError?: boolean }
  error?: { code: number; message: string }
}

/** Begins a session with a gateway that was started. */
export async function otherProgram(gateway: Running, capabilities: object = {}): Promise<OtherProgram> {
  let last = 0
  const send = (message: object): void => gateway.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
  const request: OtherProgram['request'] = async (method, params, withinMs = 60_000) => {
    last += 1
    const id = last
    send({ id, method, params })
    const deadline = performance.now() + withinMs
    while (performance.now() < deadline) {
      const answer = answersIn(gateway.stdout).find((one) => one.id === id)
      if (answer !== undefined) return answer
      await new Promise((resolve) => setTimeout(resolve, 50))
    }
    return undefined
  }
  const clientInfo = { name: 'other-program', version: '1.0.0' }
  await request('initialize', { protocolVersion: '2025-11-25', capabilities, clientInfo })
  send({ method: 'notifications/initialized' })
  return { request }
}

function answersIn(text: string): Answer[] {
  return text
    .split('\n')
    .slice(0, -1)
    .flatMap((line): Answer[] => {
      try {
        const message: unknown = JSON.parse(line)
        return typeof message === 'object' && message !== null && !('method' in message) ? [message] : []
      } catch {
        return []
      }
    })
}
