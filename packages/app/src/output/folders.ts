import { fileURLToPath } from 'node:url'
import type { FolderPreview, RootFinding } from '@jackfield/host'
import type { Palette } from './palette.ts'
import { count, oneLine } from './sanitize.ts'

/** The path of a root, or its URI if it has none. */
export function pathOf(uri: string): string {
  try {
    return oneLine(fileURLToPath(uri), 200)
  } catch {
    return oneLine(uri, 200)
  }
}

/** What a server would see of each folder: size, some names, and warnings. */
export function folderLines(folders: readonly FolderPreview[], palette: Palette): string[] {
  return folders.flatMap(({ uri, name, folders: inner, files, more, names, findings, isNew }) => {
    const newMark = isNew ? palette.yellow('  new') : ''
    const nameText = name === undefined ? '' : palette.dim(`  (${oneLine(name)})`)
    const counts = `${count(inner, 'folder')}, ${count(files, 'file')}${more ? ' or more' : ''}`
    const namesText = names.length === 0 ? '' : `: ${names.map((each) => oneLine(each, 30)).join('  ')}`
    return [
      `  ${palette.bold(pathOf(uri))}${nameText}${newMark}`,
      `    ${palette.dim(`${counts}${namesText}`)}`,
      ...rootFindingLines(findings, palette).map((line) => `    ${line}`),
    ]
  })
}

/** The warnings of a folder, as symbol and colour of the most severe. */
export function rootFindingLines(findings: readonly RootFinding[], palette: Palette): string[] {
  const marks = {
    refused: `${palette.red('✗')} not shared:`,
    danger: palette.red('▲'),
    warning: palette.yellow('!'),
    note: palette.dim('·'),
  }
  return findings.map(
    ({ severity, message }) =>
      `${marks[severity]} ${severity === 'note' ? palette.dim(oneLine(message)) : oneLine(message)}`,
  )
}
