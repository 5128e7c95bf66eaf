import { finishForm, planForm } from '@jackfield/host'
import type { ElicitFormParams, ElicitSchema } from '@jackfield/sdk'
import { checkElicitContent, fillDefaults } from '@jackfield/sdk/internal'
import fc from 'fast-check'
import picocolors from 'picocolors'
import { describe, expect, test } from 'vitest'
import { anyForm, arbitraryFor } from '../../../host/test/forms/arbitrary.ts'
import { askForm } from '../../src/forms/ask-form.ts'
import { FormModel } from '../../src/forms/form-model.ts'
import { drawForm } from '../../src/forms/form-view.ts'
import { maxTyped } from '../../src/forms/line-edit.ts'
import { cancelled } from '../../src/forms/prompter.ts'
import type { ScreenKey } from '../../src/forms/screen.ts'
import { widthOf } from '../../src/output/width.ts'
import { type Scripted, scripted } from './prompter.ts'
import { questionOf } from './question.ts'

const palette = picocolors.createColors(false)
const named = ['return', 'tab', 'up', 'down', 'left', 'right', 'space', 'backspace', 'delete', 'home', 'end']

/** Keys by their names; everything else is typed, or pasted where it is more than one character. */
function keys(...pressed: string[]): ScreenKey[] {
  return pressed.map((one) => {
    if (one.startsWith('ctrl+')) return { name: one.slice(5), ctrl: true }
    if (one === 'shift+tab') return { name: 'tab', shift: true }
    if (one === 'space') return { name: one, typed: ' ' }
    return named.includes(one) || one === 'escape' ? { name: one } : { typed: one }
  })
}

function modelOf(requestedSchema: ElicitSchema): FormModel {
  const plan = planForm(requestedSchema)
  if ('fault' in plan) throw new Error(plan.fault)
  return new FormModel(plan.fields, new Map())
}

function shownBy(model: FormModel, columns = 80, rows = 40): string {
  return drawForm(model, columns, rows, palette).lines.join('\n')
}

/** Somebody closed the terminal. */
const closed = '(closed)'

/** A person at a terminal that can draw: these keys on the form, each list until an answer, and then these answers. */
async function asked(params: ElicitFormParams, screens: string[][], ...answers: Scripted[]) {
  const seen: string[] = []
  const left = [...screens]
  const person = {
    ...scripted(...answers),
    async screen<T>(view: {
      draw(columns: number, rows: number): { lines: readonly string[] }
      press(key: ScreenKey): { done: T } | undefined
    }) {
      const draw = (): number => seen.push(view.draw(80, 40).lines.join('\n'))
      draw()
      for (const one of left.shift() ?? []) {
        if (one === closed) return cancelled
        const answer = view.press(keys(one)[0] ?? {})
        draw()
        if (answer !== undefined) return answer.done
      }
      throw new Error('the form is still open')
    },
  }
  const answer = await askForm(questionOf(params), person, palette)
  return { answer, person, seen, left }
}

const trip: ElicitFormParams = {
  message: 'Your trip',
  requestedSchema: {
    type: 'object',
    properties: {
      name: { type: 'string', title: 'Name', minLength: 2, description: 'As in your passport' },
      seat: {
        type: 'string',
        oneOf: [
          { const: 'w', title: 'Window' },
          { const: 'a', title: 'Aisle' },
        ],
      },
      extras: { type: 'array', items: { type: 'string', enum: ['bag', 'meal'] } },
      insured: { type: 'boolean' },
      nights: { type: 'integer', minimum: 1, default: 7 },
    },
    required: ['name', 'insured'],
  },
}

