import { BlockList, isIP } from 'node:net'

/** Which addresses and names are public, private, or never fetched. */

/** `private` and `loopback` can be allowed by an option, `forbidden` cannot: metadata services, multicast, reserved ranges. */
export type Zone = 'public' | 'private' | 'loopback' | 'forbidden'

type Range = readonly [network: string, bits: number]

/** Ranges by zone, and the order in which they are checked: addresses of metadata services are within private ranges. */
const ranges: readonly (readonly [Exclude<Zone, 'public'>, readonly Range[]])[] = [
  [
    'forbidden',
    [
      ['100.100.100.200', 32],
      ['168.63.129.16', 32],
      ['192.0.0.192', 32],
      ['fd00:ec2::254', 128],
      ['fd20:ce::254', 128],
    ],
  ],
  [
    'loopback',
    [
      ['127.0.0.0', 8],
      ['::1', 128],
    ],
  ],
  [
    'private',
    [
      ['10.0.0.0', 8],
      ['100.64.0.0', 10],
      ['172.16.0.0', 12],
      ['192.168.0.0', 16],
      ['198.18.0.0', 15],
      ['fc00::', 7],
      ['fec0::', 10],
    ],
  ],
  [
    'forbidden',
    [
      ['0.0.0.0', 8],
      ['169.254.0.0', 16],
      ['192.0.0.0', 24],
      ['192.0.2.0', 24],
      ['192.88.99.0', 24],
      ['198.51.100.0', 24],
      ['203.0.113.0', 24],
      ['224.0.0.0', 3],
      // The IPv6 space outside of 2000::/3, and the special ranges within it.
      ['::', 3],
      ['4000::', 2],
      ['8000::', 1],
      ['2001::', 23],
      ['2001:db8::', 32],
      ['3fff::', 20],
    ],
  ],
]

type Family = 'ipv4' | 'ipv6'

/** A list for each family: a list of both matches IPv4 addresses with IPv6 ranges that contain their mapped form. */
const lists = ranges.flatMap(([zone, entries]) =>
  (['ipv4', 'ipv6'] as const).map((family) => {
    const list = new BlockList()
    for (const [network, bits] of entries) {
      if (familyOf(network) === family) list.addSubnet(network, bits, family)
    }
    return { zone, family, list }
  }),
)

/** The zone of an IP address; undefined for any other text. */
export function zoneOf(address: string): Zone | undefined {
  const family = isIP(address)
  if (family === 0) return undefined
  if (family === 4) return zoneIn(address, 'ipv4')
  const groups = groupsOf(address)
  const embedded = embeddedIn(groups)
  if (embedded === undefined) return zoneIn(address, 'ipv6')
  // An address that a relay translates reaches the IPv4 address from elsewhere, where only public ones are meant.
  const zone = zoneIn(embedded.address, 'ipv4')
  return embedded.relayed && zone !== 'public' ? 'forbidden' : zone
}

/** The zone that a name implies without being resolved; undefined if it can be public. */
export function zoneOfName(name: string): Zone | undefined {
  if (/^(?:.+\.)?localhost$/.test(name)) return 'loopback'
  if (/^metadata(?:\.google\.internal|\.goog)?$|^instance-data(?:\.ec2\.internal)?$/.test(name))
    return 'forbidden'
  const isPrivate =
    /^[^.]+$|\.(?:internal|intranet|lan|local|localdomain|corp|home|home\.arpa|private)$/.test(name)
  return isPrivate ? 'private' : undefined
}

function zoneIn(address: string, family: Family): Zone {
  const found = lists.find((one) => one.family === family && one.list.check(address, family))
  return found?.zone ?? 'public'
}

function familyOf(address: string): Family {
  return isIP(address) === 6 ? 'ipv6' : 'ipv4'
}

/** The IPv4 address in an IPv6 address: mapped, or translated by NAT64 or 6to4. */
function embeddedIn(groups: readonly number[]): { address: string; relayed: boolean } | undefined {
  const [a = 0, b = 0] = groups
  const zeros = (from: number, to: number): boolean => groups.slice(from, to).every((group) => group === 0)
  const at = (index: number): string => {
    const [high = 0, low = 0] = groups.slice(index, index + 2)
    return `${high >> 8}.${high & 255}.${low >> 8}.${low & 255}`
  }
  if (zeros(0, 5) && groups[5] === 0xffff) return { address: at(6), relayed: false }
  if (a === 0x64 && b === 0xff9b && zeros(2, 6)) return { address: at(6), relayed: true }
  if (a === 0x2002) return { address: at(1), relayed: true }
  return undefined
}

function groupsOf(address: string): number[] {
  const plain = address.replace(/%.*$/, '')
  const [head = '', tail] = new URL(`http://[${plain}]/`).hostname.slice(1, -1).split('::')
  const parse = (part: string): number[] =>
    part === '' ? [] : part.split(':').map((group) => Number.parseInt(group, 16))
  const front = parse(head)
  const back = parse(tail ?? '')
  return [...front, ...Array.from({ length: 8 - front.length - back.length }, () => 0), ...back]
}
