import { createServer } from 'node:http'
import { addressOf } from './fixtures/base/serve.ts'

/** What a language model is given of the talk, as the chat interface of OpenAI writes it. */
export interface Given {
  role: string
  content: string
}

export type Reply = { say: string } | { call: string; arguments: Record<string, unknown> }

export interface StandInModel extends AsyncDisposable {
  /** Variables that have Jackfield talk to it. */
  env: Record<string, string>
  /** The text of every message of the last request. */
  given(): Given[]
}

/** A language model by hand: whatever it is given last decides what it says or calls. */
export async function standInModel(answer: (last: Given) => Reply): Promise<StandInModel> {
  let given: Given[] = []
  const http = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    const { messages }: { messages: { role: string; content: unknown }[] } = JSON.parse(
      Buffer.concat(chunks).toString(),
    )
    given = messages.map(({ role, content }) => ({ role, content: textOf(content) }))
    const reply = answer(given.at(-1) ?? { role: 'user', content: '' })
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
      const chunk = { id, object: 'chat.completion.chunk', created: 1, model: 'stand-in', choices: [choice] }
      response.write(`data: ${JSON.stringify(chunk)}\n\n`)
    }
    response.end('data: [DONE]\n\n')
  })
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve))
  return {
    env: {
      OPENAI_COMPATIBLE_BASE_URL: addressOf(http.address(), '/v1'),
      OPENAI_COMPATIBLE_MODEL: 'stand-in',
      JACKFIELD_MODEL: 'compatible/stand-in',
    },
    given: () => given,
    async [Symbol.asyncDispose]() {
      http.closeAllConnections()
      await new Promise((resolve) => http.close(resolve))
    },
  }
}

function textOf(content: unknown): string {
  return typeof content === 'string' ? content : JSON.stringify(content ?? '')
}
