import { once } from 'node:events'
import { connect } from 'node:net'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { rig } from './rig.ts'

afterEach(() => void vi.useRealTimers())

const bytes = Buffer.from([0, 1, 2, 255, 60, 62])

describe('a download', () => {
  test('is an attachment of application/octet-stream with its file name', async () => {
    const { ask, login, web } = await rig()
    const { cookie } = await login()
    const ticket = web.blobs.offer({ bytes, name: '../Ä "b"\r\n‮.html', type: 'text/html' })
    expect(ticket).toMatch(/^[\w-]{22}$/)
    const answer = await ask('GET', `/blob/${ticket}`, { headers: { Cookie: cookie } })
    expect(answer.bytes).toEqual(bytes)
    expect(answer).toMatchObject({
      status: 200,
      headers: {
        'content-type': 'application/octet-stream',
        'content-disposition': "attachment; filename*=UTF-8''.._%C3%84%20%22b%22___.html",
        'content-security-policy': "sandbox; default-src 'none'; frame-ancestors 'none'",
        'x-content-type-options': 'nosniff',
        'cache-control': 'no-store',
        'cross-origin-resource-policy': 'same-origin',
      },
    })
  })

  test('of an image type of the list is shown inline; SVG and all others are not', async () => {
    const { ask, login, web } = await rig()
    const headers = { Cookie: (await login()).cookie }
    for (const type of ['image/png', 'image/jpeg', 'image/gif', 'image/webp', 'image/avif'])
      expect(await ask('GET', `/blob/${web.blobs.offer({ bytes, type })}`, { headers })).toMatchObject({
        status: 200,
        headers: {
          'content-type': type,
          'content-disposition': "inline; filename*=UTF-8''download",
          'content-security-policy': expect.stringContaining('sandbox'),
        },
      })
    for (const type of ['image/svg+xml', 'IMAGE/PNG', 'image/png; charset=x', 'text/html', 'application/pdf'])
      expect(await ask('GET', `/blob/${web.blobs.offer({ bytes, type })}`, { headers })).toMatchObject({
        headers: {
          'content-type': 'application/octet-stream',
          'content-disposition': expect.stringContaining('attachment'),
        },
      })
  })

  test('needs a session, and its ticket is single-use and valid for 60 s', async () => {
    const { ask, login, web } = await rig()
    const headers = { Cookie: (await login()).cookie }
    const ticket = web.blobs.offer({ bytes })
    const path = `/blob/${ticket}`
    expect((await ask('GET', path)).status).toBe(401)
    expect((await ask('GET', path, { headers: { Cookie: 'x=1' } })).status).toBe(401)
    expect((await ask('HEAD', path, { headers })).status).toBe(405)
    expect((await ask('PUT', path, { headers, body: 'x' })).status).toBe(404)
    expect((await ask('GET', path, { headers: { ...headers, 'Sec-Fetch-Site': 'cross-site' } })).status).toBe(
      403,
    )
    expect((await ask('GET', path, { headers })).status).toBe(200)
    expect((await ask('GET', path, { headers })).status).toBe(404)
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    const late = web.blobs.offer({ bytes })
    vi.advanceTimersByTime(60_000)
    vi.useRealTimers()
    expect((await ask('GET', `/blob/${late}`, { headers })).status).toBe(404)
  })

  test('is bounded in size, as are all waiting ones together', async () => {
    const { web, ask, login } = await rig()
    const headers = { Cookie: (await login()).cookie }
    const large = new Uint8Array(33_554_432)
    expect(() => web.blobs.offer({ bytes: new Uint8Array(33_554_433) })).toThrow('at most 32 MiB')
    const tickets = Array.from({ length: 4 }, () => web.blobs.offer({ bytes: large }))
    expect(() => web.blobs.offer({ bytes })).toThrow('Too many downloads wait')
    expect((await ask('GET', `/blob/${tickets[0]}`, { headers })).bytes).toHaveLength(33_554_432)
    for (let n = 3; n < 256; n++) web.blobs.offer({ bytes })
    expect(() => web.blobs.offer({ bytes })).toThrow('256 transfers wait already')
  })
})

describe('an upload', () => {
  test('is received completely, once', async () => {
    const { ask, login, web } = await rig()
    const headers = { Cookie: (await login()).cookie }
    const { ticket, uploaded } = web.blobs.expect()
    const body = Buffer.alloc(5_000_000, 'abc')
    expect((await ask('PUT', `/blob/${ticket}`, { body })).status).toBe(401)
    expect((await ask('GET', `/blob/${ticket}`, { headers })).status).toBe(404)
    expect(
      (await ask('PUT', `/blob/${ticket}`, { headers: { ...headers, Expect: '100-continue' }, body })).status,
    ).toBe(204)
    expect(Buffer.from(await uploaded).equals(body)).toBe(true)
    expect((await ask('PUT', `/blob/${ticket}`, { headers, body })).status).toBe(404)
  })

  test('that is too large is rejected, by its declared length and by its bytes', async () => {
    const { ask, login, web } = await rig()
    const headers = { Cookie: (await login()).cookie }
    for (const more of [{}, { 'Content-Length': '', 'Transfer-Encoding': 'chunked' }]) {
      const { ticket, uploaded } = web.blobs.expect({ maxBytes: 10 })
      const answer = await ask('PUT', `/blob/${ticket}`, {
        headers: { ...headers, ...more },
        body: 'x'.repeat(11),
      })
      expect(answer).toMatchObject({ status: 413, headers: { connection: 'close' } })
      await expect(uploaded).rejects.toThrow('larger than 10 bytes')
    }
  })

  test('that is incomplete, late or never started fails', async () => {
    const { login, web, port } = await rig()
    const { cookie } = await login()
    const cut = web.blobs.expect()
    const socket = connect(port, '127.0.0.1')
    const head = [`Host: 127.0.0.1:${port}`, `Origin: http://127.0.0.1:${port}`, `Cookie: ${cookie}`]
    socket.write(`PUT /blob/${cut.ticket} HTTP/1.1\r\n${head.join('\r\n')}\r\nContent-Length: 10\r\n\r\nhalf`)
    await once(socket, 'connect')
    socket.end()
    await expect(cut.uploaded).rejects.toThrow('The upload was cut')
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    const late = web.blobs.expect()
    vi.advanceTimersByTime(60_000)
    vi.useRealTimers()
    await expect(late.uploaded).rejects.toThrow('did not begin within 60 s')
    const never = web.blobs.expect()
    await web.close()
    await expect(never.uploaded).rejects.toThrow('The web server ended')
  })
})
