import { widthOf } from '../output/width.ts'
import type { Line, Speaker, Tone } from './transcript.ts'

const fontSize = 13
const lineHeight = 19
const columnWidth = 7.83
const margin = 12
const padding = 20
const titleBarHeight = 38

const speakers: Readonly<Record<Speaker, string>> = {
  person: '#7ee787',
  planner: '#d2a8ff',
  host: '#79c0ff',
  server: '#ffa657',
}

const tones: Readonly<Record<Tone, string>> = {
  normal: '#e6edf3',
  dim: '#8b949e',
  good: '#7ee787',
  bad: '#ff7b72',
  heading: '#ffffff',
}

/** Draws a transcript as a terminal window, in self-contained SVG. */
export function transcriptPicture(lines: readonly Line[], title: string): string {
  const widest = Math.max(60, ...lines.map((line) => margin + widthOf(line.text)))
  const width = Math.ceil(padding * 2 + widest * columnWidth)
  const height = titleBarHeight + padding * 2 + lines.length * lineHeight
  const label = `${title}: ${lines.map((line) => line.text).join(' ')}`
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-label="${escapeXml(title)}">`,
    `<title>${escapeXml(title)}</title>`,
    `<desc>${escapeXml(label.slice(0, 2_000))}</desc>`,
    `<rect width="${width}" height="${height}" rx="10" fill="#0d1117" stroke="#30363d"/>`,
    `<path d="M0 ${titleBarHeight}h${width}" stroke="#30363d"/>`,
    ...['#ff5f57', '#febc2e', '#28c840'].map(
      (fill, n) => `<circle cx="${22 + n * 20}" cy="${titleBarHeight / 2}" r="6" fill="${fill}"/>`,
    ),
    `<text x="${width / 2}" y="${titleBarHeight / 2 + 4}" text-anchor="middle" fill="#8b949e" font-family="ui-sans-serif, system-ui, sans-serif" font-size="13">${escapeXml(title)}</text>`,
    `<g font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace" font-size="${fontSize}" xml:space="preserve">`,
    ...lines.flatMap((line, n) => lineElements(line, titleBarHeight + padding + (n + 0.75) * lineHeight)),
    '</g>',
    '</svg>',
    '',
  ].join('\n')
}

function lineElements(line: Line, y: number): string[] {
  if (line.text === '' && line.speaker === undefined) return []
  const at = (x: number, text: string, fill: string, weight: string): string => {
    // The length is fixed, so that columns align in any font.
    const length = (widthOf(text) * columnWidth).toFixed(1)
    return `<text x="${x}" y="${y.toFixed(1)}" fill="${fill}"${weight} textLength="${length}" lengthAdjust="spacingAndGlyphs">${escapeXml(text)}</text>`
  }
  if (line.tone === 'heading') return [at(padding, line.text, tones.heading, ' font-weight="bold"')]
  const indent = /^ */.exec(line.text)?.[0].length ?? 0
  const x = padding + (margin + indent) * columnWidth
  const text = line.text.slice(indent)
  return [
    ...(line.speaker === undefined
      ? []
      : [at(padding, line.speaker.name, speakers[line.speaker.role], ' font-weight="bold"')]),
    ...(text === '' ? [] : [at(Number(x.toFixed(1)), text, tones[line.tone], '')]),
  ]
}

function escapeXml(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
}