describe('a form on one screen', () => {
  test('shows every field with its value, which are required, and the description of the focused one', () => {
    expect(shownBy(modelOf(trip.requestedSchema))).toBe(
      [
        '◆  5 fields; * required',
        '│  › Name *',
        '│      As in your passport',
        '│      At least 2 characters.',
        '│    seat       (left out)',
        '│    extras     (left out)',
        '│    insured *  (yes or no)',
        '│    nights     7',
        '│',
        '│   Review and send    Decline    Decline, note why    Cancel    Later',
        '└  ↑↓ tab move · type to change · enter next · esc later',
      ].join('\n'),
    )
  })

  test('that is filled in, reviewed and sent is an accept with exactly the values', async () => {
    const { answer, person } = await asked(
      trip,
      [
        [
          ...['Adx', 'backspace', 'a', 'return'],
          ...['return', 'up', 'return'],
          ...['return', 'down', 'space', 'up', 'space', 'return'],
          ...['y', 'down', 'ctrl+u', '3', 'return', 'return'],
        ],
      ],
      'send',
    )
    expect(answer).toEqual({
      action: 'accept',
      content: { name: 'Ada', seat: 'a', extras: ['bag', 'meal'], insured: true, nights: 3 },
    })
    expect(person.printed.slice(-5)).toEqual([
      '  Name: Ada',
      '  seat: Aisle (a)',
      '  extras: bag, meal',
      '  insured: yes',
      '  nights: 3',
    ])
  })

  test('shows an error below the field during editing, and not before', () => {
    const model = modelOf(trip.requestedSchema)
    const faults = keys('A', 'd', 'backspace', 'ctrl+u').map((key) => {
      model.press(key)
      return /✗ (.*)/.exec(shownBy(model))?.[1]
    })
    expect(faults).toEqual([
      'This needs at least 2 characters.',
      undefined,
      'This needs at least 2 characters.',
      'This is required.',
    ])
  })

  test('cannot be reviewed with errors: all are shown, and the first invalid field gets the focus', async () => {
    const { answer, seen, left } = await asked(trip, [['up', 'up', 'up', 'up', 'up', 'return', 'escape']])
    expect(left).toEqual([])
    expect(answer).toBeUndefined()
    expect(seen.at(-2)?.match(/✗ This is required\./g)).toHaveLength(2)
    expect(seen.at(-2)).toContain('› Name *')
  })

  const outcomes: [string, string[], Scripted[], unknown][] = [
    ['Esc in the middle', ['Ada', 'down', 'escape'], [], undefined],
    ['Ctrl+C in the middle', ['Ada', 'ctrl+c'], [], { action: 'cancel' }],
    ['Ctrl+D, as at the end of a terminal,', ['Ada', 'ctrl+d'], [], { action: 'cancel' }],
    ['a terminal that is closed', ['Ada', closed], [], undefined],
    ['Ctrl+L', ['Ada', 'ctrl+l'], [], undefined],
    ['l below the fields', ['up', 'l'], [], undefined],
    ['d below the fields', ['up', 'd'], [], { action: 'decline' }],
    ['w below the fields', ['up', 'w'], ['nosy'], { action: 'decline', reason: 'nosy' }],
    ['c below the fields', ['up', 'c'], [], { action: 'cancel' }],
    [
      'Esc at the review',
      ['Ada', 'down', 'down', 'down', 'n', 'up', 'up', 'up', 'up', 'r'],
      [cancelled],
      undefined,
    ],
    [
      'Later at the review',
      ['Ada', 'down', 'down', 'down', 'n', 'up', 'up', 'up', 'up', 'r'],
      ['later'],
      undefined,
    ],
  ]
  test.each(outcomes)('%s returns that outcome', async (_, pressed, answers, outcome) => {
    const { answer, person } = await asked(trip, [pressed], ...answers)
    expect(answer).toEqual(outcome)
    expect(person.left).toEqual([])
  })

  test('keeps everything when the user goes back from the review', async () => {
    const first = ['Ada', 'down', 'down', 'down', 'n', 'up', 'up', 'up', 'up', 'r']
    const again = ['end', ' L.', 'up', 'r']
    const { answer } = await asked(trip, [first, again], 'change', 'send')
    expect(answer).toMatchObject({ content: { name: 'Ada L.', insured: false, nights: 7 } })
  })

  test('opens a list of choices that is filtered by typing, and unchanged by Esc', () => {
    const options = Array.from({ length: 200 }, (_, n) => `way ${n + 1}`)
    const model = modelOf({ type: 'object', properties: { way: { type: 'string', enum: options } } })
    for (const key of keys('return', 'down', 'escape')) expect(model.press(key)).toBeUndefined()
    expect(model.values()).toEqual(new Map())
    for (const key of keys('1', '9', '9')) model.press(key)
    expect(shownBy(model)).toContain('find: 199  (1 of 201)')
    for (const key of keys('return')) model.press(key)
    expect(model.values()).toEqual(new Map([['way', 'way 199']]))
  })

  test('never selects yes with a single key, and can omit optional fields', () => {
    const model = modelOf({ type: 'object', properties: { ok: { type: 'boolean' } } })
    const values = keys('space', 'space', 'space', 'left', 'backspace').map((key) => {
      model.press(key)
      return model.value(0)
    })
    expect(values).toEqual([false, true, undefined, false, undefined])
  })

  test('inserts pasted text unchanged with line feeds, up to a limit that is reported', () => {
    const model = modelOf({ type: 'object', properties: { note: { type: 'string' } } })
    for (const key of keys('one\ntwo\u202e')) model.press(key)
    expect(model.value(0)).toBe('one\ntwo\u202e')
    expect(shownBy(model)).toContain('one⏎two⟦U+202E⟧')
    for (const key of keys('x'.repeat(maxTyped))) model.press(key)
    expect(model.value(0)).toHaveLength(maxTyped)
    expect(shownBy(model)).toContain('Only 100,000 characters fit')
  })
})

