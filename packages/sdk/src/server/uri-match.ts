import type { Expression, Part, Spec } from './uri-template.ts'

/** A step of a match: exact text, or a run of characters that may stand in a value. */
type Token =
  | { readonly text: string }
  | {
      readonly allows: (char: string) => boolean
      /** The most characters, counting an escaped one as one. */
      readonly most: number
      readonly read: (raw: string) => readonly (readonly [string, string | string[]])[] | undefined
      /** Text the run begins with when it is not empty; undefined where it may not be empty. */
      readonly opens: string | undefined
    }

type Run = Extract<Token, { most: number }>
type Variables = Record<string, string | string[]>

const unbounded = Number.MAX_SAFE_INTEGER

/**
 * Reads a URI against a template: backwards to find from where each step can reach the end, then forwards taking the
 * most each run may. Nothing is tried twice, so time is linear in the URI.
 */
export function matchParts(parts: readonly Part[], uri: string): Variables | undefined {
  const text = ascii(uri)
  if (text === undefined) return undefined
  const [first] = parts
  const last = parts[parts.length - 1]
  if (first !== undefined && 'literal' in first && !text.startsWith(first.literal)) return undefined
  if (last !== undefined && 'literal' in last && !text.endsWith(last.literal)) return undefined
  const tokens = parts.flatMap(tokensOf)
  const widths = widthsOf(text)
  const reach = reachOf(tokens, text, widths)
  if (reach[0]?.[0] !== 1) return undefined
  return collect(tokens, text, widths, reach)
}

/** The URI with everything beyond ASCII escaped; undefined for text that is not well-formed. */
function ascii(uri: string): string | undefined {
  try {
    return uri.replaceAll(/\P{ASCII}+/gu, encodeURIComponent)
  } catch {
    return undefined
  }
}

function tokensOf(part: Part): Token[] {
  if ('literal' in part) return [{ text: part.literal }]
  const { operator, specs } = part
  if (operator.named) return [namedRun(part)]
  const tokens: Token[] = []
  const [only] = specs
  const alone = specs.length === 1 && only !== undefined && !only.explode
  for (const [index, spec] of specs.entries()) {
    if (spec.explode && index === specs.length - 1) {
      tokens.push(listRun(part, spec, index === 0 ? operator.first : operator.separator))
      continue
    }
    if (operator.optional && alone) return [optionalRun(part, spec)]
    const opening = index === 0 ? operator.first : operator.separator
    if (opening !== '') tokens.push({ text: opening })
    tokens.push(valueRun(part, spec, alone ? '' : operator.separator))
  }
  return tokens
}

function valueRun({ operator }: Expression, spec: Spec, separator: string): Run {
  return {
    allows: operator.reserved
      ? (char) => char !== separator
      : (char) => char !== separator && isOfSegment(char),
    most: spec.prefix ?? unbounded,
    opens: undefined,
    read: (raw) => [[spec.name, spec.explode ? [decodeURIComponent(raw)] : decodeURIComponent(raw)]],
  }
}

function optionalRun({ operator }: Expression, spec: Spec): Run {
  return {
    allows: () => true,
    most: spec.prefix === undefined ? unbounded : spec.prefix + operator.first.length,
    opens: operator.first,
    read: (raw) => (raw === '' ? [] : [[spec.name, decodeURIComponent(raw.slice(operator.first.length))]]),
  }
}

function listRun({ operator }: Expression, spec: Spec, opening: string): Run {
  return {
    allows: operator.reserved
      ? () => true
      : (char) => isOfSegment(char) || char === operator.separator || char === opening,
    most: unbounded,
    opens: opening,
    read: (raw) => [
      [
        spec.name,
        raw === '' ? [] : raw.slice(opening.length).split(operator.separator).map(decodeURIComponent),
      ],
    ],
  }
}

