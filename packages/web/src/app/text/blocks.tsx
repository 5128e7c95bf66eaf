import type { ReactNode } from 'react'
import { useText } from '../i18n/i18n.ts'
import { JsonTree, SafeTextBox } from './safe-text.tsx'
import style from './text.module.css'
import { untrusted } from './untrusted-text.ts'

/** Images that browsers draw without running anything in them. */
const drawable: ReadonlySet<unknown> = new Set([
  'image/png',
  'image/jpeg',
  'image/gif',
  'image/webp',
  'image/avif',
])
const maxImageCharacters = 8_000_000

export function isTextBlock(block: unknown): block is { readonly text: string } {
  return (
    typeof block === 'object' &&
    block !== null &&
    'type' in block &&
    block.type === 'text' &&
    'text' in block &&
    typeof block.text === 'string'
  )
}

/** The data URL of an image block; undefined if it is not of a drawable type. */
function imageOf(block: unknown): string | undefined {
  if (typeof block !== 'object' || block === null || !('type' in block) || block.type !== 'image') return
  if (!('data' in block) || typeof block.data !== 'string' || block.data.length > maxImageCharacters) return
  if (!('mimeType' in block) || !drawable.has(block.mimeType) || !/^[\w+/]+={0,2}$/.test(block.data)) return
  return `data:${block.mimeType};base64,${block.data}`
}

/** Content blocks: texts and images as such, anything else as JSON. */
export function Blocks({ content, label }: { content: unknown; label: string }): ReactNode {
  const t = useText()
  const blocks: readonly unknown[] = Array.isArray(content) ? content : [content]
  return blocks.map((block, n) => {
    const name = blocks.length > 1 ? t('text.part', { label, n: n + 1 }) : label
    const image = imageOf(block)
    if (image !== undefined)
      return (
        // biome-ignore lint/suspicious/noArrayIndexKey: blocks of one message have no other identity
        <img key={n} className={style.image} src={image} alt={t('text.image')} />
      )
    return isTextBlock(block) ? (
      // biome-ignore lint/suspicious/noArrayIndexKey: blocks of one message have no other identity
      <SafeTextBox key={n} text={untrusted(block.text)} label={name} />
    ) : (
      // biome-ignore lint/suspicious/noArrayIndexKey: blocks of one message have no other identity
      <JsonTree key={n} value={block} label={name} />
    )
  })
}
