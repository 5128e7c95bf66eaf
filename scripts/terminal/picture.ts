import type { Cell } from './cells.ts'
import { isShape, joins, shape } from './shapes.ts'

const fontSize = 13
const lineHeight = 18
const columnWidth = 7.83
const padding = 18
const bar = 36
const ink = '#e6edf3'
const ground = '#0d1117'

/** Draws a screen as a terminal window, in SVG that needs no font or script from elsewhere. */
export function screenPicture(cells: readonly (readonly Cell[])[], title: string): string {
  const used = cells.findLastIndex((row) => row.some((cell) => cell.text.trim() !== '' || cell.background))
  const rows = cells.slice(0, used + 1)
  const cols = cells[0]?.length ?? 80
  const width = Math.ceil(padding * 2 + cols * columnWidth)
  const height = bar + padding * 2 + rows.length * lineHeight
  const text = rows
    .map((row) =>
      row
        .map((cell) => cell.text || ' ')
        .join('')
        .trimEnd(),
    )
    .join('\n')
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-label="${inXml(title)}">`,
    `<title>${inXml(title)}</title>`,
    `<desc>${inXml(text)}</desc>`,
    `<rect width="${width}" height="${height}" rx="10" fill="${ground}" stroke="#30363d"/>`,
    `<path d="M0 ${bar}h${width}" stroke="#30363d"/>`,
    ...['#ff5f57', '#febc2e', '#28c840'].map(
      (fill, n) => `<circle cx="${20 + n * 20}" cy="${bar / 2}" r="5.5" fill="${fill}"/>`,
    ),
    `<text x="${width / 2}" y="${bar / 2 + 4}" text-anchor="middle" fill="#8b949e" font-family="ui-sans-serif, system-ui, sans-serif" font-size="12">${inXml(title)}</text>`,
    `<g font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace" font-size="${fontSize}">`,
    ...rows.flatMap((row, y) => drawn(row, bar + padding + y * lineHeight)),
    '</g>',
    '</svg>',
    '',
  ].join('\n')
}

/** Cells side by side that look alike are drawn together. */
function drawn(row: readonly Cell[], y: number): string[] {
  const out: string[] = []
  let x = 0
  while (x < row.length) {
    const first = row[x]
    if (first === undefined) break
    let end = x + 1
    for (let next = row[end]; next !== undefined && alike(first, next); next = row[++end]);
    const cells = row.slice(x, end)
    const text = cells
      .map((cell) => (cell.width === 0 ? '' : isShape(cell.text) ? ' ' : cell.text || ' '))
      .join('')
    const color = first.inverse ? (first.background ?? ground) : (first.color ?? ink)
    const background = first.inverse ? (first.color ?? ink) : first.background
    const left = padding + x * columnWidth
    if (background !== undefined) {
      out.push(
        `<rect x="${left.toFixed(1)}" y="${y}" width="${(cells.length * columnWidth).toFixed(1)}" height="${lineHeight}" fill="${background}"/>`,
      )
    }
    for (let n = 0; n < cells.length; n++) {
      const shown = cells[n]?.text ?? ''
      if (!isShape(shown)) continue
      const from = n
      if (joins(shown)) while (cells[n + 1]?.text === shown) n++
      const box = { x: left + from * columnWidth, y, width: (n - from + 1) * columnWidth, height: lineHeight }
      out.push(shape(shown, box, color, first.dim ? 0.6 : 1))
    }
    const trimmed = text.trim()
    if (trimmed !== '') {
      const before = text.length - text.trimStart().length
      const length = (widthOf(cells.slice(before), trimmed) * columnWidth).toFixed(1)
      const look = [
        ` fill="${color}"`,
        first.bold ? ' font-weight="bold"' : '',
        first.dim ? ' opacity="0.6"' : '',
        first.underline ? ' text-decoration="underline"' : '',
      ].join('')
      // The length is fixed, so that columns line up in whatever font there is.
      out.push(
        `<text x="${(left + before * columnWidth).toFixed(1)}" y="${y + 13}"${look} textLength="${length}" lengthAdjust="spacingAndGlyphs">${inXml(trimmed).replaceAll(' ', '\u00a0')}</text>`,
      )
    }
    x = end
  }
  return out
}

/** How many columns the text takes that these cells begin with. */
function widthOf(cells: readonly Cell[], trimmed: string): number {
  let columns = 0
  let text = ''
  for (const cell of cells) {
    if (text.length >= trimmed.length) break
    if (cell.width > 0) text += cell.text || ' '
    columns++
  }
  return columns
}

function alike(a: Cell, b: Cell): boolean {
  return (
    a.color === b.color &&
    a.background === b.background &&
    a.bold === b.bold &&
    a.dim === b.dim &&
    a.underline === b.underline &&
    a.inverse === b.inverse
  )
}

function inXml(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
}
