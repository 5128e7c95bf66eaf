import { BlockList, isIP } from 'node:net'

/** Addresses no server on the Internet may lead a client to, as an IPv4 reader has them. */
const targets4 = [
  '127.0.0.1',
  '127.255.255.254',
  '0.0.0.0',
  '10.0.0.1',
  '10.255.255.255',
  '100.64.0.1',
  '100.100.100.200',
  '168.63.129.16',
  '169.254.169.254',
  '169.254.170.2',
  '172.16.0.1',
  '172.31.255.255',
  '192.0.0.192',
  '192.0.2.1',
  '192.88.99.1',
  '192.168.0.1',
  '192.168.255.255',
  '198.18.0.1',
  '198.51.100.1',
  '203.0.113.1',
  '224.0.0.1',
  '240.0.0.1',
  '255.255.255.255',
] as const

const targets6 = [
  '::',
  '::1',
  'fe80::1',
  'fe80::a9fe:a9fe',
  'febf::1',
  'fec0::1',
  'fc00::1',
  'fdff::1',
  'fd00:ec2::254',
  'fd20:ce::254',
  'ff02::1',
  '100::1',
  '64:ff9b:1::1',
  '64:ff9b:0:1::808:808',
  '2001::1',
  '2001:10::1',
  '2001:db8::1',
  '3fff::1',
  '5f00::1',
  '4000::1',
] as const

const names = [
  'localhost',
  'LOCALHOST',
  'localhost.',
  'localhost..',
  'a.localhost',
  'loc%61lhost',
  'ｌｏｃａｌｈｏｓｔ',
  'metadata',
  'metadata.google.internal',
  'metadata.google.internal.',
  'metadata.goog',
  'instance-data.ec2.internal',
] as const

const bytesOf = (address: string): [number, number, number, number] => {
  const [a = 0, b = 0, c = 0, d = 0] = address.split('.').map(Number)
  return [a, b, c, d]
}
const hex = (value: number): string => value.toString(16)
const wide = (text: string): string =>
  text.replace(/[.\d]/g, (one) => String.fromCodePoint(0xfee0 + (one.codePointAt(0) ?? 0)))
const circled = (text: string): string =>
  text.replace(/\d/g, (digit) => (digit === '0' ? '⓪' : String.fromCodePoint(0x245f + Number(digit))))

/** All ways to write an IPv4 address as the host of a URL. */
function spelled4(address: string): string[] {
  const [a, b, c, d] = bytesOf(address)
  const whole = ((a * 256 + b) * 256 + c) * 256 + d
  const [high, low] = [hex(a * 256 + b), hex(c * 256 + d)]
  return [
    address,
    `${address}.`,
    `user:secret@${address}`,
    `mcp.example@${address}`,
    `${whole}`,
    `0x${hex(whole)}`,
    `0X${hex(whole).toUpperCase()}`,
    `0${whole.toString(8)}`,
    [a, b, c, d].map((byte) => `0x${hex(byte)}`).join('.'),
    [a, b, c, d].map((byte) => `0${byte.toString(8)}`).join('.'),
    [a, b, c, d].map((byte) => `000${byte.toString(8)}`).join('.'),
    `${a}.${(b * 256 + c) * 256 + d}`,
    `${a}.${b}.${c * 256 + d}`,
    `0x${hex(a)}.${b}.0${(c * 256 + d).toString(8)}`,
    address.replace(/\d/, (digit) => `%3${digit}`),
    address.replaceAll('.', '。'),
    wide(address),
    circled(address),
    `[::ffff:${address}]`,
    `[::ffff:${high}:${low}]`,
    `[0:0:0:0:0:FFFF:${high}:${low}]`,
    `[::${address}]`,
    `[64:ff9b::${address}]`,
    `[64:ff9b::${high}:${low}]`,
    `[2002:${high}:${low}::]`,
    `[2002:${high}:${low}::1]`,
  ]
}

/** Hosts of URLs that all lead where no server on the Internet may lead a client, each once. */
export const spellings: readonly string[] = [
  ...new Set([
    ...targets4.flatMap(spelled4),
    ...targets6.flatMap((address) => [`[${address}]`, `[${address.toUpperCase()}]`, `user@[${address}]`]),
    ...names,
  ]),
]

/** What a resolver may answer in place of a public address. */
export const answers: readonly string[] = [
  ...targets4,
  ...targets6,
  ...targets4.flatMap((address) => {
    const [a, b, c, d] = bytesOf(address)
    return [`::ffff:${address}`, `2002:${hex(a * 256 + b)}:${hex(c * 256 + d)}::1`, `64:ff9b::${address}`]
  }),
  'fe80::1%1',
]

const reserved = new BlockList()
for (const range of [
  ...['0.0.0.0/8', '10.0.0.0/8', '100.64.0.0/10', '127.0.0.0/8', '168.63.129.16/32', '169.254.0.0/16'],
  ...['172.16.0.0/12', '192.0.0.0/24', '192.0.2.0/24', '192.88.99.0/24', '192.168.0.0/16', '198.18.0.0/15'],
  ...['198.51.100.0/24', '203.0.113.0/24', '224.0.0.0/4', '240.0.0.0/4'],
  ...['::/96', '64:ff9b:1::/48', '100::/8', '2001::/23', '2001:db8::/32', '2002::/16', '3fff::/20'],
  ...['4000::/2', '8000::/1', '64:ff9b::/96', '64:ff9b:0:1::/64'],
]) {
  const [network = '', bits = '0'] = range.split('/')
  reserved.addSubnet(network, Number(bits), isIP(network) === 6 ? 'ipv6' : 'ipv4')
}

/** Whether a connection to an address would leave the Internet, judged by tables of Node's own. */
export function isReserved(address: string): boolean {
  const plain = address.replace(/%.*$/, '')
  const family = isIP(plain)
  return family === 0 || reserved.check(plain, family === 6 ? 'ipv6' : 'ipv4')
}