const hostile = fc.constantFrom(
  '\u001b[2J',
  '\u202e',
  '\u200b',
  '\r\n',
  '\u0007',
  '👩‍👩‍👧',
  '漢字',
  'word ',
  'x'.repeat(300),
)
const anyKey: fc.Arbitrary<ScreenKey> = fc.oneof(
  fc.constantFrom(...named, 'escape', 'shift+tab', 'ctrl+u').map((name) => keys(name)[0] ?? {}),
  fc.oneof(hostile, fc.constantFrom('a', '1', '@')).map((typed) => ({ typed })),
)

describe('any form', () => {
  test('fits the screen, shows the focused field, and prints no cursor movement', () => {
    fc.assert(
      fc.property(
        anyForm,
        fc.array(hostile, { maxLength: 6 }),
        fc.array(anyKey, { maxLength: 30 }),
        fc.integer({ min: 40, max: 120 }),
        fc.integer({ min: 12, max: 40 }),
        (form, words, pressed, columns, rows) => {
          const text = words.join('')
          const properties = Object.fromEntries(
            Object.entries(form.properties).map(([key, field]) => [
              `${key}${text}`,
              { ...field, title: `${field.title ?? key}${text}`, description: text },
            ]),
          )
          const ways = { type: 'string' as const, enum: ['way', ...new Set(words)] }
          const plan = planForm({ type: 'object', properties: { ...properties, ways } })
          if ('fault' in plan) return
          const model = new FormModel(plan.fields, new Map())
          for (const key of [{}, ...pressed]) {
            model.press(key)
            const { lines, cursor } = drawForm(model, columns, rows, palette)
            expect(lines.length).toBeLessThan(rows)
            for (const line of lines) {
              expect(widthOf(line)).toBeLessThanOrEqual(columns)
              expect(line).not.toMatch(/[\p{Cc}\u202e\u200b]/u)
            }
            if (model.action === undefined) expect(lines.some((line) => line.startsWith('│  ›'))).toBe(true)
            if (cursor !== undefined) expect(cursor.column).toBeLessThan(columns)
            if (cursor !== undefined) expect(cursor.row).toBeLessThan(lines.length)
          }
        },
      ),
      { numRuns: 150 },
    )
  })

  test('reports the same errors as the wire: it can be reviewed exactly if it can be sent', () => {
    const filled = anyForm.chain((form) =>
      fc
        .tuple(...Object.values(form.properties).map((field) => arbitraryFor(field)))
        .map((values) => ({ form, values })),
    )
    fc.assert(
      fc.property(filled, ({ form, values }) => {
        const plan = planForm(form)
        if ('fault' in plan) return
        const model = new FormModel(plan.fields, new Map())
        for (const value of values) {
          if (model.line(model.focus) !== undefined && value !== undefined) {
            for (const key of [...keys('ctrl+u'), { typed: String(value) }]) model.press(key)
          } else if (value === true || value === false) model.press({ typed: value ? 'y' : 'n' })
          model.press({ name: 'down' })
        }
        const given = Object.fromEntries(model.values())
        const fault = checkElicitContent(form, fillDefaults(form, given))
        if (!model.showErrors())
          expect(finishForm(form, given)).toEqual({ content: fillDefaults(form, given) })
        else if (plan.fields.every((_, n) => model.line(n) === undefined)) expect(fault).toBeDefined()
        if (fault !== undefined) expect(plan.fields.some((_, n) => model.error(n) !== undefined)).toBe(true)
      }),
      { numRuns: 300 },
    )
  })
})
