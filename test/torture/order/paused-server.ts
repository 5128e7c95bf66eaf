import { type Context, defineServer, type Server, tool } from '@jackfield/sdk'

/** One run of the tool, which continues until it is released, even if its signal is aborted. */
export interface Handled {
  readonly context: Context
  /** Has it end with its number, in the order of the starts. */
  release(): void
}

/** A server with one tool that waits until the test releases it. */
export function pausedServer(): { server: Server; runs: Handled[]; failures: unknown[] } {
  const runs: Handled[] = []
  const failures: unknown[] = []
  const server = defineServer({
    name: 'hand',
    version: '1',
    onError: (error) => failures.push(error),
    tools: {
      work: tool({
        run: (_, context) =>
          new Promise<string>((resolve) => {
            const number = runs.length
            runs.push({ context, release: () => resolve(String(number)) })
          }),
      }),
    },
  })
  return { server, runs, failures }
}

/** Params of a call of the tool, in a session or without one. */
export function callParams(token: string, isStateless: boolean): object {
  const who = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientInfo': { name: 'hand', version: '1' },
    'io.modelcontextprotocol/clientCapabilities': {},
  }
  return { name: 'work', arguments: {}, _meta: { progressToken: token, ...(isStateless ? who : {}) } }
}
