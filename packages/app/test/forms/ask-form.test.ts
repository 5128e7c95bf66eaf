import type { HostAnswers } from '@jackfield/host'
import type { ElicitFormParams } from '@jackfield/sdk'
import picocolors from 'picocolors'
import { describe, expect, test } from 'vitest'
import { askForm } from '../../src/forms/ask-form.ts'
import type { ElicitationQuestion } from '../../src/forms/heading.ts'
import type { Prompter } from '../../src/forms/prompter.ts'
import { esc, type Scripted, scripted } from './prompter.ts'
import { questionOf } from './question.ts'

const palette = picocolors.createColors(false)

function asked(
  params: ElicitFormParams,
  prompter: Prompter,
  more: Partial<ElicitationQuestion> = {},
): Promise<HostAnswers['elicitation'] | undefined> {
  return askForm(questionOf(params, more), prompter, palette)
}

const booking: ElicitFormParams = {
  message: 'Confirm your\u001b[31m booking',
  requestedSchema: {
    type: 'object',
    properties: {
      confirm: { type: 'boolean', title: 'Confirm' },
      seat: { type: 'string', enum: ['window', 'aisle'], default: 'aisle' },
      extras: {
        type: 'array',
        items: {
          anyOf: [
            { const: 'b', title: 'Bag' },
            { const: 'm', title: 'Meal' },
          ],
        },
      },
      nights: { type: 'integer', minimum: 1, description: 'How long' },
      note: { type: 'string' },
    },
    required: ['confirm', 'nights'],
  },
}
const filled: Scripted[] = ['answer', 'yes', 'aisle', [], '7', '']

describe('a form', () => {
  test('that is filled in, reviewed and sent is an accept with exactly the values', async () => {
    const person = scripted('answer', 'yes', 'window', ['Meal', 'Bag'], '7', '', 'send')
    expect(await asked(booking, person)).toEqual({
      action: 'accept',
      content: { confirm: true, seat: 'window', extras: ['b', 'm'], nights: 7 },
    })
    expect(person.printed).toEqual([
      'travel asks you for input',
      'Confirm your booking',
      'Enter only what you trust this server with.',
      'This is what will be sent:',
      '  Confirm: yes',
      '  seat: window',
      '  extras: Bag (b), Meal (m)',
      '  nights: 7',
      '  note: (left out)',
    ])
  })

  test('shows which server asks, and for which call', async () => {
    const person = scripted('cancel')
    const cause = { server: 'travel', tool: 'book', caller: 'chat' as const }
    await asked(booking, person, { cause, origin: 'node travel.js' })
    expect(person.printed.slice(0, 3)).toEqual([
      'travel asks you for input',
      '  travel is node travel.js',
      '  asked because the model called its tool book',
    ])
  })

  test('starts with the defaults, and shows which fields are optional and their constraints', async () => {
    const person = scripted(...filled, 'send')
    await asked(booking, person)
    expect(person.initials.slice(1, 4)).toEqual(['no', '2', []])
    expect(person.asked.slice(1, 5)).toEqual([
      'Confirm',
      'seat (optional)',
      'extras (optional)',
      'nights: How long. A whole number, at least 1.',
    ])
  })

  test('goes back a field on Esc, keeping the answers', async () => {
    const person = scripted('answer', 'yes', 'window', esc, 'aisle', ['Bag'], esc, ['Meal'], '7', '', 'send')
    expect(await asked(booking, person)).toMatchObject({
      action: 'accept',
      content: { seat: 'aisle', extras: ['m'], nights: 7 },
    })
    expect(person.asked.slice(2, 6)).toEqual([
      'seat (optional)',
      'extras (optional)',
      'seat (optional)',
      'extras (optional)',
    ])
    // Window, which stood first among the choices.
    expect(person.initials[4]).toBe('1')
  })

  test('lets one answer be changed at the review', async () => {
    const person = scripted(...filled, 'change', 'nights', '9', esc, 'quiet', 'change', esc, 'send')
    expect(await asked(booking, person)).toMatchObject({
      content: { confirm: true, nights: 9, note: 'quiet' },
    })
    expect(person.initials[8]).toBe('7')
    expect(person.left).toEqual([])
  })

  test('an optional choice can be left out', async () => {
    const params: ElicitFormParams = {
      message: 'x',
      requestedSchema: {
        type: 'object',
        properties: { meal: { type: 'string', enum: ['any', 'none'] }, ok: { type: 'boolean' } },
      },
    }
    const person = scripted('answer', '(leave out)', '(leave out)', 'send')
    expect(await asked(params, person)).toEqual({ action: 'accept', content: {} })
  })

  test('left empty with a default shows and sends the default, as clients do', async () => {
    const params: ElicitFormParams = {
      message: 'x',
      requestedSchema: { type: 'object', properties: { city: { type: 'string', default: 'Oslo' } } },
    }
    const person = scripted('answer', '', 'send')
    expect(await asked(params, person)).toEqual({ action: 'accept', content: { city: 'Oslo' } })
    expect(person.printed).toContain('  city: Oslo')
  })

  test('with deselected choices sends none of the defaults', async () => {
    const params: ElicitFormParams = {
      message: 'x',
      requestedSchema: {
        type: 'object',
        properties: { tags: { type: 'array', items: { type: 'string', enum: ['a', 'b'] }, default: ['a'] } },
      },
    }
    const person = scripted('answer', [], 'send')
    expect(await asked(params, person)).toEqual({ action: 'accept', content: { tags: [] } })
    expect(person.initials[1]).toEqual(['1'])
  })

  test('asks again for too few choices, with the selection kept', async () => {
    const params: ElicitFormParams = {
      message: 'x',
      requestedSchema: {
        type: 'object',
        properties: { tags: { type: 'array', items: { type: 'string', enum: ['a', 'b'] }, minItems: 2 } },
        required: ['tags'],
      },
    }
    const person = scripted('answer', ['b'], ['a', 'b'], 'send')
    expect(await asked(params, person)).toMatchObject({ content: { tags: ['a', 'b'] } })
    expect(person.printed).toContain('This needs at least 2 choices.')
    expect(person.initials[2]).toEqual(['2'])
  })

  const outcomes: [string, Scripted[], string][] = [
    ['declining at once', ['decline'], 'decline'],
    ['cancelling at once', ['cancel'], 'cancel'],
    ['declining at the review', [...filled, 'decline'], 'decline'],
    ['cancelling at the review', [...filled, 'cancel'], 'cancel'],
  ]
  test.each(outcomes)('%s gives that outcome and no content', async (_, answers, action) => {
    expect(await asked(booking, scripted(...answers))).toEqual({ action })
  })

  test.each<[string, Scripted[]]>([
    ['at once', [esc]],
    ['at the first field', ['answer', esc]],
  ])('Esc %s defers it', async (_, answers) => {
    expect(await asked(booking, scripted(...answers))).toBeUndefined()
  })

  test('declined with a note returns both; going back asks again', async () => {
    expect(await asked(booking, scripted('decline-why', ' too nosy '))).toEqual({
      action: 'decline',
      reason: 'too nosy',
    })
    expect(await asked(booking, scripted('decline-why', esc, 'cancel'))).toEqual({ action: 'cancel' })
  })

  test('without fields is a plain question', async () => {
    const params: ElicitFormParams = { message: 'Go?', requestedSchema: { type: 'object', properties: {} } }
    expect(await asked(params, scripted('answer'))).toEqual({ action: 'accept', content: {} })
    expect(await asked(params, scripted('decline'))).toEqual({ action: 'decline' })
  })

  test('with an invalid field cannot be accepted', async () => {
    const params = JSON.parse(
      '{"message":"x","requestedSchema":{"type":"object","properties":{"a":{"type":"object"}}}}',
    )
    const person = scripted('cancel')
    expect(await asked(params, person)).toEqual({ action: 'cancel' })
    expect(person.offered).toEqual([['decline', 'decline-why', 'cancel', 'later']])
  })

  test('with a field named like an inherited property works', async () => {
    const params: ElicitFormParams = {
      message: 'x',
      requestedSchema: JSON.parse(
        '{"type":"object","properties":{"__proto__":{"type":"string"},"constructor":{"type":"string"}}}',
      ),
    }
    const answer = await asked(params, scripted('answer', 'a', 'b', 'send'))
    expect(JSON.stringify(answer?.content)).toBe('{"__proto__":"a","constructor":"b"}')
  })

  test('with choices that imitate the buttons sends them unchanged', async () => {
    const params: ElicitFormParams = {
      message: 'x',
      requestedSchema: {
        type: 'object',
        properties: { way: { type: 'string', enum: ['none', '(leave out)', '1', 'cancel'] } },
      },
    }
    const values = []
    for (const n of ['1', '2', '3', '4']) {
      const content = (await asked(params, scripted('answer', n, 'send')))?.content
      values.push(content?.['way'])
    }
    expect(values).toEqual(['none', '(leave out)', '1', 'cancel'])
  })
})

