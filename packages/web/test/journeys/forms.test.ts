import { type FormValues, finishForm, planForm } from '@jackfield/host/browser'
import type { ElicitSchema } from '@jackfield/sdk'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { seed } from '../../../../test/setup/seed.ts'
import { asking, type Served, serveHost } from '../fixtures/harness.ts'
import { missing, openTab, type Tab } from './journey.ts'

const forms = process.env['JACKFIELD_LONG'] === '1' ? 200 : 12

type Property = ElicitSchema['properties'][string]

/** A field, and a value that it takes. */
interface Generated {
  readonly property: Property
  readonly value: FormValues[string]
  /** A value that breaks a limit of the field, as typed or chosen, and the text that the page shows for it. */
  readonly wrong?: { readonly typed: string | readonly string[]; readonly message: RegExp }
}

const words = fc.constantFrom('Oslo', 'São Paulo', '<b>bold</b>', 'a & b', '東京', '"quoted"', '$HOME')
const options = fc.uniqueArray(fc.stringMatching(/^[a-z]{3,8}$/), { minLength: 2, maxLength: 10 })

const text: fc.Arbitrary<Generated> = fc
  .record({ value: words, more: fc.integer({ min: 0, max: 5 }) })
  .map(({ value, more }) => ({
    property: { type: 'string', minLength: 2, maxLength: [...value].length + more },
    value,
    wrong: { typed: 'x', message: /at least 2 characters|2 to \d+ characters/i },
  }))

const formatted: fc.Arbitrary<Generated> = fc.constantFrom<Generated>(
  {
    property: { type: 'string', format: 'email' },
    value: 'ada@example.org',
    wrong: { typed: 'ada', message: /e-mail address/ },
  },
  {
    property: { type: 'string', format: 'uri' },
    value: 'https://example.org/a?b=c#d',
    wrong: { typed: 'example', message: /an absolute URI/ },
  },
  { property: { type: 'string', format: 'date' }, value: '2026-07-28' },
  {
    property: { type: 'string', format: 'date-time' },
    value: '2026-07-28T09:30:00Z',
    wrong: { typed: 'soon', message: /date and time/ },
  },
)

const number: fc.Arbitrary<Generated> = fc
  .record({
    least: fc.integer({ min: -50, max: 50 }),
    span: fc.nat(100),
    isWhole: fc.boolean(),
    at: fc.double({ min: 0, max: 1, noNaN: true }),
  })
  .map(({ least, span, isWhole, at }) => ({
    property: { type: isWhole ? 'integer' : 'number', minimum: least, maximum: least + span },
    value: isWhole ? least + Math.floor(at * span) : least + Math.round(at * span * 4) / 4,
    wrong: { typed: String(least - 1), message: new RegExp(`at least ${least}`) },
  }))

const yesNo: fc.Arbitrary<Generated> = fc.boolean().map((value) => ({ property: { type: 'boolean' }, value }))

const choice: fc.Arbitrary<Generated> = fc
  .record({ options, at: fc.nat(100), kind: fc.constantFrom('plain', 'named', 'titled') })
  .map(({ options, at, kind }) => {
    const value = options[at % options.length] ?? ''
    if (kind === 'titled')
      return {
        property: { type: 'string', oneOf: options.map((one) => ({ const: one, title: `The ${one}` })) },
        value,
      }
    const names = kind === 'named' ? { enumNames: options.map((one) => `Name ${one}`) } : {}
    return { property: { type: 'string', enum: options, ...names }, value }
  })

const choices: fc.Arbitrary<Generated> = fc
  .record({ options, count: fc.integer({ min: 1, max: 3 }), isTitled: fc.boolean(), isLeast: fc.boolean() })
  .map(({ options, count, isTitled, isLeast }) => {
    const value = options.slice(0, count)
    const limits = isLeast ? { minItems: value.length } : { maxItems: value.length }
    const broken = isLeast ? value.slice(1) : options.slice(0, value.length + 1)
    return {
      property: {
        type: 'array',
        ...limits,
        items: isTitled
          ? { anyOf: options.map((one) => ({ const: one, title: `The ${one}` })) }
          : { type: 'string', enum: options },
      },
      value,
      // Where nothing is chosen there is no value, which is another fault.
      ...(broken.length > 0 &&
        broken.length !== value.length && {
          wrong: { typed: broken, message: isLeast ? /at least \d choices?/i : /at most \d choices?/i },
        }),
    }
  })

interface Form {
  readonly schema: ElicitSchema
  readonly fields: readonly (Generated & {
    key: string
    title: string
    isRequired: boolean
    isFilled: boolean
  })[]
}

const form: fc.Arbitrary<Form> = fc
  .array(fc.tuple(fc.oneof(text, formatted, number, yesNo, choice, choices), fc.boolean(), fc.boolean()), {
    minLength: 1,
    maxLength: 5,
  })
  .map((generated) => {
    const fields = generated.map(([one, isRequired, isFilled], n) => ({
      ...one,
      key: `f${n}`,
      title: `Field ${n}`,
      isRequired,
      isFilled: isRequired || isFilled,
    }))
    return {
      fields,
      schema: {
        type: 'object',
        properties: Object.fromEntries(
          fields.map(({ key, title, property }) => [key, { ...property, title }]),
        ),
        required: fields.filter(({ isRequired }) => isRequired).map(({ key }) => key),
      },
    }
  })

