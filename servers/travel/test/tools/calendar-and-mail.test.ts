import { createServer, type Server } from 'node:net'
import { describe, expect, onTestFinished, test } from 'vitest'
import { clientOf, eras, readJson, textOf, travelServer } from '../fixture.ts'

describe.each(eras)('createCalendarEvent on %s', (era) => {
  test('enters the trip of the documentation and notifies subscribers of its year', async () => {
    const server = travelServer()
    const client = await clientOf(era, {}, server)
    const seen: string[] = []
    await client.watch({ resourceSubscriptions: ['calendar://events/2027'] }, (change) =>
      seen.push(change.type === 'resource' ? change.uri : change.type),
    )
    const result = await client.call('createCalendarEvent', {
      title: 'Barcelona Trip',
      startDate: '2027-06-15',
      endDate: '2027-06-22',
    })
    expect(result.structuredContent).toMatchObject({
      event: { title: 'Barcelona Trip', start: '2027-06-15', end: '2027-06-22' },
      overlaps: [],
      uri: 'calendar://events/2027',
    })
    await expect.poll(() => seen).toEqual(['calendar://events/2027'])
    expect(await readJson(client, 'calendar://events/2027')).toMatchObject({
      events: expect.arrayContaining([result.structuredContent?.event]),
    })
  })

  test('lists other events in the calendar at that time', async () => {
    const client = await clientOf(era)
    const result = await client.call('createCalendarEvent', {
      title: 'Trip',
      startDate: '2027-07-01T08:00',
      endDate: '2027-07-06T20:00',
    })
    expect(result.structuredContent?.overlaps).toMatchObject([{ title: 'Product launch' }])
    expect(textOf(result)).toContain('Product launch')
  })

  test('shows an event in every year it touches, and a new year in the list', async () => {
    const client = await clientOf(era)
    await client.call('createCalendarEvent', {
      title: 'New Year in Tokyo',
      startDate: '2029-12-28',
      endDate: '2030-01-04',
      location: 'Tokyo',
      notes: 'Book early.',
    })
    const listed = (await client.resources()).map(({ uri }) => uri)
    for (const year of ['2029', '2030']) {
      expect(listed).toContain(`calendar://events/${year}`)
      expect(await readJson(client, `calendar://events/${year}`)).toMatchObject({
        events: [{ title: 'New Year in Tokyo', location: 'Tokyo', notes: 'Book early.' }],
      })
    }
  })

  test.each([
    ['a date that does not exist', { startDate: '2027-02-30' }],
    ['an end before the start', { startDate: '2027-06-15', endDate: '2027-06-14' }],
    ['a date with a time to a date', { startDate: '2027-06-15T10:00', endDate: '2027-06-16' }],
    ['an event of ten years', { startDate: '2027-06-15', endDate: '2037-06-14' }],
    ['no title', { title: '  ', startDate: '2027-06-15' }],
  ])('rejects %s and enters nothing', async (_what, wrong) => {
    const client = await clientOf(era)
    const before = await readJson(client, 'calendar://events/2027')
    const result = await client.call('createCalendarEvent', { title: 'Trip', ...wrong })
    expect(result.isError).toBe(true)
    expect(await readJson(client, 'calendar://events/2027')).toEqual(before)
  })
})

describe.each(eras)('sendEmail on %s', (era) => {
  const mail = { to: 'team@work.com', subject: 'Out of Office', body: 'I am in Barcelona until June 22.' }

  test('stores the message and reports that it was not sent without a mail server', async () => {
    const client = await clientOf(era)
    const result = await client.call('sendEmail', mail)
    expect(result.structuredContent).toMatchObject({ status: 'kept', to: mail.to })
    expect(textOf(result)).toContain('was not sent')
    expect(await readJson(client, 'travel://outbox')).toMatchObject({
      messages: [{ ...mail, status: 'kept' }],
    })
  })

  test('sends the message to the mail server', async () => {
    const smtp = await smtpServer('accept')
    const server = travelServer({ smtpUrl: smtp.url, smtpFrom: 'traveller@example.com' })
    const client = await clientOf(era, {}, server)
    const result = await client.call('sendEmail', mail)
    expect(result.structuredContent).toMatchObject({ status: 'sent' })
    expect(smtp.received()).toContain('RCPT TO:<team@work.com>')
    expect(smtp.received()).toContain('Subject: Out of Office')
    expect(smtp.received()).toContain('I am in Barcelona until June 22.')
    expect(await readJson(client, 'travel://outbox')).toMatchObject({ messages: [{ status: 'sent' }] })
  })

  test('reports a rejection of the mail server, and stores the message', async () => {
    const smtp = await smtpServer('refuse')
    const server = travelServer({ smtpUrl: smtp.url, smtpFrom: 'traveller@example.com' })
    const client = await clientOf(era, {}, server)
    const result = await client.call('sendEmail', mail)
    expect(result.isError).toBe(true)
    expect(textOf(result)).toContain('refused the sender or the recipient')
    expect(textOf(result)).not.toContain('127.0.0.1')
    expect(await readJson(client, 'travel://outbox')).toMatchObject({ messages: [{ status: 'failed' }] })
  })

  test.each([
    ['an address that is none', { to: 'team' }],
    ['several addresses', { to: 'a@b.com, c@d.com' }],
    ['a subject with a header in it', { subject: 'Hello\r\nBcc: everyone@example.com' }],
  ])('refuses %s', async (_what, wrong) => {
    const client = await clientOf(era)
    const result = await client.call('sendEmail', { ...mail, ...wrong })
    expect(result.isError).toBe(true)
    expect(await readJson(client, 'travel://outbox')).toEqual({ messages: [] })
  })
})

test('a mail server that is none is refused at the start', () => {
  expect(() => travelServer({ smtpUrl: 'http://example.com' })).toThrow('smtp://')
  expect(() => travelServer({ smtpUrl: 'smtp://localhost' })).toThrow('SMTP_FROM')
})

/** Speaks as much SMTP as one message needs. */
async function smtpServer(mode: 'accept' | 'refuse'): Promise<{ url: string; received(): string }> {
  let received = ''
  const server: Server = createServer((socket) => {
    let inData = false
    socket.setEncoding('utf8')
    socket.on('error', () => {})
    socket.write('220 test\r\n')
    socket.on('data', (chunk: string) => {
      received += chunk
      if (inData) {
        if (!received.endsWith('\r\n.\r\n')) return
        inData = false
        socket.write('250 taken\r\n')
        return
      }
      for (const line of chunk.split('\r\n').filter((text) => text !== '')) {
        if (line.startsWith('RCPT') && mode === 'refuse') socket.write('550 nobody here\r\n')
        else if (line === 'DATA') {
          inData = true
          socket.write('354 go on\r\n')
        } else if (line === 'QUIT') socket.end('221 bye\r\n')
        else socket.write('250 ok\r\n')
      }
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(
    () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve())
      }),
  )
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('no port')
  return { url: `smtp://127.0.0.1:${address.port}`, received: () => received }
}
