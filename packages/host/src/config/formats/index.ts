import type { JsonRecord } from '../../shared/json.ts'
import { codex } from './codex.ts'
import { openCode, zed } from './editors.ts'
import type { Form } from './entry.ts'
import { goose } from './goose.ts'
import { claudeCode, geminiCli, mcpServers, vsCode } from './json-servers.ts'
import { serverJson } from './server-json.ts'

export type { Form, Found } from './entry.ts'

const forms: readonly Form[] = [
  claudeCode,
  geminiCli,
  mcpServers,
  vsCode,
  codex,
  zed,
  openCode,
  goose,
  serverJson,
]

/** The form of a document, or undefined where it is none that is known. */
export function formOf(document: JsonRecord, file: string): Form | undefined {
  return forms.find((form) => form.fits(document, file))
}