/** Fills in one field as a person does. */
async function fill(
  tab: Tab,
  id: string,
  { schema }: Pick<Form, 'schema'>,
  { key, value }: Form['fields'][number],
): Promise<void> {
  const plan = planForm(schema)
  const field = 'fields' in plan ? plan.fields.find((one) => one.key === key) : undefined
  const at = tab.page.locator(`[id="field-${id}-${key}"]`)
  if (field?.kind === 'boolean') await at.getByLabel(value === true ? 'Yes' : 'No', { exact: true }).check()
  else if (field?.kind === 'choices') await choose(tab, id, { schema }, key, [value].flat().map(String))
  else if (field?.kind !== 'choice') await at.fill(String(value))
  else if ((field.choices ?? []).length > 7) await at.selectOption(String(value))
  else await at.getByLabel(labelOf(field, value), { exact: true }).check()
}

/** Chooses these of several choices, and no others; does nothing with another kind of field. */
async function choose(
  tab: Tab,
  id: string,
  { schema }: Pick<Form, 'schema'>,
  key: string,
  chosen: readonly string[],
): Promise<void> {
  const plan = planForm(schema)
  const field = 'fields' in plan ? plan.fields.find((one) => one.key === key) : undefined
  if (field?.kind !== 'choices') return
  for (const { value, label } of field.choices ?? [])
    await tab.page
      .locator(`[id="field-${id}-${key}"]`)
      .getByLabel(label, { exact: true })
      .setChecked(chosen.includes(value))
}

function labelOf(
  { choices = [] }: { choices?: readonly { value: string; label: string }[] },
  value: unknown,
): string {
  return choices.find((one) => one.value === value)?.label ?? ''
}

async function asked(served: Served, { schema }: Form): Promise<{ id: string; run: string }> {
  const run = served.service.startRun(
    {
      kind: 'call',
      tool: 'demo__ask',
      arguments: { params: { message: 'Fill in', requestedSchema: schema } },
    },
    { by: 'test', asks: true },
  )
  const { promise, resolve } = Promise.withResolvers<string>()
  const look = (): void => {
    const [item] = served.service.host.inbox.list()
    if (item !== undefined) resolve(item.id)
  }
  const off = served.service.host.on(look)
  look()
  return { run, id: await promise.finally(off) }
}

/** What the server was answered. */
async function answer(served: Served, run: string): Promise<unknown> {
  const { result } = await served.service.runs.wait(run, new AbortController().signal)
  const found = /\{\\"answer\\":(.*)\}"/.exec(JSON.stringify(result))?.[1]
  return found === undefined ? undefined : JSON.parse(JSON.parse(`"${found}"`))
}

describe.skipIf(missing !== undefined)(
  `forms in the browser${missing === undefined ? '' : ` (${missing})`}`,
  { timeout: forms > 100 ? 1_200_000 : 300_000 },
  () => {
    test(`${forms} generated forms of every kind of field: the server gets the entered values, and limits are named`, async () => {
      const served = await serveHost({ servers: { demo: asking }, rules: [{ id: 'all', verdict: 'allow' }] })
      const tab = await openTab(served, '/inbox')
      for (const [n, one] of fc.sample(form, { numRuns: forms, seed }).entries()) {
        const { id, run } = await asked(served, one)
        const card = tab.page.locator(`[data-card="${id}"]`)
        await card.waitFor()
        if (n % 10 > 7) {
          const action = n % 10 === 8 ? 'decline' : 'cancel'
          await card.locator(`[data-act=${action}][data-armed=true]`).click()
          expect(await answer(served, run)).toEqual({ action })
          continue
        }
        // Every field that can break a limit does, and every other one that is required is left empty.
        const broken = one.fields.filter(({ wrong, isRequired }) => wrong !== undefined || isRequired)
        for (const { key, wrong } of broken) {
          const field = tab.page.locator(`[id="field-${id}-${key}"]`)
          if (typeof wrong?.typed === 'string') await field.fill(wrong.typed)
          else await choose(tab, id, one, key, wrong?.typed ?? [])
        }
        if (broken.length > 0) await card.locator('[data-act=review]').click()
        for (const { key, wrong, isRequired } of broken) {
          const problem = card.locator(
            `:has(> [id="field-${id}-${key}"]) > [class*=problem], [id="field-${id}-${key}"] > [class*=problem]`,
          )
          await expect
            .poll(() => problem.innerText(), { message: JSON.stringify(one.schema.properties[key]) })
            .toMatch(wrong?.message ?? /This is required/)
          const field = tab.page.locator(`[id="field-${id}-${key}"]`)
          if (typeof wrong?.typed === 'string') await field.fill('')
          else if (isRequired) await choose(tab, id, one, key, [])
          else await field.getByRole('button', { name: 'Clear' }).click()
        }
        expect([
          await card.locator('[data-act=accept]').count(),
          served.service.host.inbox.get(id)?.state,
        ]).toEqual([0, 'open'])
        const values: Record<string, FormValues[string]> = {}
        for (const field of one.fields) {
          if (!field.isFilled) continue
          values[field.key] = field.value
          await fill(tab, id, one, field)
        }
        await card.locator('[data-act=review]').click()
        await card.locator('[data-act=accept][data-armed=true]').click()
        const finished = finishForm(one.schema, values)
        expect('content' in finished).toBe(true)
        expect([one.schema, await answer(served, run)]).toEqual([
          one.schema,
          { action: 'accept', content: 'content' in finished ? finished.content : undefined },
        ])
      }
      await tab.check()
    })
  },
)
