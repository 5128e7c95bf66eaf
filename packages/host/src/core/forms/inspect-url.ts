import { isIP } from 'node:net'
import { domainToUnicode } from 'node:url'
import { nearlySame, skeleton } from '../../shared/look-alike.ts'
import { unseenIn } from '../../shared/visible.ts'
import type { TrustFinding, UrlInspection } from '../../types/index.ts'

/** What a URL is compared with. */
export interface InspectOptions {
  /** Sites that the page may imitate: the server's own. */
  known?: readonly string[]
}

const longUrlLength = 2_000
const severityOrder = ['danger', 'warning', 'notice']

/** Parses the URL of a URL elicitation and collects warnings for the user. Nothing is fetched or resolved. */
export function inspectUrl(text: string, { known = [] }: InspectOptions = {}): UrlInspection {
  const url = URL.parse(text)
  if (url === null || url.host === '') {
    const blocked = url === null ? 'It is not a valid URL.' : schemeRefusal(url)
    const href = url?.href ?? text
    return { href, parts: { before: '', host: '', after: href }, findings: [], opens: false, blocked }
  }
  const { href, hostname } = url
  // The part before the @ can also contain a host name.
  const from = href.indexOf(hostname, href.indexOf('//') + 2 + credentialsLength(url))
  const parts = {
    before: href.slice(0, from),
    host: hostname,
    after: href.slice(from + hostname.length),
  }
  const isWeb = url.protocol === 'https:' || url.protocol === 'http:'
  const reads = domainToUnicode(hostname)
  return {
    href,
    parts,
    ...(reads !== '' && reads !== hostname && { reads }),
    findings: isWeb ? findingsAbout(url, text, reads, known) : [],
    opens: url.protocol === 'https:' || (url.protocol === 'http:' && isLoopback(hostname)),
    ...(!isWeb && { blocked: schemeRefusal(url) }),
  }
}

function schemeRefusal({ protocol }: URL): string {
  return `It is not a web page: "${protocol.slice(0, 40)}" may start other programs. Only https and http are opened.`
}

function credentialsLength({ username, password }: URL): number {
  if (username === '' && password === '') return 0
  return username.length + (password === '' ? 0 : password.length + 1) + 1
}

function isLoopback(hostname: string): boolean {
  const name = hostname.replace(/\.$/, '')
  return (
    name === 'localhost' || name.endsWith('.localhost') || name === '[::1]' || /^127(\.\d+){3}$/.test(name)
  )
}

