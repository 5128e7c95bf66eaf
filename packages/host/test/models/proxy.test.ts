import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, expect, onTestFinished, test } from 'vitest'
import { findOllama } from '../../src/models/environment.ts'
import { createRegistry, fetchBundle } from '../../src/servers/install/registry.ts'
import { firstModel, request } from './asked-models.ts'
import { type Answer, anthropic, chat, google, openai } from './provider.ts'

/** A proxy that is the only way to `http://….example`, and what it was asked for. It answers each request itself. */
async function proxy(answer: Answer | undefined): Promise<{ env: Record<string, string>; asked: string[] }> {
  const asked: string[] = []
  const server = createServer((given, response) => {
    asked.push(given.url ?? '')
    if (answer !== undefined && 'events' in answer) {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      for (const { event, data } of answer.events) {
        const text = typeof data === 'string' ? data : JSON.stringify(data)
        response.write(`${event === undefined ? '' : `event: ${event}\n`}data: ${text}\n\n`)
      }
      if (answer.hang !== true) response.end()
      return
    }
    response.writeHead(200, { 'content-type': 'application/json' })
    response.end(answer !== undefined && 'json' in answer ? JSON.stringify(answer.json) : '{}')
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  return { env: { HTTP_PROXY: `127.0.0.1:${port}` }, asked }
}

const url = 'http://models.example'
const providers = [
  ['anthropic', { ANTHROPIC_API_KEY: 'k', ANTHROPIC_BASE_URL: url }, anthropic.stream(['Hel', 'lo'])],
  ['openai', { OPENAI_API_KEY: 'k', OPENAI_BASE_URL: `${url}/v1` }, openai.stream(['Hel', 'lo'])],
  [
    'google',
    { GEMINI_API_KEY: 'k', GOOGLE_GENERATIVE_AI_BASE_URL: url },
    google.answer([{ text: 'Hel' }, { text: 'lo' }]),
  ],
  [
    'compatible',
    { OPENAI_COMPATIBLE_BASE_URL: `${url}/v1`, OPENAI_COMPATIBLE_MODEL: 'm' },
    chat.stream(['Hel', 'lo']),
  ],
  ['ollama', { OLLAMA_HOST: url, JACKFIELD_MODEL: 'ollama/m' }, chat.stream(['Hel', 'lo'])],
] as const

describe('through the proxy from the environment', () => {
  test.each(providers)('%s responds', async (name, settings, answer) => {
    const { env, asked } = await proxy(answer)
    const onText = name === 'google' ? {} : { onText: () => {} }
    const reply = await firstModel({ ...settings, ...env }).generate(request(onText))
    expect(
      [reply.content]
        .flat()
        .map((block) => ('text' in block ? block.text : ''))
        .join(''),
    ).toBe('Hello')
    expect(asked).toEqual([expect.stringContaining('http://models.example')])
  })

  test('a request aborted during its response ends with the reason', async () => {
    const { env } = await proxy(anthropic.stream(['Hel'], { hang: true }))
    const ending = new AbortController()
    const settings = { ANTHROPIC_API_KEY: 'k', ANTHROPIC_BASE_URL: url, ...env }
    const asking = firstModel(settings).generate(
      request({ signal: ending.signal, onText: () => ending.abort(new Error('enough')) }),
    )
    await expect(asking).rejects.toThrow('enough')
  })

  test('an Ollama is found', async () => {
    const { env, asked } = await proxy({ json: { models: [{ name: 'llama' }] } })
    expect(await findOllama({ OLLAMA_HOST: url, ...env })).toEqual({ host: url, models: ['llama'] })
    expect(asked).toEqual(['http://models.example:11434/api/tags'])
  })

  test('a registry and a bundle on a loopback address are contacted directly', async () => {
    const { env, asked } = await proxy(undefined)
    const away = { url: 'http://127.0.0.1:9/x.mcpb', hash: '' }
    await expect(fetchBundle(away, { env })).rejects.toThrow('The connection to http://127.0.0.1:9')
    await expect(createRegistry({ url: 'http://127.0.0.1:9', env }).search('x')).rejects.toThrow(
      'The connection to http://127.0.0.1:9',
    )
    expect(asked).toEqual([])
  })
})

test('a proxy that does not respond is named with its variable, without a retry', async () => {
  const waits: string[] = []
  const settings = { OPENAI_COMPATIBLE_BASE_URL: `${url}/v1`, OPENAI_COMPATIBLE_MODEL: 'm' }
  const asking = firstModel({ ...settings, http_proxy: 'http://127.0.0.1:9' }).generate(
    request({ onWait: ({ reason }) => waits.push(reason) }),
  )
  await expect(asking).rejects.toMatchObject({
    kind: 'unavailable',
    message: expect.stringMatching(
      /^compatible\/m cannot be reached\. Could not reach the proxy http:\/\/127\.0\.0\.1:9 \(ECONNREFUSED\), which http_proxy names\./,
    ),
  })
  expect(waits).toEqual([])
  await expect(firstModel({ ...settings, http_proxy: 'socks5://x' }).generate(request())).rejects.toThrow(
    'names a proxy of the kind socks5://',
  )
})
