import { existsSync } from 'node:fs'
import { setAsideStore } from '@jackfield/host'
import { ExitCode, usageError } from '../cli/exit.ts'
import type { Io, Output } from '../cli/io.ts'
import { storeFile } from '../cli/store.ts'

export interface StoreOptions {
  store?: string
  json?: boolean
}

/** `jackfield store set-aside`: renames a damaged store, so that the next command creates a new one. */
export function setAside(options: StoreOptions, io: Io, output: Output): ExitCode {
  const store = storeFile(options.store, io)
  if (!existsSync(store)) throw usageError(`There is no store at ${store}. Name another with --store FILE.`)
  const aside = setAsideStore(store)
  output.result({ store, aside }, () =>
    [
      `The damaged store is now ${aside}`,
      'The next command begins a new store. Decisions recorded in the old one no longer apply: remembered answers are',
      'asked for again, refusals and blocks are forgotten, and servers are trusted as they describe themselves now, also',
      'where a tool was disabled because its description changed. Check them with: jackfield trust',
    ].join('\n'),
  )
  return ExitCode.done
}
