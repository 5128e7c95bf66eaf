import { libraries } from '../shared/libraries.ts'
import type { ConfigInput, ServerConfig } from '../types/index.ts'

const formattingOptions = { insertSpaces: true, tabSize: 2 }

/** The text of the person's own configuration with more servers in it; comments and everything else stay. */
export function withServers(text: string, servers: Readonly<Record<string, ServerConfig>>): string {
  const { applyEdits, modify } = libraries.jsonc
  let whole = text.trim() === '' ? '{\n  "mcpServers": {}\n}\n' : text
  for (const [name, { from, ...entry }] of Object.entries(servers)) {
    whole = applyEdits(whole, modify(whole, ['mcpServers', name], entry, { formattingOptions }))
    for (const input of from?.inputs ?? []) whole = withInput(whole, input)
  }
  return whole
}

function withInput(text: string, input: ConfigInput): string {
  if (text.includes(`"id": ${JSON.stringify(input.id)}`)) return text
  const { applyEdits, modify } = libraries.jsonc
  const item = { type: 'promptString', ...input }
  return applyEdits(text, modify(text, ['inputs', -1], item, { formattingOptions, isArrayInsertion: true }))
}
