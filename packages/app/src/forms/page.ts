import type { UrlInspection } from '@jackfield/host'
import { findingLines } from '../output/definitions.ts'
import type { Palette } from '../output/palette.ts'
import { oneLine, plain } from '../output/sanitize.ts'

/** A page's full URL with its site highlighted, the site in readable form, and warnings. */
export function pageLines(page: UrlInspection, palette: Palette): string[] {
  const { before, host, after } = page.parts
  return [
    `${palette.dim(plain(before))}${palette.bold(plain(host))}${palette.dim(plain(after))}`,
    ...(page.reads === undefined
      ? []
      : [palette.dim(`  the site ${oneLine(host)} is shown by browsers as ${oneLine(page.reads)}`)]),
    ...findingLines(page.findings, palette),
    ...(page.blocked === undefined ? [] : [palette.red(`✗ ${oneLine(page.blocked)}`)]),
  ]
}
