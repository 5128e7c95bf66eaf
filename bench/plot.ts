const width = 720
const ink = '#1f2328'
const faint = '#d0d7de'
const colors = ['#0969da', '#bf3989', '#1a7f37', '#9a6700', '#8250df', '#cf222e', '#57606a', '#0a3069']
const font = 'font-family="system-ui, sans-serif" font-size="13"'

export interface Bars {
  title: string
  /** What the length of a bar means, with its unit. */
  of: string
  bars: readonly { name: string; value: number }[]
}

export interface Lines {
  title: string
  over: string
  of: string
  points: readonly number[]
  lines: readonly { name: string; values: readonly number[] }[]
}

/** One bar for each value, from the left, with the value written behind it. */
export function barPlot({ title, of, bars }: Bars): string {
  const left = 220
  const longest = Math.max(...bars.map(({ value }) => value))
  const rows = bars.map(({ name, value }, at) => {
    const y = 64 + at * 26
    const length = Math.max(1, (value / longest) * (width - left - 90))
    return [
      text(left - 10, y + 13, name, 'end'),
      `<rect x="${left}" y="${y}" width="${length.toFixed(1)}" height="18" fill="${name.startsWith('jackfield') ? colors[0] : '#8c959f'}"/>`,
      text(left + length + 8, y + 13, short(value)),
    ].join('\n')
  })
  return svg(title, 64 + bars.length * 26 + 16, [heading(title, of), ...rows])
}

/** One line for each name; both axes grow tenfold from mark to mark, so that a straight rise is a power. */
export function linePlot({ title, over, of, points, lines }: Lines): string {
  const box = { left: 70, right: width - 230, top: 64, bottom: 330 }
  const values = lines.flatMap((line) => line.values).filter((value) => value > 0)
  const bounds = { x: tens(points), y: tens(values) }
  const x = (value: number): number => place(value, bounds.x, box.left, box.right)
  const y = (value: number): number => place(value, bounds.y, box.bottom, box.top)
  const grid = marks(bounds.y).flatMap((mark) => [
    `<line x1="${box.left}" x2="${box.right}" y1="${y(mark).toFixed(1)}" y2="${y(mark).toFixed(1)}" stroke="${faint}"/>`,
    text(box.left - 8, y(mark) + 4, short(mark), 'end'),
  ])
  const ticks = points.map((point) => text(x(point), box.bottom + 20, short(point), 'middle'))
  const drawn = lines.flatMap(({ name, values: row }, at) => {
    const color = colors[at % colors.length] ?? ink
    const path = row.map((value, n) => `${x(points[n] ?? 1).toFixed(1)},${y(value).toFixed(1)}`)
    return [
      `<polyline points="${path.join(' ')}" fill="none" stroke="${color}" stroke-width="2"/>`,
      ...path.map((point) => {
        const [cx, cy] = point.split(',')
        return `<circle cx="${cx}" cy="${cy}" r="3" fill="${color}"/>`
      }),
      `<rect x="${box.right + 20}" y="${box.top + at * 22}" width="12" height="12" fill="${color}"/>`,
      text(box.right + 38, box.top + at * 22 + 11, name),
    ]
  })
  const below = text((box.left + box.right) / 2, box.bottom + 44, over, 'middle')
  return svg(title, box.bottom + 60, [heading(title, of), ...grid, ...ticks, below, ...drawn])
}

/** The powers of ten around some values. */
function tens(values: readonly number[]): { from: number; to: number } {
  const from = Math.floor(Math.log10(Math.min(...values)))
  return { from, to: Math.max(from + 1, Math.ceil(Math.log10(Math.max(...values)))) }
}

function marks({ from, to }: { from: number; to: number }): number[] {
  return Array.from({ length: to - from + 1 }, (_, at) => 10 ** (from + at))
}

function place(
  value: number,
  { from, to }: { from: number; to: number },
  start: number,
  end: number,
): number {
  return start + ((Math.log10(value) - from) / (to - from)) * (end - start)
}

function heading(title: string, of: string): string {
  return `<text x="16" y="26" ${font} font-weight="600" fill="${ink}">${escaped(title)}</text>\n${text(16, 46, of)}`
}

function text(x: number, y: number, words: string, anchor = 'start'): string {
  return `<text x="${x.toFixed(1)}" y="${y.toFixed(1)}" ${font} fill="${ink}" text-anchor="${anchor}">${escaped(words)}</text>`
}

function svg(title: string, height: number, parts: readonly string[]): string {
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}">
<title>${escaped(title)}</title>
<rect width="100%" height="100%" fill="#ffffff"/>
${parts.join('\n')}
</svg>
`
}

function short(value: number): string {
  if (value >= 100) return Math.round(value).toLocaleString('en')
  return value >= 10 ? value.toFixed(1).replace(/\.0$/, '') : String(Number(value.toFixed(2)))
}

function escaped(words: string): string {
  return words.replaceAll('&', '&amp;').replaceAll('<', '&lt;')
}
