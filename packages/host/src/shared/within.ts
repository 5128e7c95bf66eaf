import { sep } from 'node:path'

/** Whether a path is the folder or lies in it. Both are absolute and without detours. */
export function isWithin(path: string, folder: string): boolean {
  return path === folder || path.startsWith(folder.endsWith(sep) ? folder : `${folder}${sep}`)
}
