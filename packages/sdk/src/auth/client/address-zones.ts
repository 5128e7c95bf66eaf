/** The zone of an address. Requests to `forbidden` ones are never sent. */
export type Zone = 'public' | 'private' | 'loopback' | 'forbidden'

type Range = readonly [base: string, bits: number, zone: Zone]

// Specific addresses, such as those of cloud metadata services, come before the range that contains them.
const ranges4: readonly Range[] = [
  ['100.100.100.200', 32, 'forbidden'],
  ['168.63.129.16', 32, 'forbidden'],
  ['0.0.0.0', 8, 'forbidden'],
  ['10.0.0.0', 8, 'private'],
  ['100.64.0.0', 10, 'private'],
  ['127.0.0.0', 8, 'loopback'],
  ['169.254.0.0', 16, 'forbidden'],
  ['172.16.0.0', 12, 'private'],
  ['192.0.0.0', 24, 'forbidden'],
  ['192.0.2.0', 24, 'forbidden'],
  ['192.88.99.0', 24, 'forbidden'],
  ['192.168.0.0', 16, 'private'],
  ['198.18.0.0', 15, 'private'],
  ['198.51.100.0', 24, 'forbidden'],
  ['203.0.113.0', 24, 'forbidden'],
  ['224.0.0.0', 3, 'forbidden'],
]

const loopbackName = /^(?:.+\.)?localhost$/
const privateName = /^[^.]+$|\.(?:internal|intranet|lan|local|localdomain|corp|home|home\.arpa|private)$/
const metadataName = /^metadata(?:\.google\.internal|\.goog)?$|^instance-data(?:\.ec2\.internal)?$/

/** The zone of an IP address; undefined for any other text. */
export function zoneOfAddress(address: string): Zone | undefined {
  const ipv4 = parse4(address)
  if (ipv4 !== undefined) return zoneOf4(ipv4)
  const ipv6 = parse6(address)
  return ipv6 === undefined ? undefined : zoneOf6(ipv6)
}

/** The zone that a host name implies; undefined if it has to be resolved. */
export function zoneOfName(name: string): Zone | undefined {
  if (loopbackName.test(name)) return 'loopback'
  if (metadataName.test(name)) return 'forbidden'
  return privateName.test(name) ? 'private' : undefined
}

/** The host of a URL without brackets and trailing dots; an address before trailing dots in canonical form. */
export function hostOf(url: URL): string {
  const named = url.hostname.replace(/^\[(.*)\]$/, '$1')
  const host = named.replace(/\.+$/, '')
  return host !== named && URL.canParse(`http://${host}/`) ? new URL(`http://${host}/`).hostname : host
}

function zoneOf4(address: number): Zone {
  for (const [base, bits, zone] of ranges4) {
    const shift = 2 ** (32 - bits)
    if (Math.floor(address / shift) === Math.floor((parse4(base) ?? 0) / shift)) return zone
  }
  return 'public'
}

function zoneOf6(groups: readonly number[]): Zone {
  const [a = 0, b = 0, c = 0] = groups
  const last = ipv4In(groups, 6)
  if (groups.slice(0, 7).every((group) => group === 0)) return groups[7] === 1 ? 'loopback' : 'forbidden'
  if (groups.slice(0, 5).every((group) => group === 0) && groups[5] === 0xffff) return zoneOf4(last)
  if (a === 0x64 && b === 0xff9b && groups.slice(2, 6).every((group) => group === 0)) return relayedZone(last)
  if (a === 0x2002) return relayedZone(ipv4In(groups, 1))
  if ((a === 0xfd00 && b === 0xec2) || (a === 0xfd20 && b === 0xce && c === 0)) return 'forbidden'
  if ((a & 0xfe00) === 0xfc00 || (a & 0xffc0) === 0xfec0) return 'private'
  if ((a === 0x2001 && (b < 0x200 || b === 0xdb8)) || (a === 0x3fff && b < 0x1000)) return 'forbidden'
  // The rest of the globally routed space.
  return (a & 0xe000) === 0x2000 ? 'public' : 'forbidden'
}

/** The zone of an IPv4 address behind a relay (NAT64, 6to4), where only public addresses are allowed. */
function relayedZone(address: number): Zone {
  return zoneOf4(address) === 'public' ? 'public' : 'forbidden'
}

function ipv4In(groups: readonly number[], at: number): number {
  return (groups[at] ?? 0) * 65_536 + (groups[at + 1] ?? 0)
}

function parse4(text: string): number | undefined {
  const match = /^(\d{1,3})\.(\d{1,3})\.(\d{1,3})\.(\d{1,3})$/.exec(text)
  if (match === null) return undefined
  const parts = match.slice(1).map(Number)
  return parts.every((part) => part < 256) ? parts.reduce((sum, part) => sum * 256 + part, 0) : undefined
}

function parse6(text: string): number[] | undefined {
  const plain = text.replace(/%.*$/, '')
  if (!plain.includes(':') || !URL.canParse(`http://[${plain}]/`)) return undefined
  const [head = '', tail] = new URL(`http://[${plain}]/`).hostname.slice(1, -1).split('::')
  const groups = (part: string): number[] =>
    part === '' ? [] : part.split(':').map((group) => Number.parseInt(group, 16))
  const front = groups(head)
  const back = tail === undefined ? [] : groups(tail)
  return [...front, ...new Array<number>(8 - front.length - back.length).fill(0), ...back]
}
