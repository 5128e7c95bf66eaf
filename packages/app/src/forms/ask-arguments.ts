import { type FormField, finishForm, planForm } from '@jackfield/host'
import type { ElicitSchema, ElicitValue, JsonObject, JsonSchema, Tool } from '@jackfield/sdk'
import { checkElicitSchema } from '@jackfield/sdk/internal'
import { dereference, isObject, parseArguments } from '../cli/arguments.ts'
import type { Palette } from '../output/palette.ts'
import { oneLine } from '../output/sanitize.ts'
import { askFieldsFrom } from './ask-form.ts'
import { type FormButton, FormModel } from './form-model.ts'
import { formScreen } from './form-view.ts'
import { cancelled, type Prompter } from './prompter.ts'

const actions: readonly FormButton[] = [
  { value: 'review', label: 'Call', key: 'c', short: 'call' },
  { value: 'cancel', label: 'Cancel', key: 'x', short: 'cancel' },
]

/**
 * Asks for a tool's arguments in a form prefilled with the given ones: on one screen, or field by field on simple terminals.
 * Undefined if the user cancels.
 */
export async function askArguments(
  tool: Tool,
  given: JsonObject,
  prompter: Prompter,
  palette: Palette,
): Promise<JsonObject | undefined> {
  const { form, texts } = formFor(tool.inputSchema)
  const plan = planForm(form)
  if ('fault' in plan) {
    prompter.say([`The form cannot be filled in: ${oneLine(plan.fault)}.`])
    return undefined
  }
  prompter.say([`${palette.bold(oneLine(tool.name))} needs arguments`])
  const shown = Object.keys(form.properties).flatMap((key): [string, ElicitValue][] =>
    Object.hasOwn(given, key) ? [[key, asFieldValue(given[key], texts.has(key))]] : [],
  )
  const fill = createFormFiller(plan.fields, new Map(shown), prompter, palette)
  let problem: string | undefined
  for (;;) {
    const values = await fill(problem)
    if (values === undefined) return undefined
    const finished = finishForm(form, Object.fromEntries(values))
    if ('problem' in finished) {
      problem = oneLine(finished.problem)
      continue
    }
    try {
      const entries = Object.entries(finished.content).map(([key, value]) => [
        key,
        texts.has(key) ? parseTextField(key, String(value), tool.inputSchema) : value,
      ])
      return { ...given, ...Object.fromEntries(entries) }
    } catch (error) {
      problem = oneLine(error instanceof Error ? error.message : String(error))
    }
  }
}

type FormFiller = (problem: string | undefined) => Promise<ReadonlyMap<string, ElicitValue> | undefined>

/** Lets the user fill in the fields, again with their values after an error. */
function createFormFiller(
  fields: readonly FormField[],
  values: Map<string, ElicitValue>,
  prompter: Prompter,
  palette: Palette,
): FormFiller {
  const { screen } = prompter
  if (screen === undefined) {
    return async (problem) => {
      if (problem !== undefined) prompter.say([`The tool cannot be called with this. ${problem}`])
      return (await askFieldsFrom(0, fields, values, prompter)) === cancelled ? undefined : values
    }
  }
  const model = new FormModel(fields, values, actions)
  return async (problem) => {
    if (problem !== undefined) model.setNote(problem)
    const action = await screen(formScreen(model, palette))
    return action === 'review' ? model.values() : undefined
  }
}

/**
 * The input schema as a form. Properties that a form cannot express, such as objects and lists, become text fields that are
 * parsed with the schema as on a command line; `texts` names them.
 */
function formFor(schema: JsonSchema): { form: ElicitSchema; texts: ReadonlySet<string> } {
  const properties: ElicitSchema['properties'] = {}
  const texts = new Set<string>()
  for (const [key, property] of Object.entries(Object(schema.properties))) {
    const own = dereference(isObject(property) ? property : {}, schema)
    const field = Array.isArray(own.enum) && own.type === undefined ? { ...own, type: 'string' } : own
    const single: unknown = { type: 'object', properties: { [key]: field } }
    if (isForm(single)) Object.assign(properties, single.properties)
    else {
      const title = typeof own.title === 'string' ? { title: own.title } : {}
      const hint = own.type === 'object' || own.type === 'array' ? 'As JSON.' : ''
      const words = [typeof own.description === 'string' ? own.description : '', hint].filter(Boolean)
      properties[key] = { type: 'string', ...title, description: words.join(' ') }
      texts.add(key)
    }
  }
  const listed: unknown[] = Array.isArray(schema.required) ? schema.required : []
  const required = listed.filter((key) => typeof key === 'string' && Object.hasOwn(properties, key))
  return { form: { type: 'object', properties, required: required.map(String) }, texts }
}

function isForm(schema: unknown): schema is ElicitSchema {
  return checkElicitSchema(schema) === undefined
}

function asFieldValue(value: unknown, isText: boolean): ElicitValue {
  if (typeof value === 'string') return value
  if (!isText && (typeof value === 'number' || typeof value === 'boolean')) return value
  if (!isText && Array.isArray(value)) return value.map(String)
  return JSON.stringify(value) ?? ''
}

/** Parses a text field with the schema. Unlike on a command line, `@` does not name a file. */
function parseTextField(key: string, text: string, schema: JsonSchema): unknown {
  return parseArguments([`${key}=${text.replace(/^@/, '@@')}`], schema)[key]
}