describe('a form that asks for a secret', () => {
  const params: ElicitFormParams = {
    message: 'Log in',
    requestedSchema: {
      type: 'object',
      properties: { password: { type: 'string' }, name: { type: 'string' } },
    },
  }

  test('starts at a refusal, which records the reason in the own log', async () => {
    const person = scripted('decline')
    expect(await asked(params, person)).toEqual({
      action: 'decline',
      reason: expect.stringContaining('URL mode'),
    })
    expect(person.asked[0]).toContain('seems to ask for a password')
    expect(person.initials[0]).toBe('decline')
    expect(person.offered[0]?.[0]).toBe('decline')
  })

  test('continues only after an explicit choice, and is never remembered', async () => {
    const long = 'Continue anyway and send a password to travel and its logs as plain text (2 fields)'
    const person = scripted(long, 'x', 'Ada', 'remember', ['name', 'password'])
    expect(await asked(params, person)).toEqual({
      action: 'accept',
      content: { password: 'x', name: 'Ada' },
      remember: ['name'],
    })
  })
})

describe('remembered answers', () => {
  test('prefill the form, and stay unchanged unless the user decides otherwise', async () => {
    const person = scripted('answer', 'yes', 'aisle', ['Bag'], '7', 'quiet', 'send')
    const remembered = { note: 'quiet', extras: ['b'] }
    const answer = await asked(booking, person, { remembered })
    expect(person.initials.slice(3, 6)).toEqual([['1'], undefined, 'quiet'])
    expect(answer).not.toHaveProperty('remember')
  })

  test('are chosen one by one, with earlier ones selected', async () => {
    const person = scripted('answer', 'yes', 'aisle', [], '7', 'quiet', 'remember', ['nights'])
    expect(await asked(booking, person, { remembered: { note: 'quiet' } })).toMatchObject({
      action: 'accept',
      remember: ['nights'],
    })
    expect(person.initials.at(-1)).toEqual(['3'])
  })
})
