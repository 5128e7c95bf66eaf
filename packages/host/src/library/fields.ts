import { McpError } from '@jackfield/sdk'
import { parseTemplate } from '@jackfield/sdk/internal'
import type { TemplateField } from '../types/index.ts'

/** The variables of a template in their order. */
export function fieldsOf(uriTemplate: string): TemplateField[] {
  const { names } = parseTemplate(uriTemplate)
  const optional = new Set(
    [...uriTemplate.matchAll(/\{[#;?&]([^}]*)\}/g)].flatMap(([, list = '']) =>
      list.split(',').map((spec) => spec.replace(/(?:\*|:\d+)$/, '')),
    ),
  )
  return names.map((name) => ({ name, required: !optional.has(name) }))
}

/** The URI for these variables; a list is written with a slash between its items. */
export function expand(uriTemplate: string, values: Readonly<Record<string, string>>): string {
  const fields = fieldsOf(uriTemplate)
  refuseUnfit(
    `The template ${uriTemplate}`,
    fields,
    // An empty value leaves no more behind than none.
    Object.keys(values).filter((name) => values[name] !== ''),
  )
  const exploded = new Set([...uriTemplate.matchAll(/[{,+#./;?&]([\w%.]+)\*/g)].map(([, name]) => name))
  return parseTemplate(uriTemplate).expand(
    Object.fromEntries(
      Object.entries(values).map(([name, value]) => [name, exploded.has(name) ? value.split('/') : value]),
    ),
  )
}

/** Throws an McpError 'INVALID' that names what is missing and what nobody asked for. */
export function refuseUnfit(what: string, fields: readonly TemplateField[], given: readonly string[]): void {
  const missing = fields.filter(({ name, required }) => required && !given.includes(name))
  const unknown = given.filter((name) => !fields.some((field) => field.name === name))
  if (missing.length === 0 && unknown.length === 0) return
  const names = fields.map(({ name }) => name).join(', ')
  const reasons = [
    ...(missing.length > 0 ? [`needs ${missing.map(({ name }) => name).join(', ')}`] : []),
    ...(unknown.length > 0
      ? [`does not have ${unknown.join(', ')}; ${names === '' ? 'it takes nothing' : `it takes ${names}`}`]
      : []),
  ]
  throw new McpError('INVALID', `${what} ${reasons.join(', and ')}`)
}
