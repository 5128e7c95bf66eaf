import type { ElicitSchema, ElicitValue } from '@jackfield/sdk'
import { checkElicitContent, checkElicitValue, fillDefaults } from '@jackfield/sdk/internal'
import fc from 'fast-check'
import { expect, onTestFinished, test } from 'vitest'
import { finishForm, planForm, problemWithField, readTyped, shownValue } from '../../src/core/forms/form.ts'
import type { FormField, HostAnswers } from '../../src/types/index.ts'
import { returned, started } from '../fixtures/hosts.ts'
import { person } from '../fixtures/people.ts'
import { statelessServer } from '../fixtures/stateless-server.ts'
import { anyField, anyForm, arbitraryFor } from './arbitrary.ts'

const numRuns = process.env['JACKFIELD_LONG'] === '1' ? 20_000 : 400

function fieldsOf(schema: ElicitSchema): readonly FormField[] {
  const plan = planForm(schema)
  return 'fields' in plan ? plan.fields : []
}

const isValue = (preset: unknown): preset is ElicitValue => preset !== undefined && preset !== null

test('the form and the wire validation reject the same values', () => {
  fc.assert(
    fc.property(
      anyField.chain((field) => fc.tuple(fc.constant(field), arbitraryFor(field))),
      ([field, preset]) => {
        const [planned] = fieldsOf({ type: 'object', properties: { f: field }, required: ['f'] })
        if (planned === undefined || !isValue(preset)) return
        expect(problemWithField(planned, preset) === undefined).toBe(
          checkElicitValue(field, preset) === undefined,
        )
        const inTheForm = checkElicitContent({ type: 'object', properties: { f: field } }, { f: preset })
        expect(inTheForm === undefined).toBe(problemWithField(planned, preset) === undefined)
        expect(shownValue(planned, preset)).toBeTypeOf('string')
      },
    ),
    { numRuns },
  )
})

test('typed text is parsed to a value that the wire accepts, or rejected', () => {
  fc.assert(
    fc.property(anyField, fc.string({ unit: 'grapheme', maxLength: 12 }), (field, typed) => {
      const [planned] = fieldsOf({ type: 'object', properties: { f: field }, required: ['f'] })
      if (planned === undefined || planned.choices !== undefined || planned.kind === 'boolean') return
      const read = readTyped(planned, typed)
      if ('problem' in read) expect(read.problem).toMatch(/^This .+\.$/s)
      else if (read.value !== undefined) expect(checkElicitValue(field, read.value)).toBeUndefined()
      else expect(planned.default).toBeDefined()
    }),
    { numRuns },
  )
})

test('a form of valid fields is valid on the wire, without added values', () => {
  fc.assert(
    fc.property(
      anyForm.chain((schema) =>
        fc.tuple(
          fc.constant(schema),
          fc.tuple(
            ...Object.values(schema.properties).map((field) =>
              fc.option(arbitraryFor(field), { nil: undefined }),
            ),
          ),
        ),
      ),
      ([schema, presets]) => {
        const fields = fieldsOf(schema)
        const given = fields.flatMap((field, n): [string, ElicitValue][] => {
          const preset = presets[n]
          return isValue(preset) ? [[field.key, preset]] : []
        })
        const values = Object.fromEntries(given)
        const wrong = fields.some((field) => problemWithField(field, values[field.key]) !== undefined)
        const finished = finishForm(schema, values)
        expect('problem' in finished).toBe(wrong || fields.length < Object.keys(schema.properties).length)
        if ('problem' in finished) return
        expect(checkElicitContent(schema, finished.content)).toBeUndefined()
        expect(finished.content).toEqual(fillDefaults(schema, values))
      },
    ),
    { numRuns },
  )
})

test('every form reaches the user and every answer the server, unchanged', async () => {
  const server = await statelessServer()
  onTestFinished(() => server.stop())
  let next: HostAnswers['elicitation'] = { action: 'cancel' }
  const surface = person({ elicitation: () => next })
  const rules = [{ id: 'all', verdict: 'allow' as const }]
  const host = await started({ servers: { s: { url: server.url } }, rules, surface })
  const answerTo = anyForm.chain((schema) =>
    fc.record({
      schema: fc.constant(schema),
      action: fc.constantFrom('accept' as const, 'decline' as const, 'cancel' as const),
      presets: fc.tuple(...Object.values(schema.properties).map((field) => arbitraryFor(field))),
    }),
  )
  await fc.assert(
    fc.asyncProperty(answerTo, async ({ schema, action, presets }) => {
      const fields = fieldsOf(schema)
      const content = Object.fromEntries(
        fields.flatMap((field, n): [string, ElicitValue][] => {
          const preset = presets[n]
          return isValue(preset) && problemWithField(field, preset) === undefined ? [[field.key, preset]] : []
        }),
      )
      const finished = finishForm(schema, content)
      fc.pre(action !== 'accept' || 'content' in finished)
      next = action === 'accept' && 'content' in finished ? { action, content: finished.content } : { action }
      const params = { message: 'm', requestedSchema: schema }
      const call = await host.call('s__ask', { params }, { caller: 'cli' })
      expect(surface.asked.at(-1)).toMatchObject({ kind: 'elicitation', params })
      expect(returned(call)).toEqual({ answer: next })
    }),
    { numRuns: process.env['JACKFIELD_LONG'] === '1' ? 500 : 40 },
  )
})
