import { isRecord } from '../../shared/json.ts'
import { mixedWord, nearlySame, skeleton } from '../../shared/look-alike.ts'
import { codeName, type Unseen, unseenIn } from '../../shared/visible.ts'
import type { TrustFinding } from '../../types/index.ts'
import type { Definition, DefinitionKind } from './definitions.ts'
import { phrasesIn } from './phrases.ts'

/** One text of a server, with its location. */
interface ScannedText {
  at: string
  text: string
  /** A parameter name or the like, not prose. */
  isName?: boolean
}

const longTextCharacters = 10_000
const hugeTextCharacters = 50_000
const maxQuoteCharacters = 120
const maxFindings = 50

const listNames: Readonly<Record<DefinitionKind, string>> = {
  instructions: 'instructions',
  tool: 'tools',
  prompt: 'prompts',
  resource: 'resources',
  template: 'templates',
}

/** Findings about one definition. */
export function scanDefinition(definition: Definition, neighbours: Neighbours): TrustFinding[] {
  const texts = textsOf(definition)
  return [
    ...nameFindings(definition, neighbours, locationOf(definition)),
    ...scanTexts(texts, neighbours),
  ].slice(0, maxFindings)
}

/** Findings about these texts, in time proportional to their length. */
export function scanTexts(texts: readonly ScannedText[], neighbours?: Neighbours): TrustFinding[] {
  return texts.flatMap((text) => scanText(text, neighbours))
}

function scanText(
  { at, text, isName = false }: ScannedText,
  neighbours: Neighbours | undefined,
): TrustFinding[] {
  const findings: TrustFinding[] = []
  const add = (severity: TrustFinding['severity'], code: string, message: string): void => {
    findings.push({ severity, code, at, message })
  }
  const unseen = unseenIn(text)
  if (unseen.length > 0) {
    const codes = [...new Set(unseen.map(({ code }) => codeName(code)))].slice(0, 5).join(' ')
    add(
      severityOf(unseen, text),
      'hidden-characters',
      `It contains ${counted(unseen.length, 'invisible character')}: ${codes}. A model reads what you do not see.`,
    )
  }
  const mixed = mixedWord(text)
  if (mixed !== undefined) {
    const message = `"${mixed}" mixes letters of different alphabets, so that it looks like another word.`
    add(isName ? 'danger' : 'warning', 'mixed-letters', message)
  }
  const phrases = phrasesIn(isName ? text.replaceAll(/[_-]+|(?<=[a-z])(?=[A-Z])/g, ' ') : text)
  for (const { severity, code, says, words } of phrases) {
    add(
      severity,
      code,
      `It ${says}: "${words.length > maxQuoteCharacters ? `${words.slice(0, maxQuoteCharacters)}…` : words}"`,
    )
  }
  if (isName) {
    if (contextRequestingName.test(text)) {
      add(
        'danger',
        'asks-for-context',
        `The name "${text}" asks a model for data that the tool does not need.`,
      )
    }
    return findings
  }
  const mentioned = neighbours === undefined ? undefined : findMentionedTool(text, neighbours)
  if (mentioned !== undefined) {
    const { server, tool, ordering } = mentioned
    const severity = !ordering ? 'notice' : phrases.length > 0 ? 'danger' : 'warning'
    const verb = ordering ? 'gives instructions about' : 'mentions'
    add(severity, 'shadows-a-tool', `It ${verb} ${tool}, a tool of ${server}.`)
  }
  findings.push(...shapeFindings(at, text))
  return findings
}

/** Parameter names that make a model fill in data about this machine or the conversation. */
const contextRequestingName =
  /content.{0,20}(?:ssh|id_?rsa|passwd|\.?env_?file|credential|secret)|(?:^|_)(?:entire|full|whole|complete|previous)_?(?:conversation|chat|context|prompt)|(?:conversation|chat)_?history|(?:your|current)_?system_?prompt|(?:all|other)_?tools?_?(?:names|descriptions|list)|ssh_?(?:private_?)?key_?contents?/i

/** Findings from the form of a text, independent of its words. */
function shapeFindings(at: string, text: string): TrustFinding[] {
  const findings: TrustFinding[] = []
  const add = (severity: TrustFinding['severity'], code: string, message: string): void => {
    findings.push({ severity, code, at, message })
  }
  if (/<!--/.test(text)) {
    add(
      'warning',
      'hidden-comment',
      'It contains a comment, which many programs do not show but a model reads.',
    )
  }
  if (/[^\S\n]{80}\S|\n{20}/.test(text.replaceAll('\r\n', '\n'))) {
    add('warning', 'out-of-sight', 'A long gap moves text out of view.')
  }
  const encoded = encodedText(text)
  if (encoded !== undefined)
    add('warning', 'encoded-text', `It contains encoded text that a model can read: "${encoded}"`)
  if (text.length > longTextCharacters) {
    const size = text.length.toLocaleString('en')
    const severity = text.length > hugeTextCharacters ? 'warning' : 'notice'
    add(severity, 'over-long', `It is ${size} characters long, which a model reads on every request.`)
  }
  return findings
}

function encodedText(text: string): string | undefined {
  for (const [blob] of text.matchAll(/[A-Za-z0-9+/_-]{60,}/g)) {
    if (/^[0-9a-fA-F-]+$/.test(blob) || !/[A-Z]/.test(blob) || !/[a-z]/.test(blob)) continue
    const decoded = Buffer.from(blob, 'base64').toString('utf8')
    if (/^[\p{L}\p{N}\p{P}\p{S}\s]{40,}$/u.test(decoded) && decoded.includes(' '))
      return decoded.slice(0, maxQuoteCharacters)
  }
  return undefined
}

