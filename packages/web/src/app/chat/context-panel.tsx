import type { ConversationRow } from '@jackfield/host/client'
import { type ReactNode, useEffect, useRef } from 'react'
import { useTopic } from '../data/host.tsx'
import { useFormat, useText } from '../i18n/i18n.ts'
import type { Dock } from '../shell/dock-state.ts'
import type { FromHost } from '../text/untrusted-text.ts'
import { AttachedSection } from './attached.tsx'
import style from './chat.module.css'
import { FoldersSection } from './folders.tsx'
import { ToolsSection } from './tools.tsx'

export type InfoRow = Extract<FromHost<ConversationRow>, { kind: 'info' }>

/** The context of a conversation: resources, tools and folders, and their tokens. */
export default function ContextPanel({
  conversation,
  focusRequest,
}: {
  conversation: string
  focusRequest: Dock['focusRequest']
}): ReactNode {
  const t = useText()
  const { number } = useFormat()
  const rows = useTopic(`conversation:${conversation}`)
  const panel = useRef<HTMLDivElement>(null)
  const info = rows?.get('info')
  const section = focusRequest?.section
  const isThere = info !== undefined
  // biome-ignore lint/correctness/useExhaustiveDependencies: each focusRequest moves the focus, also to the same section
  useEffect(() => {
    if (!isThere || section === undefined) return
    const part = panel.current?.querySelector<HTMLElement>(`[data-section="${section}"]`)
    part?.scrollIntoView({ block: 'start' })
    part?.querySelector<HTMLElement>('input[type=text]')?.focus({ preventScroll: true })
  }, [focusRequest, isThere])
  if (info?.kind !== 'info') return null
  const attached = rows?.get('attached')
  const used = info.usage.reduce(
    (sum, { inputTokens, outputTokens }) => ({
      input: sum.input + inputTokens,
      output: sum.output + outputTokens,
    }),
    { input: 0, output: 0 },
  )
  return (
    <div className={style.panel} ref={panel}>
      <AttachedSection
        conversation={conversation}
        waiting={attached?.kind === 'attached' ? attached.copies : []}
        isPicking={section === 'attach'}
      />
      <ToolsSection conversation={conversation} info={info} />
      <FoldersSection />
      <section className={style.part} aria-label={t('context.usage')}>
        <h3>{t('context.usage')}</h3>
        <p className={style.quiet}>
          {t('context.used', { input: number(used.input), output: number(used.output) })}
        </p>
      </section>
    </div>
  )
}