function findingsAbout(url: URL, text: string, reads: string, known: readonly string[]): TrustFinding[] {
  const findings: TrustFinding[] = []
  const add = (severity: TrustFinding['severity'], code: string, message: string): void => {
    findings.push({ severity, code, at: 'url', message })
  }
  const { hostname, protocol, username, password, port } = url
  if (username !== '' || password !== '') {
    add('danger', 'user-information', `The part before the @ is not the site. The site is ${hostname}.`)
  }
  hostNameFindings(hostname, reads, add)
  const local = isLoopback(hostname)
  const kind = kindOfAddress(hostname)
  if (local) add('notice', 'this-machine', 'The page is on this machine.')
  else if (kind === 'link-local') {
    add(
      'danger',
      'link-local',
      'The address belongs to the machine’s own network, such as a cloud’s credential service.',
    )
  } else if (kind === 'address') {
    add('warning', 'ip-address', 'The site is an IP address, so no name shows its owner.')
  }
  if (protocol === 'http:' && !local) {
    add(
      'warning',
      'not-encrypted',
      'The connection is not encrypted (http): others on the network can read and change it.',
    )
  }
  if (port !== '' && !local) add('notice', 'port', `It does not use the usual web port, but port ${port}.`)
  if (unseenIn(text).length > 0 || /[\t\r\n]|^\s|\s$/.test(text)) {
    add(
      'warning',
      'hidden-characters',
      'It contains invisible characters; the address shown here is the real one.',
    )
  } else if (/^[a-z]+:[^?#]*\\/i.test(text) || !/^https?:\/\/[^/]/i.test(text)) {
    add(
      'warning',
      'odd-spelling',
      'Its spelling may make it look like another address; the address shown here is the real one.',
    )
  }
  if (url.href.length > longUrlLength) {
    add(
      'notice',
      'long',
      `It is ${url.href.length.toLocaleString('en')} characters long; check its beginning and its site.`,
    )
  }
  if (!local) serverSiteFindings(url, reads, known, add)
  return findings.sort(
    (one, other) => severityOrder.indexOf(one.severity) - severityOrder.indexOf(other.severity),
  )
}

type Add = (severity: TrustFinding['severity'], code: string, message: string) => void

/** What non-ASCII letters in a host name may imitate. */
function hostNameFindings(hostname: string, reads: string, add: Add): void {
  if (reads === '' || reads === hostname) return
  const labels = reads.split('.')
  const mixed = labels.find(mixesScripts)
  const disguised = labels.find(isDisguised)
  if (mixed !== undefined) {
    add(
      'danger',
      'mixed-letters',
      `"${mixed}" mixes letters of different alphabets, as imitations do. The site is really ${hostname}.`,
    )
  } else if (disguised !== undefined) {
    add(
      'danger',
      'disguised-letters',
      `Every letter of "${disguised}" looks like a Latin one and is not. The site is really ${hostname}.`,
    )
  } else {
    add(
      'warning',
      'other-letters',
      `The name has letters outside ASCII: it reads "${reads}" and is really ${hostname}.`,
    )
  }
}

const alphabets = [
  /\p{Script=Latin}/u,
  /\p{Script=Cyrillic}/u,
  /\p{Script=Greek}/u,
  /\p{Script=Armenian}/u,
  /\p{Script=Cherokee}/u,
]

function mixesScripts(label: string): boolean {
  return alphabets.filter((alphabet) => alphabet.test(label)).length > 1
}

function isDisguised(label: string): boolean {
  return !/\p{Script=Latin}/u.test(label) && /\p{L}/u.test(label) && /^[a-z0-9]+$/.test(skeleton(label))
}

function kindOfAddress(hostname: string): 'address' | 'link-local' | undefined {
  const bare = hostname.replace(/^\[|\]$/g, '')
  if (bare === 'metadata.google.internal' || /^169\.254\.|^fe80:/i.test(bare)) return 'link-local'
  return isIP(bare) === 0 ? undefined : 'address'
}

/** The relation of the site to the server's own. */
function serverSiteFindings(url: URL, reads: string, known: readonly string[], add: Add): void {
  const serverHosts = known.flatMap((address) => {
    const other = URL.parse(address)
    return other === null || other.hostname === '' || isIP(other.hostname) !== 0 || isLoopback(other.hostname)
      ? []
      : [other.hostname]
  })
  if (serverHosts.length === 0 || serverHosts.some((name) => domainOf(name) === domainOf(url.hostname)))
    return
  const imitated = serverHosts.find((name) => imitatedHost(url.hostname, reads, name))
  if (imitated !== undefined) {
    add('danger', 'looks-like', `It looks like the server's own site ${imitated}, but is ${url.hostname}.`)
  } else {
    add('notice', 'other-site', `The page is not on the server's own site, ${serverHosts.join(', ')}.`)
  }
}

function imitatedHost(hostname: string, reads: string, serverHost: string): boolean {
  const [domain, serverDomain] = [domainOf(reads === '' ? hostname : reads), domainOf(serverHost)]
  if (skeleton(domain) === skeleton(serverDomain) || nearlySame(domain, serverDomain)) return true
  const name = serverDomain.split('.')[0] ?? serverDomain
  // The site's name as part of another one: bank.example.evil.test, login-bank.test.
  return name.length >= 4 && reads.split(/[.-]/).some((part) => skeleton(part) === skeleton(name))
}

const secondLevel = /^(?:ac|co|com|edu|gob|gov|go|mil|ne|net|nom|or|org|sch)$/

/** The registered domain of a host name, as far as it can be derived from the name. */
function domainOf(hostname: string): string {
  const labels = hostname.toLowerCase().replace(/\.$/, '').split('.')
  const [country = '', second = ''] = labels.toReversed()
  return labels.slice(country.length === 2 && secondLevel.test(second) ? -3 : -2).join('.')
}
