import { BlockList, isIP } from 'node:net'
import { McpError } from '@jackfield/sdk'

/** An allowed host. */
export interface ListedHost {
  /** A name or address in canonical form; for a wildcard, the part after `*.` */
  name: string
  wildcard: boolean
  /** Undefined for 80 and 443. */
  port: number | 'any' | undefined
}

/** A host and port that a program connects to. */
export interface TargetHost {
  host: string
  port: number
}

const webPorts = [80, 443]
const forbiddenRanges = new BlockList()
const privateRanges = new BlockList()
for (const [address, bits] of [
  ['0.0.0.0', 8],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['224.0.0.0', 3],
] as const)
  forbiddenRanges.addSubnet(address, bits, 'ipv4')
for (const [address, bits] of [
  ['::', 127],
  ['fe80::', 10],
  ['ff00::', 8],
] as const)
  forbiddenRanges.addSubnet(address, bits, 'ipv6')
for (const [address, bits] of [
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['172.16.0.0', 12],
  ['192.168.0.0', 16],
] as const)
  privateRanges.addSubnet(address, bits, 'ipv4')
privateRanges.addSubnet('fc00::', 7, 'ipv6')
privateRanges.addSubnet('64:ff9b::', 96, 'ipv6')

/**
 * Parses a list of hosts: `example.org` (ports 80 and 443), `*.example.org`, `example.org:8080`, `example.org:*`.
 * @throws McpError 'INVALID' that names the invalid entry
 */
export function readHosts(written: readonly string[]): ListedHost[] {
  return written.map((text) => {
    const parts = /^(\*\.)?(\[[^\]]+\]|[^:[\]/@?#*\s]+)(?::(\d{1,5}|\*))?$/.exec(text.trim())
    const [, wildcardPrefix, bareHost, port] = parts ?? []
    const url = bareHost === undefined ? null : URL.parse(`http://${bareHost}`)
    const number = port === undefined || port === '*' ? undefined : Number(port)
    if (url === null || bareName(url.hostname) === '' || number === 0 || (number ?? 1) > 65_535) {
      throw new McpError(
        'INVALID',
        `The sandbox lists "${text}" under "network", which is not a host. Write example.org, *.example.org, or example.org:8080`,
      )
    }
    return {
      name: bareName(url.hostname),
      wildcard: wildcardPrefix !== undefined,
      port: port === '*' ? 'any' : number,
    }
  })
}

/** Parses `host:port` in a proxy request; undefined if invalid. */
export function parseTarget(authority: string, defaultPort?: number): TargetHost | undefined {
  const url = URL.parse(`http://${authority}`)
  if (url === null || url.host === '' || url.username !== '' || url.pathname !== '/' || url.search !== '') {
    return undefined
  }
  const port = url.port === '' ? (/:80$/.test(authority) ? 80 : defaultPort) : Number(url.port)
  return port === undefined || port === 0 ? undefined : { host: bareName(url.hostname), port }
}

/** The entry that allows a host. */
export function findListedHost(
  { host, port }: TargetHost,
  list: readonly ListedHost[],
): ListedHost | undefined {
  return list.find((entry) => {
    const isNameMatch = entry.wildcard ? host.endsWith(`.${entry.name}`) : host === entry.name
    const isPortMatch =
      entry.port === 'any' || (entry.port === undefined ? webPorts.includes(port) : entry.port === port)
    return isNameMatch && isPortMatch
  })
}

/**
 * Whether the resolved address of an allowed name may be contacted. Another owner's name must not resolve to this machine, and a
 * wildcard name (`*.`) must not resolve to the local network.
 */
export function isAllowedAddress(address: string, { name, wildcard }: ListedHost): boolean {
  if (isIP(name) !== 0 || name === 'localhost' || name.endsWith('.localhost')) return true
  const family = isIP(address) === 6 ? 'ipv6' : 'ipv4'
  return !forbiddenRanges.check(address, family) && !(wildcard && privateRanges.check(address, family))
}

function bareName(hostname: string): string {
  return hostname
    .replace(/^\[|\]$/g, '')
    .replace(/\.$/, '')
    .toLowerCase()
}
