import { isIP } from 'node:net'
import { domainToUnicode } from 'node:url'

/** A URL a server wants a person to visit, taken apart for showing. */
export interface VisitPlan {
  /** The whole URL as it would be opened, only ASCII. */
  href: string
  /** `href` cut around the host, so that it can be emphasised. */
  parts: { before: string; host: string; after: string }
  warnings: string[]
  /** Why it must not be opened at all. */
  blocked: string | undefined
}

const loopback = /^(localhost|127(\.\d+){3}|\[::1\])$/

/** Takes a URL apart and says what about it a person should know. Nothing is fetched. */
export function planVisit(text: string): VisitPlan {
  const url = URL.parse(text)
  if (url === null) {
    return {
      href: text,
      parts: { before: '', host: '', after: text },
      warnings: [],
      blocked: 'It is not a valid URL.',
    }
  }
  const href = url.href
  const from = url.host === '' ? -1 : href.indexOf(url.host, href.indexOf('//') + 2 + credentials(url))
  const parts =
    from === -1
      ? { before: '', host: '', after: href }
      : { before: href.slice(0, from), host: url.host, after: href.slice(from + url.host.length) }
  const known = url.protocol === 'https:' || url.protocol === 'http:'
  return {
    href,
    parts,
    warnings: known ? warningsAbout(url) : [],
    blocked: known
      ? undefined
      : `Links of the kind "${url.protocol}" are not opened; only http and https are.`,
  }
}

function credentials(url: URL): number {
  if (url.username === '' && url.password === '') return 0
  return url.username.length + (url.password === '' ? 0 : url.password.length + 1) + 1
}

function warningsAbout(url: URL): string[] {
  const warnings: string[] = []
  if (url.username !== '' || url.password !== '') {
    warnings.push(`What stands before the @ is not the site; the site is ${url.host}.`)
  }
  const name = url.hostname
  const shown = domainToUnicode(name)
  if (name.split('.').some((label) => label.startsWith('xn--'))) {
    const scripts = mixesScripts(shown) ? ' It mixes alphabets, as imitations do.' : ''
    warnings.push(
      `The site's name has letters outside ASCII and reads "${shown}"; it may look like another.${scripts}`,
    )
  }
  if (isIP(name.replace(/^\[|\]$/g, '')) !== 0 && !loopback.test(name)) {
    warnings.push('The site is a bare network address, not a name.')
  }
  if (url.protocol === 'http:' && !loopback.test(name)) {
    warnings.push('The connection is not encrypted (http).')
  }
  if (loopback.test(name)) warnings.push('The site is on this machine.')
  return warnings
}

function mixesScripts(name: string): boolean {
  const scripts = [/\p{Script=Latin}/u, /\p{Script=Cyrillic}/u, /\p{Script=Greek}/u, /\p{Script=Armenian}/u]
  return name.split('.').some((label) => scripts.filter((script) => script.test(label)).length > 1)
}
