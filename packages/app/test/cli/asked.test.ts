import { describe, expect, test } from 'vitest'
import { jsonFile, onEverything, run, travel } from './jackfield.ts'

describe.concurrent('questions of a server', () => {
  test('are not possible when no user can answer: no capability is declared', async () => {
    const { stderr } = await run(onEverything('tools', '-v', '--era', 'legacy'))
    expect(stderr).toContain('"capabilities":{"extensions":{"io.modelcontextprotocol/tasks":{}}}')
  })

  test('are answered from a file, and only its kinds are declared', async () => {
    const answers = jsonFile({
      elicitation: [{ match: 'inputs', action: 'accept', content: { name: 'Ada', check: true } }],
    })
    const { stdout, stderr, code } = await run(
      onEverything('call', 'trigger-elicitation-request', '--answers', answers, '-v', '--era', 'legacy'),
    )
    expect(stderr).toContain('"capabilities":{"elicitation":{"form":{},"url":{}},"extensions":')
    expect(code).toBe(0)
    expect(stdout).toContain('- Name: Ada')
  })

  test.each([
    ['decline', 'declined'],
    ['cancel', 'cancelled'],
  ])('%s reaches the server unchanged', async (action, words) => {
    const answers = jsonFile({ elicitation: [{ action }] })
    const { stdout } = await run(onEverything('call', 'trigger-elicitation-request', '--answers', answers))
    expect(stdout).toContain(words)
  })

  test('for a model are answered by a text or by the offline planner', async () => {
    const answers = jsonFile({ sampling: [{ match: '2+2', text: 'Four.' }, { model: 'offline' }] })
    const text = await run(
      onEverything('call', 'trigger-sampling-request', 'prompt=2+2?', '--answers', answers),
    )
    expect(text.stdout).toContain('"text": "Four."')
    const model = await run(
      onEverything('call', 'trigger-sampling-request', 'prompt=Why?', '--answers', answers),
    )
    expect(model.stdout).toContain('not a language model')
  })

  test('without a matching answer fail with the reason', async () => {
    const answers = jsonFile({ sampling: [{ match: 'never', text: 'x' }] })
    const { code, stderr } = await run(
      onEverything('call', 'trigger-sampling-request', 'prompt=x', '--answers', answers),
    )
    expect(code).toBe(1)
    expect(stderr).toContain('the answers file has no matching entry')
  })

  test('that the answers file does not answer fail the call, which is no error of the protocol', async () => {
    const wrong = jsonFile({ elicitation: [{ action: 'accept', content: { confirmBooking: 'yes' } }] })
    const trip = ['destination=Barcelona', 'departure=2027-06-15', 'returnDate=2027-06-22']
    const { code, stderr } = await run([
      'call',
      'bookVacation',
      ...trip,
      '--answers',
      wrong,
      '--',
      ...travel(),
    ])
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: expect.stringMatching(
        /the answer does not fit the form[\s\S]*the answers file has no answer that fits/,
      ),
    })
  })

  test('book a trip in the modern era, in rounds', async () => {
    const answers = jsonFile({
      elicitation: [
        {
          match: '/confirm/i',
          action: 'accept',
          content: {
            confirmBooking: true,
            seatPreference: 'window',
            roomType: 'sea view',
            travelInsurance: false,
          },
        },
        { match: '/Who travels/', action: 'accept', content: { travelerNames: 'Ada Lovelace' } },
      ],
    })
    const words = [
      'call',
      'bookVacation',
      'destination=Barcelona',
      'departure=2027-06-15',
      'returnDate=2027-06-22',
      '--answers',
      answers,
      '--json',
    ]
    const { code, stdout } = await run([...words, '--', ...travel()])
    expect(code).toBe(0)
    expect(JSON.parse(stdout).structuredContent).toMatchObject({
      status: 'booked',
      booking: { choices: { seatPreference: 'window' } },
    })
  })
})
