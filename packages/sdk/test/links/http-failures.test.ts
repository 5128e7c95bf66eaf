import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { connect } from '@jackfield/sdk/client'
import { describe, expect, it, onTestFinished } from 'vitest'

const page = `<!DOCTYPE html>
<html><head><title>Sign in &amp; go</title><style>body { color: red }</style><script>var token = 'no'</script></head>
<body><h1>Welcome</h1><p>Use your   account.</p></body></html>`

/** The URL of an endpoint that answers every request in one way. */
async function answering(status: number, type: string, body: string): Promise<string> {
  const server = createServer((request, response) => {
    request.resume()
    response
      .writeHead(status, type === '' ? {} : { 'content-type': type })
      .end(status === 204 ? undefined : body)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port }: AddressInfo = Object(server.address())
  return `http://127.0.0.1:${port}/mcp`
}

const eras = [
  ['any revision', {}],
  ['2026-07-28 alone', { revisions: ['2026-07-28'] }],
] as const

const answers: [what: string, status: number, type: string, body: string, says: RegExp][] = [
  [
    'a failure',
    500,
    'text/plain',
    'Internal Server Error',
    /status 500: Internal Server Error\. The server failed:/,
  ],
  [
    'a failure in JSON',
    500,
    'application/json',
    '{"error":{"message":"db down"}}',
    /status 500: db down\. The server failed:/,
  ],
  ['a failure without text', 500, '', '', /status 500\. The server failed: .*log/],
  [
    'a page of a framework for an unknown path',
    404,
    'text/html',
    '<!DOCTYPE html><html><head><title>Error</title></head><body><pre>Cannot POST /mcp</pre></body></html>',
    /status 404: Error: Cannot POST \/mcp\. .*Check the path of the URL/,
  ],
  [
    'a web page',
    200,
    'text/html',
    page,
    /status 200 and text\/html, .*: Sign in & go: Welcome Use your account\. .*Check the path/,
  ],
  [
    'a long web page',
    200,
    'text/html',
    page.replace('account.', 'x'.repeat(300_000)),
    /Sign in & go: Welcome Use your x+…/,
  ],
  [
    'a method that is not allowed',
    405,
    'text/plain',
    'Method Not Allowed',
    /status 405: Method Not Allowed\. .*Check the path/,
  ],
  ['a wrong media type', 415, 'text/plain', 'no', /status 415: no\. Check the path/],
  ['too many requests', 429, 'text/plain', 'slow down', /status 429: slow down\. .*[Ww]ait/],
  ['an empty answer', 204, '', '', /status 204 and no content type, .*Check the path/],
  [
    'JSON that is no message',
    200,
    'application/json',
    '{"hello":1}',
    /status 200 and JSON that contains no JSON-RPC response with the same id: {"hello":1}\. .*Check the path/,
  ],
  [
    'JSON with a message of its own',
    200,
    'application/json',
    '{"error":"hello, sign in"}',
    /no JSON-RPC response with the same id: hello, sign in\. .*Check the path/,
  ],
  [
    'a stream without a response',
    200,
    'text/event-stream',
    'data: {"hello":1}\n\n',
    /event stream of .* ended before the response .*Check the log/,
  ],
  ['control characters', 500, 'text/plain', 'a\u001b[31mb\u202ec\r\nd', /status 500: a \[31mb c d\. /],
]

describe.each(eras)('connecting with %s to another kind of server', (_era, options) => {
  it.each(answers)('reports %s', async (_what, status, type, body, message) => {
    const url = await answering(status, type, body)
    const error = await connect(url, options).catch((error) => error)
    expect(error.message).toMatch(message)
    expect(error.message).not.toContain('does not support')
    expect(error.message.length).toBeLessThan(600)
    expect(error.message).not.toMatch(/[\p{Cc}\p{Cf}]|<|token/u)
    expect(error.message).toContain(url)
    if (!body.includes('hello')) expect(error).toMatchObject({ code: 'HTTP', details: { status } })
  })
})

describe('an endless web page', () => {
  it('is reported as soon as its start was read', async () => {
    const server = createServer((request, response) => {
      request.resume()
      response.writeHead(200, { 'content-type': 'text/html' }).write(page)
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    onTestFinished(() => {
      server.closeAllConnections()
      server.close()
    })
    const { port }: AddressInfo = Object(server.address())
    // More than the time of the test.
    const attempt = connect(`http://127.0.0.1:${port}/mcp`, {
      connectTimeoutMs: 120_000,
      probeTimeoutMs: 120_000,
    })
    await expect(attempt).rejects.toMatchObject({
      code: 'HTTP',
      message: expect.stringContaining('Sign in & go'),
    })
  })
})

describe('connecting with 2026-07-28 alone', () => {
  it('reports a server that fails on server/discover as failing, not as an older one', async () => {
    const body = '{"jsonrpc":"2.0","id":null,"error":{"code":-32603,"message":"boom"}}'
    const url = await answering(500, 'application/json', body)
    await expect(connect(url, { revisions: ['2026-07-28'] })).rejects.toMatchObject({
      code: 'CONNECT_FAILED',
      message: "server/discover failed on the server: boom (-32603). Check the server's log.",
    })
  })

  it.each([400, 404, 405])(
    'mentions older revisions if such a server could respond so: %i',
    async (status) => {
      const url = await answering(status, 'text/plain', 'no')
      await expect(connect(url, { revisions: ['2026-07-28'] })).rejects.toMatchObject({
        code: 'HTTP',
        message: expect.stringMatching(/older revisions.*"revisions"/),
      })
    },
  )
})
