import type { Expression, Spec } from './uri-template.ts'

/** A variable's value: text, a list, or names with values. */
export type TemplateValue = string | readonly string[] | Readonly<Record<string, string>>

/** Expands one expression as RFC 6570 section 3.2 says. */
export function expandPart(
  { operator, specs }: Expression,
  variables: Readonly<Record<string, TemplateValue | undefined>>,
): string {
  const encode = operator.reserved ? encodeReserved : encodeUnreserved
  const labelled = (name: string, text: string): string => {
    if (!operator.named) return text
    return text === '' ? name + operator.empty : `${name}=${text}`
  }
  const values = (spec: Spec): string[] => {
    const value = Object.hasOwn(variables, spec.name) ? variables[spec.name] : undefined
    if (value === undefined) return []
    if (typeof value === 'string') {
      const text = spec.prefix === undefined ? value : [...value].slice(0, spec.prefix).join('')
      return [labelled(spec.name, encode(text))]
    }
    const pairs: (readonly [string, string])[] = isList(value)
      ? value.map((item) => [spec.name, encode(item)])
      : Object.entries(value).map(([key, item]) => [encode(key), encode(item)])
    if (pairs.length === 0) return []
    if (!spec.explode) {
      return [
        labelled(spec.name, pairs.map(([key, item]) => (isList(value) ? item : `${key},${item}`)).join(',')),
      ]
    }
    if (isList(value)) return pairs.map(([name, item]) => labelled(name, item))
    return pairs.map(([key, item]) =>
      item === '' && operator.named ? key + operator.empty : `${key}=${item}`,
    )
  }
  const all = specs.flatMap(values)
  return all.length === 0 ? '' : operator.first + all.join(operator.separator)
}

function isList(value: TemplateValue): value is readonly string[] {
  return Array.isArray(value)
}

function encodeUnreserved(text: string): string {
  return encodeURIComponent(text).replaceAll(
    /[!'()*]/g,
    (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`,
  )
}

function encodeReserved(text: string): string {
  return encodeURI(text)
    .replaceAll(/%25([0-9A-Fa-f]{2})/g, '%$1')
    .replaceAll('%5B', '[')
    .replaceAll('%5D', ']')
}
