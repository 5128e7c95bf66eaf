import { createServer } from 'node:http'
import { addressOf } from './fixtures/base/serve.ts'

/** A message of a request, in the format of OpenAI's chat completions. */
export interface ModelMessage {
  role: string
  content: string
}

export type Reply = { say: string } | { call: string; arguments: Record<string, unknown> }

export interface FakeModel extends AsyncDisposable {
  /** Environment variables that make Jackfield use it. */
  env: Record<string, string>
  /** The messages of the last request. */
  received(): ModelMessage[]
}

/** Starts an HTTP server in place of a language model. `answer` chooses the reply from the last message. */
export async function startFakeModel(answer: (last: ModelMessage) => Reply): Promise<FakeModel> {
  let received: ModelMessage[] = []
  const http = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    const { messages }: { messages: { role: string; content: unknown }[] } = JSON.parse(
      Buffer.concat(chunks).toString(),
    )
    received = messages.map(({ role, content }) => ({ role, content: textOf(content) }))
    const reply = answer(received.at(-1) ?? { role: 'user', content: '' })
    const id = `call-${messages.length}`
    const delta =
      'say' in reply
        ? { role: 'assistant', content: reply.say }
        : {
            role: 'assistant',
            tool_calls: [
              {
                index: 0,
                id,
                type: 'function',
                function: { name: reply.call, arguments: JSON.stringify(reply.arguments) },
              },
            ],
          }
    const finish = 'say' in reply ? 'stop' : 'tool_calls'
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    for (const choice of [
      { index: 0, delta, finish_reason: null },
      { index: 0, delta: {}, finish_reason: finish },
    ]) {
      const chunk = { id, object: 'chat.completion.chunk', created: 1, model: 'fake', choices: [choice] }
      response.write(`data: ${JSON.stringify(chunk)}\n\n`)
    }
    response.end('data: [DONE]\n\n')
  })
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve))
  return {
    env: {
      OPENAI_COMPATIBLE_BASE_URL: addressOf(http.address(), '/v1'),
      OPENAI_COMPATIBLE_MODEL: 'fake',
      JACKFIELD_MODEL: 'compatible/fake',
    },
    received: () => received,
    async [Symbol.asyncDispose]() {
      http.closeAllConnections()
      await new Promise((resolve) => http.close(resolve))
    },
  }
}

function textOf(content: unknown): string {
  return typeof content === 'string' ? content : JSON.stringify(content ?? '')
}
