import { estimateTokens } from '@jackfield/host/browser'
import type { ReactNode } from 'react'
import { useText } from '../i18n/i18n.ts'
import { isTextBlock } from './blocks.tsx'
import style from './text.module.css'

/** The estimated tokens of content. Images and audio are listed separately, since only the model knows their cost. */
export function Tokens({ content }: { content: unknown }): ReactNode {
  const t = useText()
  let tokens = 0
  let media = 0
  for (const block of Array.isArray(content) ? content : [content])
    if (isTextBlock(block)) tokens += estimateTokens(block.text)
    else if (isMedia(block)) media += 1
    else if (block !== undefined) tokens += estimateTokens(JSON.stringify(block))
  return (
    <span className={style.tokens} title={t('tokens.means')}>
      {t(media > 0 ? 'tokens.aboutWithMedia' : 'tokens.about', { tokens, media })}
    </span>
  )
}

function isMedia(block: unknown): boolean {
  return (
    typeof block === 'object' &&
    block !== null &&
    'type' in block &&
    (block.type === 'image' || block.type === 'audio')
  )
}
