import { dirname } from 'node:path'
import {
  type ConfigEnvironment,
  folderText,
  fromEnvironment,
  partsOf,
  soundsSecret,
} from '../../config/variables.ts'
import type { ServerConfig } from '../../types/index.ts'

/** What variables of a configuration are taken from. */
export interface Surroundings {
  env: ConfigEnvironment
  home: string
}

/**
 * A text of a configuration with what its environment and folders say. Inputs, secrets, files, and variables that sound
 * like secrets stand as they are written; `open` is called for each of them.
 */
export function spelled(
  text: string,
  { from }: ServerConfig,
  { env, home }: Surroundings,
  open?: () => void,
): string {
  if (from === undefined) return text
  const workspace = from.workspace ?? dirname(from.file)
  const read = partsOf(text)
  if ('problem' in read) return text
  return read.parts
    .map((part) => {
      switch (part.kind) {
        case 'text':
          return part.text
        case 'input':
        case 'secret':
        case 'file':
          open?.()
          return part.written
        case 'env': {
          if (soundsSecret(part.name)) {
            open?.()
            return part.written
          }
          const found = fromEnvironment(part, env)
          return found !== undefined && 'text' in found ? found.text : part.written
        }
        default:
          return folderText(part.kind, { workspace, home })
      }
    })
    .join('')
}