/** Bidirectional controls, tags, escapes and long runs are deceptive; a single soft hyphen is not. */
function severityOf(unseen: readonly Unseen[], text: string): TrustFinding['severity'] {
  const harmless = (code: number, index: number): boolean =>
    code === 0xad || code === 0x200e || code === 0x200f || code === 0x0d || (code === 0xfeff && index === 0)
  const deceiving = (code: number): boolean =>
    code === 0x1b || (code >= 0x202d && code <= 0x202e) || (code >= 0xe0000 && code <= 0xe0fff)
  if (unseen.some(({ code }) => deceiving(code))) return 'danger'
  if (unseen.length >= 8 && unseen.length * 20 > text.length) return 'danger'
  return unseen.every(({ code, at }) => harmless(code, at)) ? 'notice' : 'warning'
}

function locationOf({ what, name }: Definition): string {
  return what === 'instructions' ? 'instructions' : `${listNames[what]}.${name}`
}

/** Every text of a definition, including member names, without embedded pictures. */
function textsOf(definition: Definition): ScannedText[] {
  const texts: ScannedText[] = []
  const pending: { value: unknown; at: string }[] = [
    {
      value: definition.what === 'instructions' ? definition.content['text'] : definition.content,
      at: locationOf(definition),
    },
  ]
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    const { value, at } = next
    if (typeof value === 'string') {
      if (!value.startsWith('data:image/')) texts.push({ at, text: value })
    } else if (Array.isArray(value)) {
      for (const [index, item] of value.entries()) pending.push({ value: item, at: `${at}[${index}]` })
    } else if (isRecord(value)) {
      for (const [name, member] of Object.entries(value)) {
        if (at.endsWith('.properties')) texts.push({ at: `${at}.${name}`, text: name, isName: true })
        pending.push({ value: member, at: `${at}.${name}` })
      }
    }
  }
  return texts.reverse()
}

function counted(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? '' : 's'}`
}

/** Names of other servers and their tools, to find impersonation. */
export interface Neighbours {
  /** Tools of other servers: by name, by confusable skeleton, and by the name without separators. */
  readonly byName: ReadonlyMap<string, string>
  readonly byLook: ReadonlyMap<string, { server: string; tool: string }>
  /** Names of the server's own tools. */
  readonly own: ReadonlySet<string>
}

/** Indexes the tools of all other servers. */
export function neighboursOf(server: string, all: ReadonlyMap<string, readonly string[]>): Neighbours {
  const byName = new Map<string, string>()
  const byLook = new Map<string, { server: string; tool: string }>()
  for (const [other, tools] of all) {
    if (other === server) continue
    for (const tool of tools) {
      byName.set(tool, other)
      byLook.set(skeleton(tool), { server: other, tool })
    }
  }
  return { byName, byLook, own: new Set(all.get(server)) }
}

/** Findings about the name of a tool: equal or similar to that of another server's tool. */
function nameFindings(
  { what, name }: Definition,
  { byName, byLook }: Neighbours,
  at: string,
): TrustFinding[] {
  const findings: TrustFinding[] = []
  const add = (severity: TrustFinding['severity'], code: string, message: string): void => {
    findings.push({ severity, code, at, message })
  }
  if (what !== 'tool') return findings
  const mixed = mixedWord(name.replaceAll('_', ' '))
  if (mixed !== undefined) {
    add(
      'danger',
      'mixed-letters',
      `"${mixed}" mixes letters of different alphabets, so that it looks like another name.`,
    )
  }
  const otherServer = byName.get(name)
  if (otherServer !== undefined) {
    add(
      'notice',
      'same-name',
      `${otherServer} has a tool of the same name; calls use the server's name to distinguish them.`,
    )
    return findings
  }
  const lookAlike = byLook.get(skeleton(name))
  if (lookAlike === undefined) return findings
  const isSpelledDifferently = withoutSeparators(lookAlike.tool) === withoutSeparators(name)
  add(
    isSpelledDifferently ? 'notice' : 'danger',
    'looks-like',
    `It looks like ${lookAlike.tool} of ${lookAlike.server}, but is ${isSpelledDifferently ? 'spelled' : 'written'} differently.`,
  )
  return findings
}

const instructionWords =
  /\b(?:must|always|never|instead|before|whenever|when|should|do not|don't|first|replace|redirect|change|override)\b/i

/** Whether a text mentions another server's tool, and whether it gives instructions about it. */
function findMentionedTool(
  text: string,
  { byName, own }: Neighbours,
): { server: string; tool: string; ordering: boolean } | undefined {
  if (byName.size === 0) return undefined
  for (const [word] of text.matchAll(/[A-Za-z][\w-]{5,127}/g)) {
    const server = byName.get(word)
    if (server === undefined || own.has(word) || !/[_-]|[a-z][A-Z]/.test(word)) continue
    return { server, tool: word, ordering: instructionWords.test(text) }
  }
  return undefined
}

/** Findings from a server's name compared with the others. */
export function serverFindings(server: string, others: Iterable<string>): TrustFinding[] {
  for (const other of others) {
    if (other === server) continue
    const looksSame = skeleton(other) === skeleton(server)
    const isNearlySame =
      server.length >= 5 && other.length >= 5 && nearlySame(server.toLowerCase(), other.toLowerCase())
    if (!looksSame && !isNearlySame) continue
    const message = `Its name is easily confused with ${other}, another of your servers.`
    return [{ severity: 'warning', code: 'looks-like', at: 'server', message }]
  }
  return []
}

function withoutSeparators(name: string): string {
  return name.toLowerCase().replace(/[\s_.-]/g, '')
}
