/** Rows as aligned text: the first column to the left, numbers to the right. */
export function table(head: string[], rows: (string | number)[][]): string {
  const cells = [head, ...rows.map((row) => row.map(String))]
  const widths = head.map((_, at) => Math.max(...cells.map((row) => row[at]?.length ?? 0)))
  const rightward = head.map((_, at) => rows.every((row) => /^-?[\d.]*$/.test(String(row[at] ?? ''))))
  const lines = cells.map((row) =>
    row
      .map((cell, at) => (rightward[at] ? cell.padStart(widths[at] ?? 0) : cell.padEnd(widths[at] ?? 0)))
      .join('  ')
      .trimEnd(),
  )
  return [lines[0], widths.map((width) => '─'.repeat(width)).join('  '), ...lines.slice(1)].join('\n')
}
