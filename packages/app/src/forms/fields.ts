import {
  checkElicitSchema,
  checkElicitValue,
  choicesOf,
  type ElicitField,
  type ElicitSchema,
  type ElicitValue,
} from '@jackfield/sdk'

/** One of the values a person may choose. */
export interface Choice {
  value: string
  label: string
}

/** One question of a form. Label, description and choices are as the server wrote them: make them safe before printing. */
export interface Field {
  key: string
  /** The title, or the key. */
  label: string
  description: string | undefined
  required: boolean
  /** Looks as if it asks for a password, a key or card data, which servers must not ask for in a form. */
  sensitive: boolean
  /** What may be chosen; undefined where the value is typed, or yes or no. */
  choices: Choice[] | undefined
  /** The server's default, where it fits the field. */
  default: ElicitValue | undefined
  schema: ElicitField
}

/** What a form asks field by field, or why it cannot be shown. */
export type FormPlan = { fields: Field[] } | { fault: string }

/** Reads the schema of a form as it came off the wire. */
export function planForm(schema: ElicitSchema): FormPlan {
  const fault = checkElicitSchema(schema)
  if (fault !== undefined) return { fault }
  return {
    fields: Object.entries(schema.properties).map(([key, property]) => {
      const label = text(property.title) ?? key
      return {
        key,
        label,
        description: text(property.description),
        required: schema.required?.includes(key) === true,
        sensitive: asksForSecret(key, label),
        choices: choicesOf(property)?.map(({ value, title }) => ({ value, label: text(title) ?? value })),
        default: checkElicitValue(property, property.default) === undefined ? property.default : undefined,
        schema: property,
      }
    }),
  }
}

/** What is wrong with a value for a field, as a sentence; undefined where nothing is. */
export function problemWith(field: Field, value: ElicitValue | undefined): string | undefined {
  if (value === undefined) return field.required ? 'This is required.' : undefined
  const fault = checkElicitValue(field.schema, value)
  return fault === undefined ? undefined : `This ${fault}.`
}

/** Reads what a person typed for a field; an empty line is no value. */
export function readTyped(
  field: Field,
  typed: string,
): { value: string | number | undefined } | { problem: string } {
  const trimmed = typed.trim()
  const number = field.schema.type === 'number' || field.schema.type === 'integer'
  const verbatim = field.schema.type === 'string' && !('format' in field.schema)
  const value = trimmed === '' ? undefined : number ? Number(trimmed) : verbatim ? typed : trimmed
  const problem = problemWith(field, value)
  return problem === undefined ? { value } : { problem }
}

const secret =
  /pass(word|phrase|wd|code)|secret|\b(api|access|private)[-_ ]?key|token|credential|\bpin\b|\bcvv\b|\bcvc\b|card[-_ ]?number|\biban\b|\bssn\b|social security/i

function asksForSecret(key: string, label: string): boolean {
  const words = key.replace(/([a-z])([A-Z])/g, '$1 $2')
  return secret.test(words) || secret.test(label)
}

function text(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined
}
