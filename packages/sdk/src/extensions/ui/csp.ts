import { McpError } from '../../jsonrpc/error.ts'

/** Origins an app may reach besides its own document. Every list is empty by default. */
export interface AppCsp {
  /** For requests: `https:` and `wss:`. */
  connectDomains?: readonly string[]
  /** For scripts, styles, images, fonts and media. `https://*.example.com` stands for every subdomain. */
  resourceDomains?: readonly string[]
  /** For frames inside of it. */
  frameDomains?: readonly string[]
  /** For the base of its relative addresses. */
  baseUriDomains?: readonly string[]
}

const origin = /^(https|http|wss|ws):\/\/(\*\.)?([a-z0-9.-]+|\[[0-9a-f:]+\])(?::\d{1,5})?$/
const loopback: ReadonlySet<string> = new Set(['localhost', '127.0.0.1', '[::1]'])
const maxOrigins = 64

const rules: Readonly<Record<keyof AppCsp, { readonly sockets: boolean; readonly subdomains: boolean }>> = {
  connectDomains: { sockets: true, subdomains: false },
  resourceDomains: { sockets: false, subdomains: true },
  frameDomains: { sockets: false, subdomains: false },
  baseUriDomains: { sockets: false, subdomains: false },
}

/**
 * Holds origins to what a host can write into a policy without allowing more than was meant.
 * @throws McpError 'INVALID' for one that is none, naming it
 */
export function requireCsp(what: string, csp: AppCsp): void {
  for (const [name, origins] of Object.entries(csp)) {
    if (!isDirective(name))
      throw new McpError('INVALID', `${what} has a "csp" with the unknown member "${name}"`)
    if (!Array.isArray(origins) || origins.length > maxOrigins) {
      throw new McpError('INVALID', `${what} needs a list of at most ${maxOrigins} origins as "csp.${name}"`)
    }
    for (const one of origins) {
      const fault = faultOf(one, name)
      if (fault !== undefined) {
        throw new McpError('INVALID', `${what} has ${JSON.stringify(one)} in "csp.${name}": ${fault}`)
      }
    }
  }
}

function isDirective(name: string): name is keyof AppCsp {
  return Object.hasOwn(rules, name)
}

function faultOf(text: unknown, name: keyof AppCsp): string | undefined {
  const found = typeof text === 'string' ? origin.exec(text) : null
  const [, scheme = '', wildcard, host = ''] = found ?? []
  if (found === null || !URL.canParse(found[0].replace('*.', ''))) {
    return 'it must be an origin such as https://api.example.com, in lower case and without a path'
  }
  const { sockets, subdomains } = rules[name]
  if (scheme.startsWith('ws') && !sockets) return 'sockets are for "connectDomains" only'
  if (wildcard === undefined) {
    const secure = scheme === 'https' || scheme === 'wss'
    return secure || loopback.has(host)
      ? undefined
      : 'without encryption only this very machine can be reached'
  }
  if (!subdomains) return 'subdomains can be left open in "resourceDomains" only'
  if (!/^[a-z0-9-]+(?:\.[a-z0-9-]+)+$/.test(host))
    return 'it leaves more open than the subdomains of one domain'
  return scheme === 'https' ? undefined : 'without encryption only this very machine can be reached'
}
