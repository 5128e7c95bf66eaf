import type { ElicitFormParams } from '@jackfield/sdk'
import picocolors from 'picocolors'
import { describe, expect, test } from 'vitest'
import { askForm } from '../../src/forms/ask-form.ts'
import { askVisit } from '../../src/forms/ask-visit.ts'
import { cancelled } from '../../src/forms/prompter.ts'
import { type Scripted, scripted } from './prompter.ts'

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
      nights: { type: 'integer', minimum: 1 },
      note: { type: 'string' },
    },
    required: ['confirm', 'nights'],
  },
}

describe('a form', () => {
  test('filled in, reviewed and sent is an accept with exactly the values', async () => {
    const person = scripted('answer', 'yes', 'window', ['m', 'b'], '7', '', 'send')
    expect(await askForm(booking, 'travel', person)).toEqual({
      action: 'accept',
      content: { confirm: true, seat: 'window', extras: ['m', 'b'], nights: 7 },
    })
    expect(person.said).toEqual([
      'travel asks:',
      'Confirm your booking',
      'This is what will be sent:',
      '  Confirm: yes',
      '  seat: window',
      '  extras: Meal, Bag',
      '  nights: 7',
      '  note: (left out)',
    ])
  })

  test('starts from the defaults, and marks what is optional', async () => {
    const person = scripted('answer', 'yes', 'aisle', [], '1', '', 'send')
    await askForm(booking, 'travel', person)
    expect(person.initials[2]).toBe('aisle')
    expect(person.asked.slice(1, 4)).toEqual(['Confirm', 'seat (optional)', 'extras (optional)'])
  })

  test('can be changed at the review, keeping what was typed', async () => {
    const person = scripted(
      'answer',
      'yes',
      'aisle',
      ['b'],
      '7',
      'quiet',
      'edit',
      'no',
      'aisle',
      ['b'],
      '8',
      'quiet',
      'send',
    )
    expect(await askForm(booking, 'travel', person)).toMatchObject({
      content: { confirm: false, nights: 8, note: 'quiet' },
    })
    expect(person.initials.slice(7, 12)).toEqual(['yes', 'aisle', ['b'], '7', 'quiet'])
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
    expect(await askForm(params, 's', person)).toEqual({ action: 'accept', content: {} })
  })

  test('left empty where there is a default shows and sends the default, as clients do', async () => {
    const params: ElicitFormParams = {
      message: 'x',
      requestedSchema: { type: 'object', properties: { city: { type: 'string', default: 'Oslo' } } },
    }
    const person = scripted('answer', '', 'send')
    expect(await askForm(params, 's', person)).toEqual({ action: 'accept', content: { city: 'Oslo' } })
    expect(person.said).toContain('  city: Oslo')
  })

  const outcomes: [string, Scripted[], string][] = [
    ['declining at once', ['decline'], 'decline'],
    ['cancelling at once', ['cancel'], 'cancel'],
    ['Esc at once', [cancelled], 'cancel'],
    ['Esc in the middle', ['answer', 'yes', cancelled], 'cancel'],
    ['declining at the review', ['answer', 'yes', 'aisle', [], '7', '', 'decline'], 'decline'],
    ['cancelling at the review', ['answer', 'yes', 'aisle', [], '7', '', 'cancel'], 'cancel'],
    ['Esc at the review', ['answer', 'yes', 'aisle', [], '7', '', cancelled], 'cancel'],
  ]
  test.each(outcomes)('%s gives that outcome and no content', async (_, answers, action) => {
    expect(await askForm(booking, 'travel', scripted(...answers))).toEqual({ action })
  })

  test('without fields is a plain question', async () => {
    const params: ElicitFormParams = { message: 'Go?', requestedSchema: { type: 'object', properties: {} } }
    expect(await askForm(params, 's', scripted('answer'))).toEqual({ action: 'accept', content: {} })
    expect(await askForm(params, 's', scripted('decline'))).toEqual({ action: 'decline' })
  })

  test('that asks for a secret warns and starts at decline', async () => {
    const params: ElicitFormParams = {
      message: 'Log in',
      requestedSchema: { type: 'object', properties: { password: { type: 'string' } } },
    }
    const person = scripted('decline')
    await askForm(params, 's', person)
    expect(person.said.join(' ')).toContain('password looks like a secret')
    expect(person.initials[0]).toBe('decline')
  })

  test('with a field no form can have cannot be accepted', async () => {
    const params = JSON.parse(
      '{"message":"x","requestedSchema":{"type":"object","properties":{"a":{"type":"object"}}}}',
    )
    const person = scripted('cancel')
    expect(await askForm(params, 's', person)).toEqual({ action: 'cancel' })
    expect(person.offered).toEqual([['decline', 'cancel']])
  })

  test('a field named like an inherited property stays its own', async () => {
    const params: ElicitFormParams = {
      message: 'x',
      requestedSchema: JSON.parse(
        '{"type":"object","properties":{"__proto__":{"type":"string"},"constructor":{"type":"string"}}}',
      ),
    }
    const answer = await askForm(params, 's', scripted('answer', 'a', 'b', 'send'))
    expect(JSON.stringify(answer.content)).toBe('{"__proto__":"a","constructor":"b"}')
  })
})

describe('a visit', () => {
  const palette = picocolors.createColors(false)
  const visit = (url: string) => ({ mode: 'url' as const, message: 'Sign in', url })

  test('shows the whole URL and starts at decline', async () => {
    const person = scripted('accept')
    const url = `https://pay.example/${'x'.repeat(300)}?a=1`
    expect(await askVisit(visit(url), 'shop', person, palette)).toEqual({ action: 'accept' })
    expect(person.said).toContain(url)
    expect(person.initials).toEqual(['decline'])
  })

  test('declining and leaving are told apart', async () => {
    expect(await askVisit(visit('https://a.example'), 's', scripted('decline'), palette)).toEqual({
      action: 'decline',
    })
    expect(await askVisit(visit('https://a.example'), 's', scripted(cancelled), palette)).toEqual({
      action: 'cancel',
    })
  })

  test('to anything but a web page cannot be agreed to', async () => {
    const person = scripted('decline')
    await askVisit(visit('javascript:alert(1)'), 's', person, palette)
    expect(person.offered).toEqual([['decline', 'cancel']])
    expect(person.said.join('\n')).toContain('only http and https are')
  })
})
