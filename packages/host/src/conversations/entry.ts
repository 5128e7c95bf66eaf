import type { SamplingMessage } from '@jackfield/sdk'
import { readJson } from '@jackfield/sdk/internal'
import { inWords, isRecord, type JsonRecord } from '../json.ts'
import type { ConversationEntry } from '../types/index.ts'

/** Characters of one entry's JSON that are kept. */
const most = 8_388_608
const longestText = 1_000_000

/** An entry as it is kept. Of what is too large, images and sound are left out and texts are cut, and it says so. */
export function entryText(entry: ConversationEntry): string {
  const whole = JSON.stringify(entry)
  if (whole.length <= most) return whole
  const cut = JSON.stringify(entry, (_name, value: unknown) => {
    if (isLarge(value))
      return { type: 'text', text: `[${value.type} of ${inWords(value.mimeType)}: too large to be kept]` }
    if (typeof value !== 'string' || value.length <= longestText) return value
    return `${value.slice(0, longestText)}… [${value.length - longestText} more characters were not kept]`
  })
  if (cut.length <= most) return cut
  const note: SamplingMessage = {
    role: 'user',
    content: { type: 'text', text: `[A message of ${whole.length} characters was too large to be kept.]` },
  }
  return JSON.stringify({ kind: 'message', by: 'host', message: note })
}

/** An entry from the text that `entryText` made. */
export function entryFrom(text: string): ConversationEntry {
  return readJson(text)
}

function isLarge(value: unknown): value is JsonRecord {
  return (
    isRecord(value) &&
    (value.type === 'image' || value.type === 'audio') &&
    typeof value.data === 'string' &&
    value.data.length > longestText
  )
}