function namedRun({ operator, specs }: Expression): Run {
  return {
    allows: operator.separator === ';' ? (char) => isOfSegment(char) : (char) => char !== '#',
    most: unbounded,
    opens: operator.first,
    read(raw) {
      const values = new Map<string, string | string[]>()
      for (const { name, explode } of specs) if (explode) values.set(name, [])
      if (raw === '') return [...values]
      for (const pair of raw.slice(operator.first.length).split(operator.separator)) {
        const equals = pair.indexOf('=')
        const name = equals === -1 ? pair : pair.slice(0, equals)
        const value = equals === -1 ? '' : decodeURIComponent(pair.slice(equals + 1))
        const spec = specs.find((one) => one.name === name)
        if (spec === undefined || (spec.prefix !== undefined && [...value].length > spec.prefix))
          return undefined
        const before = values.get(name)
        if (Array.isArray(before)) before.push(value)
        else if (before === undefined) values.set(name, value)
        else return undefined
      }
      return [...values]
    },
  }
}

/** Whether a character may stand in a path segment. */
function isOfSegment(char: string): boolean {
  return char !== '/' && char !== '?' && char !== '#'
}

/** How far one character reaches from each place: three for an escaped byte, more for a character of several. */
function widthsOf(text: string): Uint8Array {
  const widths = new Uint8Array(text.length).fill(1)
  for (let at = text.indexOf('%'); at !== -1; at = text.indexOf('%', at + 1)) {
    const lead = Number.parseInt(text.slice(at + 1, at + 3), 16)
    const bytes = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : lead >= 0xc0 ? 2 : 1
    widths[at] = Number.isNaN(lead) ? 1 : Math.min(bytes * 3, text.length - at)
  }
  return widths
}

/** For each token and place, whether the rest of the tokens can take exactly the rest of the text. */
function reachOf(tokens: readonly Token[], text: string, widths: Uint8Array): Uint8Array[] {
  let after = new Uint8Array(text.length + 1)
  after[text.length] = 1
  const reach = [after]
  for (const token of tokens.toReversed()) {
    const here = new Uint8Array(text.length + 1)
    if ('text' in token) {
      for (let at = text.length - token.text.length; at >= 0; at--) {
        if (after[at + token.text.length] === 1 && text.startsWith(token.text, at)) here[at] = 1
      }
    } else {
      reachRun(token, text, widths, after, here)
    }
    reach.unshift(here)
    after = here
  }
  return reach
}

function reachRun(run: Run, text: string, widths: Uint8Array, after: Uint8Array, here: Uint8Array): void {
  const fewest = new Float64Array(text.length + 1).fill(Number.POSITIVE_INFINITY)
  if (run.opens !== undefined && after[text.length] === 1) here[text.length] = 1
  for (let at = text.length - 1; at >= 0; at--) {
    const next = at + (widths[at] ?? 1)
    if (run.allows(text.charAt(at))) {
      fewest[at] = after[next] === 1 ? 1 : 1 + (fewest[next] ?? Number.POSITIVE_INFINITY)
    }
    const opened = run.opens === undefined || text.startsWith(run.opens, at)
    const empty = run.opens !== undefined && after[at] === 1
    if (empty || (opened && (fewest[at] ?? Number.POSITIVE_INFINITY) <= run.most)) here[at] = 1
  }
}

function collect(
  tokens: readonly Token[],
  text: string,
  widths: Uint8Array,
  reach: readonly Uint8Array[],
): Variables | undefined {
  const found: (readonly [string, string | string[]])[] = []
  let at = 0
  for (const [index, token] of tokens.entries()) {
    if ('text' in token) {
      at += token.text.length
      continue
    }
    const end = farthest(token, text, widths, at, reach[index + 1])
    const values = readOrNothing(token, text.slice(at, end))
    if (values === undefined) return undefined
    found.push(...values)
    at = end
  }
  return Object.fromEntries(found)
}

/** The end of the longest run from here after which the rest still matches. */
function farthest(
  run: Run,
  text: string,
  widths: Uint8Array,
  from: number,
  after: Uint8Array | undefined,
): number {
  let best = from
  let at = from
  if (run.opens !== undefined && !text.startsWith(run.opens, from)) return from
  for (let taken = 0; taken < run.most && at < text.length && run.allows(text.charAt(at)); taken++) {
    at += widths[at] ?? 1
    if (after?.[at] === 1) best = at
  }
  return best
}

function readOrNothing(run: Run, raw: string): ReturnType<Run['read']> {
  try {
    return run.read(raw)
  } catch {
    return undefined
  }
}
