import { createHash } from 'node:crypto'
import { McpError, type ReadResourceResult, type Resource } from '@jackfield/sdk'
import { type AppCsp, type AppPermission, appMimeType } from '@jackfield/sdk/extensions/ui'
import { isRecord, type JsonRecord } from '../shared/json.ts'
import type { AppVersion, AppWish, TrustFinding } from '../types/index.ts'

/** Maximum bytes of a page's HTML. */
const maxBytes = 4_194_304
/** Maximum origins in one list of a page. */
const maxOrigins = 64
/** Maximum invalid entries that are reported. */
const maxIgnored = 20

export const appPermissions: readonly AppPermission[] = [
  'camera',
  'microphone',
  'geolocation',
  'clipboardWrite',
]

/** A page as read from its server. */
export interface ReadPage {
  readonly html: string
  readonly version: AppVersion
  /** Entries of its `csp` that are not origins. */
  readonly ignored: readonly string[]
  readonly prefersBorder?: boolean
}

/**
 * Parses a page from the result of `resources/read`. `listed`: its entry in the resource list, whose `_meta` applies if the
 * contents have none.
 * @throws McpError 'INVALID' if it is no page, or too large
 */
export function readPage(
  uri: string,
  { contents }: ReadResourceResult,
  listed: Resource | undefined,
): ReadPage {
  const content = contents.find((candidate) => candidate.uri === uri) ?? contents[0]
  if (content === undefined) throw new McpError('INVALID', `The app ${uri} has no contents.`)
  if (!isAppType(content.mimeType))
    throw new McpError(
      'INVALID',
      `The app ${uri} has the MIME type ${JSON.stringify(content.mimeType ?? null)}; a page of an app has "${appMimeType}".`,
    )
  const html = 'text' in content ? content.text : Buffer.from(content.blob, 'base64').toString('utf8')
  const bytes = Buffer.byteLength(html)
  if (bytes > maxBytes)
    throw new McpError('INVALID', `The app ${uri} has ${bytes} bytes; at most ${maxBytes} are shown.`)
  const meta = uiOf(content._meta) ?? uiOf(listed?._meta) ?? {}
  const ignored: string[] = []
  const csp = cspOf(meta['csp'], ignored)
  const requested = isRecord(meta['permissions']) ? meta['permissions'] : {}
  const { prefersBorder } = meta
  return {
    html,
    ignored,
    version: {
      digest: createHash('sha256').update(html).digest('hex'),
      bytes,
      csp,
      permissions: appPermissions.filter((name) => isRecord(requested[name])),
    },
    ...(typeof prefersBorder === 'boolean' && { prefersBorder }),
  }
}

/** Whether this is the MIME type of a page, ignoring spaces and case. */
export function isAppType(mimeType: string | undefined): boolean {
  return mimeType?.replaceAll(/\s/g, '').toLowerCase() === appMimeType
}

function uiOf(meta: unknown): JsonRecord | undefined {
  const ui = isRecord(meta) ? meta['ui'] : undefined
  return isRecord(ui) ? ui : undefined
}

/** The lists of a `csp`, and whether WebSocket origins are allowed in them. */
const cspLists: Readonly<Record<keyof AppCsp, { readonly sockets: boolean }>> = {
  connectDomains: { sockets: true },
  resourceDomains: { sockets: false },
  frameDomains: { sockets: false },
  baseUriDomains: { sockets: false },
}

const originPattern =
  /^(https|http|wss|ws):\/\/(\*\.)?([a-z0-9-]+(?:\.[a-z0-9-]+)*|\[[0-9a-f:]+\])(:\d{1,5})?\/?$/i
const loopback = /^(localhost|(.+\.)?localhost|127(\.\d+){3}|\[::1\])$/

/** The valid origins of a page. Others are dropped and reported, since they would go into a header. */
function cspOf(requested: unknown, ignored: string[]): AppCsp {
  const csp: { -readonly [K in keyof AppCsp]: string[] } = {}
  for (const [name, { sockets }] of Object.entries(cspLists)) {
    const entries: unknown = isRecord(requested) ? requested[name] : undefined
    if (!Array.isArray(entries) || !isCspList(name)) continue
    const origins = new Set<string>()
    for (const entry of entries) {
      const parsedOrigin = originOf(entry, sockets)
      if (parsedOrigin !== undefined && origins.size < maxOrigins) origins.add(parsedOrigin)
      else if (ignored.length < maxIgnored) ignored.push(`${name}: ${String(entry).slice(0, 200)}`)
    }
    if (origins.size > 0) csp[name] = [...origins].sort()
  }
  return csp
}

function isCspList(name: string): name is keyof AppCsp {
  return Object.hasOwn(cspLists, name)
}

function originOf(entry: unknown, sockets: boolean): string | undefined {
  const [, scheme = '', wildcard = '', host = '', port = ''] =
    typeof entry === 'string' ? (originPattern.exec(entry) ?? []) : []
  const [protocol, name] = [scheme.toLowerCase(), host.toLowerCase()]
  if (protocol === '' || (protocol.startsWith('ws') && !sockets)) return undefined
  const isSecure = protocol === 'https' || protocol === 'wss'
  if (!isSecure && !loopback.test(name)) return undefined
  if (wildcard !== '' && !/[a-z0-9-]\.[a-z]/.test(name)) return undefined
  const text = `${protocol}://${wildcard}${name}${port}`
  return URL.canParse(text.replace('*.', 'a.')) ? text : undefined
}

/** Whether a version requests no more than another one. */
export function asksForNoMore(version: AppVersion, other: AppVersion): boolean {
  const isWithin = (inner: readonly string[] = [], outer: readonly string[] = []): boolean =>
    inner.every((entry) => outer.includes(entry))
  return (
    Object.keys(cspLists).every((name) => !isCspList(name) || isWithin(version.csp[name], other.csp[name])) &&
    isWithin(version.permissions, other.permissions)
  )
}

const localOrigin = /^\w+:\/\/(\[::1\]|127\.|localhost|[^/]*\.localhost)/

/** Warnings about a page, shown before it opens. */
export function findingsAbout({ version: { csp } }: Extract<AppWish, { kind: 'page' }>): TrustFinding[] {
  const local = Object.values(csp)
    .flat()
    .filter((entry) => localOrigin.test(entry))
  if (local.length === 0) return []
  return [
    {
      severity: 'warning',
      code: 'reaches-this-machine',
      at: 'csp',
      message: `It wants to reach programs on this machine: ${local.join(', ')}`,
    },
  ]
}
