/** The place of one cell in a picture, in its units. */
export interface Box {
  x: number
  y: number
  width: number
  height: number
}

/** Arms of lines: left, right, up, down. */
const lines: Readonly<Record<string, string>> = {
  '│': 'ud',
  '─': 'lr',
  '└': 'ur',
  '├': 'udr',
  '┌': 'dr',
  '┐': 'dl',
  '┘': 'ul',
  '┤': 'udl',
}

/** Parts of a cell that are filled, from left to right, and how much shines through. */
const blocks: Readonly<Record<string, { from: number; to: number; opacity: number }>> = {
  '█': { from: 0, to: 1, opacity: 1 },
  '▌': { from: 0, to: 0.5, opacity: 1 },
  '▐': { from: 0.5, to: 1, opacity: 1 },
  '░': { from: 0, to: 1, opacity: 0.25 },
}

/** Whether a character is drawn as a shape, so that it meets its neighbours in every font. */
export function isShape(text: string): boolean {
  return Object.hasOwn(lines, text) || Object.hasOwn(blocks, text)
}

/** Whether several of a character side by side are one wider shape. */
export function joins(text: string): boolean {
  return text === '█' || text === '░' || text === '─'
}

/** The shape of a character in SVG; empty where it is none. */
export function shape(text: string, { x, y, width, height }: Box, color: string, opacity: number): string {
  const arms = lines[text]
  if (arms !== undefined) {
    const [middle, centre] = [x + width / 2, y + height / 2]
    const ends = { l: [x, centre], r: [x + width, centre], u: [middle, y], d: [middle, y + height] } as const
    const path = Object.entries(ends)
      .filter(([arm]) => arms.includes(arm))
      .map(
        ([, [toX, toY]]) => `M${middle.toFixed(1)} ${centre.toFixed(1)}L${toX.toFixed(1)} ${toY.toFixed(1)}`,
      )
    return `<path d="${path.join('')}" stroke="${color}" stroke-opacity="${opacity}"/>`
  }
  const block = blocks[text]
  if (block === undefined) return ''
  const [left, right] = [x + width * block.from, x + width * block.to]
  return `<rect x="${left.toFixed(2)}" y="${y + 2}" width="${(right - left).toFixed(2)}" height="${height - 4}" fill="${color}" opacity="${block.opacity * opacity}"/>`
}
