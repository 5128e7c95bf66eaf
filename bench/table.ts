/** A table in Markdown; columns of numbers are set to the right. */
export function table(head: readonly string[], rows: readonly (readonly (string | number)[])[]): string {
  const cells = [head, ...rows.map((row) => row.map(String))]
  const widths = head.map((_, at) => Math.max(3, ...cells.map((row) => row[at]?.length ?? 0)))
  const rightward = head.map(
    (_, at) => at > 0 && rows.every((row) => /^[-–]?[\d.,]*$/.test(String(row[at] ?? ''))),
  )
  const line = (row: readonly string[]): string =>
    `| ${row.map((cell, at) => (rightward[at] ? cell.padStart(widths[at] ?? 0) : cell.padEnd(widths[at] ?? 0))).join(' | ')} |`
  const rule = widths.map((width, at) => (rightward[at] ? `${'-'.repeat(width - 1)}:` : '-'.repeat(width)))
  return [line(cells[0] ?? []), line(rule), ...cells.slice(1).map(line)].join('\n')
}
