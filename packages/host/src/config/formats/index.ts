import type { JsonRecord } from '../../shared/json.ts'
import { codex } from './codex.ts'
import { openCode, zed } from './editors.ts'
import type { ConfigFormat } from './entry.ts'
import { goose } from './goose.ts'
import { claudeCode, geminiCli, mcpServers, vsCode } from './json-servers.ts'
import { serverJson } from './server-json.ts'

export type { ConfigFormat, ReadServers } from './entry.ts'

const formats: readonly ConfigFormat[] = [
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

/** The format of a document; undefined if unknown. */
export function detectFormat(document: JsonRecord, file: string): ConfigFormat | undefined {
  return formats.find((format) => format.matches(document, file))
}
